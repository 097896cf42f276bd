"""Plays the host's part of a black box to an extension, and says whether the extension falls again.

The extension shakes hands as with any host. Then it gets the recorded frames with their ids, each one when it has
answered all that it had answered before that frame. Without contents only the requests are played, with made-up ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from supervisor.harness.messages import SESSION
from supervisor.harness.recorded_process import HandshakePhase
from supervisor.harness.script_runner import HURRIED, WAIT_S, exit_fault
from supervisor.process.child import EXIT_FOLLOWS_S, SpawnError
from wire import frames
from wire.dialects.base import Unusable
from wire.framing.content_length import ContentSplitter, add_header
from wire.text import counted
from wire.traces.frame_heads import head_of
from wire.traces.host_part import host_part

if TYPE_CHECKING:
    from collections.abc import Callable, Set
    from pathlib import Path

    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.harness.harness import Harness
    from supervisor.harness.recorded_process import RecordedLine, RecordedProcess
    from supervisor.loop.future import Pending
    from supervisor.registry.registration import Tool
    from wire.traces.black_box import BlackBox, KeptBox
    from wire.traces.host_part import HostStep

    MakeArguments = Callable[[Tool], dict[str, Any]]

CALLS = frozenset({"tool_call", "tools/call", "external_tool.requested"})
"""Kinds of frames that call a tool."""


@dataclass(frozen=True)
class ReplayResult:
    """The result of one replay."""

    fall: str
    """How it fell: `signal SIGSEGV`; empty if it did not."""
    frame: int | None
    """The number of the last frame that was played before the fall; None without one."""
    call: str
    """The kind of that frame, with the tool, the command or the event."""
    requests: int
    """Number of requests that were played."""
    answered: int
    """Number of them that it answered."""
    left_out: int
    """Number of frames of the host that could not be played: only a part is in the black box, or nothing asked for
    them."""
    is_made_up: bool
    """Whether the contents were made up: the black box has none."""
    seconds: float
    stderr: tuple[str, ...]
    """The last lines on standard error."""
    recorded: str = ""
    """How its process ended when the black box was kept, if it ends in another way now."""

    @property
    def is_void(self) -> bool:
        """Whether none of the host's frames could be played, although there are some: it shows nothing."""
        return not self.fall and not self.requests and self.left_out > 0

    def __str__(self) -> str:
        """One line: whether it falls again, and where."""
        if self.fall:
            fell = self.fall + (f" after frame {self.frame} ({self.call})" if self.frame else "")
            return (
                f"falls in another way: {fell}; recorded: {self.recorded}" if self.recorded else f"falls again: {fell}"
            )
        if self.is_void:
            return "nothing could be played: the extension has no such tools, or the frames are not whole"
        if not self.requests:
            return "did not fall: it was started and stopped, and no request was played"
        of_all = "all " if self.answered == self.requests else f"{self.answered} of "
        return f"did not fall: it answered {of_all}{counted(self.requests, 'request')}"


class _FellError(Exception):
    """The extension has fallen; the text says how."""


def replay(
    harness: Harness, found: FoundExtension, box: KeptBox, make_arguments: MakeArguments, *, cwd: Path | None = None,
    wait_s: float = WAIT_S,
) -> ReplayResult:  # fmt: skip
    """Starts the extension, plays the frames, and ends the process. `make_arguments` is for a black box without
    contents; `wait_s` is the time for each answer. Raises only `HarnessInterruptedError`."""
    return _Replay(harness, found, box, make_arguments, cwd, wait_s).run()


