"""Starts extensions, shakes hands with them, ends them, and reports what happened. Several run at a time."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from supervisor.harness.observed_handshake import HandshakePhase, ObservedHandshake
from supervisor.process.child import SpawnError
from supervisor.process.stop_policy import StopStage
from supervisor.registry.worker_registry import Registry
from wire import frames
from wire.dialects.zot import ZotDialect
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.discovery.discover import Found
    from supervisor.harness.harness import Harness
    from supervisor.harness.recorded_process import RecordedProcess
    from supervisor.process.child import ExitStatus
    from supervisor.process.teardown import Teardown
    from wire.dialects.base import Message

AT_ONCE = 4
"""Processes at a time."""
LISTEN_S = 0.1
"""Seconds between the end of the handshake and the shutdown, for frames that come late."""
SHOWN = 160
"""Characters of a line in a report."""


class Force(Enum):
    """The means that ended the process. The values are shown to users."""

    ASKING = "asking"
    CLOSED_STDIN = "closing its stdin"
    SIGTERM = "SIGTERM"
    SIGKILL = "SIGKILL"
    NOTHING = "nothing"
    """The process had ended before the shutdown."""


@dataclass
class CheckupResult:
    """The findings of one checkup."""

    found: Found
    spawn_error: str = ""
    phase: HandshakePhase = HandshakePhase.WAITING
    failure: str = ""
    """Why the handshake failed."""
    ready_s: float | None = None
    hello_name: str | None = None
    version: str | None = None
    capabilities: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    intercepts: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list)
    """Registrations that a host leaves out or changes, and why."""
    remarks: list[str] = field(default_factory=list)
    junk: int = 0
    """Number of lines on stdout that are no frames."""
    first_junk: str = ""
    bad_frames: list[str] = field(default_factory=list)
    unknown_frames: list[str] = field(default_factory=list)
    lines: int = 0
    """Number of lines on stdout, up to `HEARD_LIMIT`."""
    is_mute: bool = False
    """Whether the process closed its stdout before the shutdown."""
    stderr: tuple[str, ...] = ()
    exit: ExitStatus | None = None
    stop_s: float | None = None
    """Seconds from the shutdown to the end."""
    has_acked: bool = False
    force: Force = Force.ASKING
    left: int = 0
    """Number of processes that the extension started and that still lived at its end."""
    missing_env: tuple[str, ...] = ()
    """Variables that the manifest asks for and this environment does not have."""


def examine(
    harness: Harness,
    found: Sequence[Found],
    *,
    at_once: int = AT_ONCE,
    on_done: Callable[[CheckupResult], None] | None = None,
) -> list[CheckupResult]:
    """Checks all extensions, `at_once` at a time, and returns the results in the given order. Calls `on_done` for each
    extension when its checkup is over. An extension that hangs does not delay the others. Raises
    `HarnessInterruptedError`."""
    checkups = [_Checkup(harness, extension) for extension in found]
    waiting = deque(checkups)
    running: list[_Checkup] = []

    def advance() -> bool:
        while True:
            for checkup in list(running):
                checkup.look()
                if checkup.is_over:
                    running.remove(checkup)
                    if on_done is not None:
                        on_done(checkup.result)
            if not waiting or len(running) >= at_once:
                return not running
            checkup = waiting.popleft()
            checkup.start()
            running.append(checkup)

    harness.wait(advance, _limit(found))
    return [checkup.result for checkup in checkups]


def _limit(found: Sequence[Found]) -> float:
    """Returns more seconds than all extensions need, even one after the other."""
    return 10.0 + sum(
        (extension.manifest.timeouts.hello or extension.default_hello_s) + extension.manifest.timeouts.ready + 10.0
        for extension in found
    )


class _CheckupState(Enum):
    GREETING = "greeting"
    LISTENING = "listening"
    ENDING = "ending"
    OVER = "over"


class _Checkup:
    def __init__(self, harness: Harness, found: Found) -> None:
        environ = os.environ
        missing = tuple(name for name in found.manifest.env if name not in environ)
        self.result = CheckupResult(found, missing_env=missing)
        self._harness = harness
        self._state = _CheckupState.GREETING
        self._process: RecordedProcess | None = None
        self._handshake: ObservedHandshake | None = None
        self._teardown: Teardown | None = None

    @property
    def is_over(self) -> bool:
        return self._state is _CheckupState.OVER

    def start(self) -> None:
        try:
            self._process = self._harness.start(self.result.found, on_exit=self._on_exit)
        except SpawnError as error:
            self.result.spawn_error = str(error)
            self._state = _CheckupState.OVER
            return
        places = self._harness.prepare(self.result.found)
        self._handshake = ObservedHandshake(self._harness.loop, self._process, places)

    def look(self) -> None:
        """Does the work that is due: the shutdown after the handshake, or the next step of the teardown."""
        if self._state is _CheckupState.GREETING:
            assert self._handshake is not None
            if self._handshake.look():
                self._state = _CheckupState.LISTENING
                listen_s = 0.0 if self._handshake.phase is HandshakePhase.FAILED else LISTEN_S
                self._harness.loop.call_later(listen_s, self._stop)
        elif self._state is _CheckupState.ENDING and self._teardown is not None:
            self._teardown.hurry()

    def _on_exit(self, _status: ExitStatus) -> None:
        process = self._process
        assert process is not None
        self.result.left = len(self._harness.left_by(process))

    def _stop(self) -> None:
        assert self._process is not None
        self._state = _CheckupState.ENDING
        self.result.is_mute = self._process.is_mute
        if not self._process.is_running:
            self.result.force = Force.NOTHING
        self._teardown = self._harness.teardown(self._process, self._over)

    def _over(self) -> None:
        process, handshake, teardown, result = self._process, self._handshake, self._teardown, self.result
        assert process is not None
        assert handshake is not None
        assert teardown is not None
        self._state = _CheckupState.OVER
        self._harness.processes.remove(process)
        result.phase = handshake.phase
        result.failure = handshake.failure
        if handshake.ready_at is not None:
            result.ready_s = handshake.ready_at - process.started_at
        result.exit = process.exit
        result.has_acked = process.has_acked
        result.stderr = tuple(process.stderr_lines())
        if process.asked_at is not None and process.ended_at is not None:
            result.stop_s = process.ended_at - process.asked_at
        if result.force is not Force.NOTHING:
            result.force = _force_of(process, teardown)
        _register_all(process, result)


def _force_of(process: RecordedProcess, teardown: Teardown) -> Force:
    """Judges by the signals that were sent, not by the exit status: a program may end in order on SIGTERM."""
    reached = teardown.reached(process)
    if reached in (StopStage.KILLED, StopStage.STUCK):
        return Force.SIGKILL
    if reached is StopStage.TERMINATED:
        return Force.SIGTERM
    return Force.ASKING if process.has_acked or process.stdin_closed_at is None else Force.CLOSED_STDIN


def _register_all(process: RecordedProcess, result: CheckupResult) -> None:
    """Decodes and registers all that the process said, as a host does."""
    warned: dict[str, str] = {}

    def warn(key: str, text: str) -> None:
        warned.setdefault(key, text)

    registry = Registry(process.loop, ZotDialect(), warn, result.remarks.append)
    for said in process.heard:
        if said.message is not None:
            _register(said.message, said.text, registry, result)
    result.lines = len(process.heard)
    result.warnings += warned.values()
    result.tools = tuple(registry.tools)
    result.commands = tuple(registry.commands)
    result.events = tuple(sorted(registry.observes))
    result.intercepts = tuple(sorted(registry.guards))


def _register(message: Message, text: str, registry: Registry, result: CheckupResult) -> None:
    if isinstance(message, frames.Hello):
        result.hello_name = result.hello_name or message.name
        result.version = result.version or message.version
        result.capabilities = result.capabilities or tuple(message.capabilities or ())
    elif isinstance(message, frames.RegisterTool):
        registry.add_tool(message)
    elif isinstance(message, frames.RegisterCommand):
        registry.add_command(message)
    elif isinstance(message, frames.Subscribe):
        registry.subscribe(message)
    elif isinstance(message, frames.UnknownFrame):
        result.unknown_frames.append(one_line(message.type, SHOWN))
    elif isinstance(message, frames.Malformed) and message.type is None:
        result.junk += 1
        result.first_junk = result.first_junk or one_line(text, SHOWN) or message.reason
    elif isinstance(message, frames.Malformed):
        result.bad_frames.append(one_line(message.reason, SHOWN))
