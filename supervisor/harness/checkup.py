"""Starts extensions, shakes hands with them, ends them, and reports what happened. Several run at a time."""

from __future__ import annotations

import json
import os
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from supervisor.discovery.kind import COPILOT
from supervisor.harness.recorded_process import HandshakePhase
from supervisor.harness.session_trial import LONGEST_S, SessionPlayer
from supervisor.process.child import SpawnError
from supervisor.process.stop_policy import StopStage
from wire import frames
from wire.dialects.table import find_dialect
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.harness.harness import Harness
    from supervisor.harness.recorded_process import RecordedLine, RecordedProcess
    from supervisor.harness.session_trial import SessionTrial
    from supervisor.process.child import ExitStatus
    from supervisor.process.teardown import Teardown

AT_ONCE = 4
"""Maximum number of processes at a time."""
LISTEN_S = 0.1
"""Seconds between the end of the handshake and the shutdown, for frames that come late."""
SHOWN = 160
"""Maximum number of characters of a line in a report."""


class Force(Enum):
    """The means that ended the process. Users see the values."""

    ASKING = "asking"
    CLOSED_STDIN = "closing its stdin"
    SIGTERM = "SIGTERM"
    SIGKILL = "SIGKILL"
    NOTHING = "nothing"
    """The process had ended before the shutdown."""


@dataclass
class CheckupResult:
    """The findings of one checkup."""

    found: FoundExtension
    spawn_error: str = ""
    phase: HandshakePhase = HandshakePhase.WAITING
    failure: str = ""
    """Why the handshake failed."""
    ready_s: float | None = None
    hello_name: str | None = None
    version: str | None = None
    capabilities: tuple[str, ...] = ()
    spoken: str = ""
    """The protocol with its version, as the dialect says it."""
    tools: tuple[str, ...] = ()
    deferred: tuple[str, ...] = ()
    """Its tools that the model is offered only once a result has activated them."""
    instructions: str = ""
    """Its instructions to the model, for the system prompt."""
    definition_tokens: int = 0
    """Estimated tokens of its tools' definitions in each request to the model."""
    commands: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    intercepts: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list)
    """Registrations that a host leaves out or changes, and why; and the warnings of its dialect."""
    remarks: list[str] = field(default_factory=list)
    junk: int = 0
    """Number of lines on stdout that are not frames."""
    first_junk: str = ""
    bad_frames: list[str] = field(default_factory=list)
    unknown_frames: list[str] = field(default_factory=list)
    lines: int = 0
    """Number of lines on stdout, up to `HEARD_LIMIT`."""
    is_mute: bool = False
    """Whether the process closed its stdout before the shutdown."""
    stderr: tuple[str, ...] = ()
    last_words: str = ""
    """The cause of a crash, or the last line on stderr, as the end of a sentence."""
    exit: ExitStatus | None = None
    stop_s: float | None = None
    """Seconds from the shutdown to the end."""
    has_acked: bool = False
    force: Force = Force.ASKING
    left: int = 0
    """Number of processes that the extension started and that still lived at its end."""
    sessions: SessionTrial | None = None
    """The trial of an extension that says that it serves several runs; None for another, and if it was not ready."""
    missing_env: tuple[str, ...] = ()
    """Variables that the manifest asks for and this environment does not have."""


def examine(
    harness: Harness,
    found: Sequence[FoundExtension],
    *,
    at_once: int = AT_ONCE,
    on_done: Callable[[CheckupResult], None] | None = None,
) -> list[CheckupResult]:
    """Checks all extensions, `at_once` at a time, and returns the results in the given order. Calls `on_done` for each
    extension when its checkup is over. A hanging extension does not delay others. Raises `HarnessInterruptedError`."""
    results = [CheckupResult(extension, missing_env=_missing_env(extension)) for extension in found]
    waiting = deque(results)
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
            running.append(_Checkup(harness, waiting.popleft()))

    harness.wait(advance, _limit(found))
    return results


def _missing_env(found: FoundExtension) -> tuple[str, ...]:
    return tuple(name for name in found.manifest.env if name not in os.environ)


def _limit(found: Sequence[FoundExtension]) -> float:
    """Returns a time in seconds that is enough for all extensions, even one after the other."""
    return 10.0 + sum(
        (each.manifest.timeouts.hello or each.default_hello_s)
        + each.manifest.timeouts.ready
        + find_dialect(each.manifest.dialect).term_s
        + LONGEST_S * (each.manifest.sessions != "private")
        + 10.0
        for each in found
    )


class _CheckupState(Enum):
    GREETING = "greeting"
    LISTENING = "listening"
    PLAYING = "playing two sessions"
    ENDING = "ending"
    OVER = "over"