class _Replay:
    def __init__(
        self, harness: Harness, found: FoundExtension, box: KeptBox, make_arguments: MakeArguments, cwd: Path | None,
        wait_s: float,
    ) -> None:  # fmt: skip
        self._harness, self._found, self._cwd, self._wait_s = harness, found, cwd, wait_s
        self._make_arguments = make_arguments
        self._part = host_part(box.frames)
        self._header = box.header
        self._is_made_up = box.header.form == "types"
        self._process: RecordedProcess | None = None
        self._last: HostStep | None = None
        self._requests: dict[str, HostStep] = {}
        """The requests that were played, by their ids."""
        self._answered: set[str] = set()
        self._asked: set[str] = set()
        """The ids of the extension's own requests."""
        self._faults: list[str] = []
        self._left_out = 0

    @property
    def process(self) -> RecordedProcess:
        assert self._process is not None
        return self._process

    def run(self) -> ReplayResult:
        began = self._harness.loop.clock()
        fall = ""
        try:
            self._play()
        except _FellError as error:
            fall = str(error)
            if self._process is not None and self._process in self._harness.processes:
                self.process.leave_to_caller(is_left=False)
                self._harness.end(self.process, HURRIED)
        if self._harness.is_interrupted:
            self._harness.wait(lambda: True, 0)
        last = self._last
        return ReplayResult(
            fall=fall,
            frame=None if last is None else last.number,
            call="" if last is None else str(last),
            requests=len(self._requests),
            answered=len(self._answered & self._requests.keys()),
            left_out=self._left_out,
            is_made_up=self._is_made_up,
            seconds=self._harness.loop.clock() - began,
            stderr=() if self._process is None else tuple(self._process.stderr.lines()),
            recorded=_other_end(self._header, fall),
        )

    def _play(self) -> None:
        try:
            places = self._harness.prepare(self._found, self._cwd)
            self._process = process = self._harness.start(
                self._found, places, session=self._part.session or SESSION, on_said=self._hear
            )
        except SpawnError as error:
            raise _FellError(str(error)) from None
        self._harness.wait(lambda: process.phase.is_over, process.handshake_s)
        if process.phase is HandshakePhase.FAILED:
            raise _FellError(f"{process.failure}, before it was ready")
        if self._is_made_up:
            self._play_made_up()
        else:
            self._play_recorded()
        self._harness.until_quiet(process, self._wait_s)
        self._check_fall()
        self._harness.end(process)
        if fault := exit_fault(process):
            raise _FellError(f"{fault}, at its stop")

    # --- with contents --------------------------------------------------------------------------------------

    def _play_recorded(self) -> None:
        process = self.process
        process.leave_to_caller(is_left=True)
        greeted, self._asked = self._asked, set()
        self._answered.clear()
        for step in self._part.steps:
            self._await(step.awaited & self._requests.keys())
            if step.body is None or (step.head.role == "answer" and not self._is_asked_for(step, greeted)):
                self._left_out += 1
                continue
            if step.head.role == "request":
                self._requests[step.head.id] = step
                self._answered.discard(step.head.id)
            self._last = step
            if not process.requests.write(self._framed(step.body)):
                self._check_fall()
                raise _FellError("it does not read its stdin")
        self._await(self._requests.keys() - self._part.unneeded)
        process.leave_to_caller(is_left=False)

    def _is_asked_for(self, step: HostStep, greeted: set[str]) -> bool:
        """Whether the extension has asked for this answer, and has not got it in the handshake."""
        if step.head.id in greeted and step.head.id not in self._asked:
            return False
        self._wait(lambda: step.head.id in self._asked, min(self._wait_s, 1.0))
        return step.head.id in self._asked

    def _framed(self, body: bytes) -> bytes:
        return add_header(body) if isinstance(self.process.channel.splitter, ContentSplitter) else body + b"\n"

    def _await(self, wanted: Set[str]) -> None:
        """Waits for the answers to these requests. Raises `_FellError`."""
        if not self._wait(lambda: wanted <= self._answered, self._wait_s):
            missing = next(step for id_, step in self._requests.items() if id_ in wanted - self._answered)
            raise _FellError(f"no answer within {self._wait_s:g} s to frame {missing.number} ({missing})")

    # --- without contents -----------------------------------------------------------------------------------

    def _play_made_up(self) -> None:
        for step in self._part.steps:
            if step.head.role != "request" or not step.head.name:
                continue
            if (pending := self._ask(step)) is None:
                self._left_out += 1
                continue
            key = str(step.number)
            self._requests[key] = self._last = step
            is_over = self._wait(lambda pending=pending: pending.done, self._wait_s)  # type: ignore[misc]
            self._check_fall()
            if not is_over:
                raise _FellError(f"no answer within {self._wait_s:g} s to frame {step.number} ({step})")
            self._answered.add(key)

    def _ask(self, step: HostStep) -> Pending | None:
        """Sends a request with made-up contents; None if the extension has no such tool, command or guard."""
        process, kind, name = self.process, step.head.kind, step.head.name
        registry = process.registry
        if kind in CALLS:
            tool = next((tool for known, tool in registry.tools.items() if name == known.rpartition("__")[2]), None)
            if (tool := registry.tools.get(name, tool)) is not None:
                return process.requests.call(tool.name, msgspec.json.encode(self._make_arguments(tool)), self._wait_s)
        if kind == "command_invoked" and name in registry.commands:
            return process.requests.invoke(name, "")
        if kind == "event_intercept" and name in registry.guards:
            made_up = frames.Event(name, tool_id="call-1", tool_name="read", tool_args=msgspec.Raw(b"{}"), text="x")
            return process.requests.ask(made_up)
        return None

    # --- the extension --------------------------------------------------------------------------------------

    def _hear(self, said: RecordedLine) -> None:
        if said.side.value == "host" or said.frame is None:
            return
        head = head_of(said.frame, is_sent=False)
        if head.role == "answer":
            self._answered.add(head.id)
            if said.fault and head.id in self._requests:
                self._faults.append(f"no host takes its answer: {said.fault}")
        elif head.role == "request":
            self._asked.add(head.id)
        if isinstance(said.message, Unusable):
            self._faults.append(said.message.reason)

    def _wait(self, predicate: Callable[[], bool], seconds: float) -> bool:
        """Waits until the predicate holds; False after `seconds`. Raises `_FellError`."""
        process = self.process

        def is_over() -> bool:
            return predicate() or not process.is_running or process.is_mute or bool(self._faults)

        self._harness.wait(is_over, seconds)
        if predicate():
            return True
        self._check_fall()
        return False

    def _check_fall(self) -> None:
        process = self.process
        if process.is_mute:
            self._harness.wait(lambda: not process.is_running, EXIT_FOLLOWS_S)
        if not process.is_running:
            raise _FellError(str(process.exit) if process.exit is not None else process.failure)
        if process.is_mute:
            raise _FellError("it has closed its stdout")
        if self._faults:
            raise _FellError(self._faults[0])


def _other_end(header: BlackBox, fall: str) -> str:
    """The recorded end of the process, if this one is another; "" for other kinds of falls."""
    return header.cause if fall and header.fall == "crashed" and not header.cause.startswith(fall) else ""