class _Checkup:
    def __init__(self, harness: Harness, result: CheckupResult) -> None:
        self.result = result
        self._harness = harness
        self._state = _CheckupState.GREETING
        self._teardown: Teardown
        self._player: SessionPlayer | None = None
        try:
            self._process = harness.start(result.found, on_exit=self._on_exit)
        except SpawnError as error:
            result.spawn_error = str(error)
            self._state = _CheckupState.OVER

    @property
    def is_over(self) -> bool:
        return self._state is _CheckupState.OVER

    def look(self) -> None:
        """Does the work that is due: the shutdown after the handshake, or the next step of the teardown."""
        if self._state is _CheckupState.GREETING:
            if self._process.phase.is_over:
                self._state = _CheckupState.LISTENING
                listen_s = 0.0 if self._process.phase is HandshakePhase.FAILED else LISTEN_S
                self._harness.loop.call_later(listen_s, self._play)
        elif self._state is _CheckupState.PLAYING:
            assert self._player is not None
            if self._player.advance():
                self._stop()
        elif self._state is _CheckupState.ENDING:
            self._teardown.hurry()

    def _on_exit(self, _status: ExitStatus) -> None:
        self.result.left = len(self._harness.left_by(self._process))

    def _play(self) -> None:
        """Plays two sessions if the manifest says that it serves several; else ends the process."""
        process, found = self._process, self.result.found
        is_ready = process.is_running and not process.is_mute and process.phase is not HandshakePhase.FAILED
        if not is_ready or found.manifest.sessions == "private" or found.manifest.dialect == COPILOT:
            self._stop()
            return
        self._player = SessionPlayer(self._harness, process)
        self.result.sessions = self._player.trial
        self._state = _CheckupState.PLAYING

    def _stop(self) -> None:
        self._state = _CheckupState.ENDING
        self.result.is_mute = self._process.is_mute
        if not self._process.is_running:
            self.result.force = Force.NOTHING
        self._teardown = self._harness.teardown(self._process, self._over)

    def _over(self) -> None:
        process, result = self._process, self.result
        self._state = _CheckupState.OVER
        self._harness.processes.remove(process)
        result.phase = process.phase
        if result.phase is HandshakePhase.FAILED:
            result.failure = process.failure
        if process.ready_at is not None:
            result.ready_s = process.ready_at - process.started_at
        result.exit = process.exit
        result.has_acked = process.has_acked
        result.stderr = tuple(process.stderr.lines())
        result.last_words = str(process.last_words)
        if process.asked_at is not None and process.ended_at is not None:
            result.stop_s = process.ended_at - process.asked_at
        if result.force is not Force.NOTHING:
            result.force = _force_of(process, self._teardown)
        _read_registrations(process, result)
        result.lines = len(process.heard)
        for line in process.heard:
            _read_fault(line, result)


def _force_of(process: RecordedProcess, teardown: Teardown) -> Force:
    """Judges by the signals that were sent, not by the exit status: a program may end in order on SIGTERM."""
    reached = teardown.reached(process)
    if reached in (StopStage.KILLED, StopStage.STUCK):
        return Force.SIGKILL
    if reached is StopStage.TERMINATED:
        return Force.SIGTERM
    is_closed = reached is StopStage.HINTED and process.asked_at is not None and not process.has_acked
    return Force.CLOSED_STDIN if is_closed else Force.ASKING


def _read_registrations(process: RecordedProcess, result: CheckupResult) -> None:
    registry = process.registry
    result.spoken = process.spoken
    result.tools = tuple(registry.tools)
    result.deferred = tuple(name for name, tool in registry.tools.items() if tool.is_deferred)
    result.instructions = registry.instructions
    result.definition_tokens = sum(tool.tokens for tool in registry.tools.values() if not tool.is_deferred)
    result.commands = registry.command_names
    result.events = tuple(sorted(registry.observes))
    result.intercepts = tuple(sorted(registry.guards))
    result.warnings += process.warnings.values()
    result.remarks += process.remarks
    if (hello := process.hello) is not None:
        result.hello_name, result.version = hello.name, hello.version
        result.capabilities = tuple(hello.capabilities or ())


def _read_fault(line: RecordedLine, result: CheckupResult) -> None:
    message = line.message
    if isinstance(message, frames.UnknownFrame):
        result.unknown_frames.append(one_line(message.type, SHOWN))
    elif isinstance(message, frames.Malformed) and message.type is None:
        result.junk += 1
        text = line.text if line.frame is None else json.dumps(line.frame, ensure_ascii=False)
        result.first_junk = result.first_junk or one_line(text, SHOWN) or message.reason
    elif isinstance(message, frames.Malformed):
        result.bad_frames.append(one_line(message.reason, SHOWN))
