"""Runs one process of an extension, and records every line in both directions, in order."""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from supervisor.accounting.account import Account
from supervisor.extension.connection.handshake import Readiness
from supervisor.extension.connection.open_calls import refuse_all
from supervisor.extension.lifecycle import WorkerState
from supervisor.extension.log import ExtensionLog
from supervisor.extension.notices import Notices
from supervisor.extension.process_worker import ProcessWorker
from supervisor.extension.restart import EndCause
from supervisor.harness.messages import HOST, SESSION, host_info
from supervisor.harness.script import Side
from supervisor.registry.worker_registry import UNKNOWN_EVENT, Registry
from wire import frames
from wire.dialects.base import Setup, Warned
from wire.dialects.host_calls import CallTool
from wire.dialects.table import find_dialect
from wire.framing import DEFAULT_FRAME_LIMIT, Line, Oversize
from wire.lenient_json import UNREADABLE, read
from wire.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.extension.connection.open_calls import HostCallAnswer
    from supervisor.extension.restart import WorkerEnding
    from supervisor.extension.worker import Shown, Worker
    from supervisor.harness.comparison import ScriptPaths
    from supervisor.loop.link import Link
    from supervisor.loop.loop import Loop
    from supervisor.loop.pipes import PipeReader, PipeWriter
    from supervisor.process.child import ExitStatus
    from wire.dialects.base import DialectSession, Message, Received
    from wire.dialects.host_calls import HostCall

HEARD_LIMIT = 20_000
"""Maximum number of kept lines of one process; later ones are dropped."""
STDERR_LINES = 20
STDERR_LINE = 500
"""Maximum number of characters of such a line."""


class HandshakePhase(Enum):
    """The phases of the handshake. Users see the values."""

    WAITING = "waiting for its hello"
    GREETED = "greeted"
    READY = "ready"
    SILENT = "taken as ready"
    """The extension never sent `ready`: it was silent after its hello, or the deadline passed."""
    FAILED = "failed"

    @property
    def is_over(self) -> bool:
        return self in (HandshakePhase.READY, HandshakePhase.SILENT, HandshakePhase.FAILED)


def phase_of(state: WorkerState, readiness: Readiness) -> HandshakePhase:
    """Returns the phase of a worker. A worker that has been ready stays READY or SILENT, however it ends."""
    if readiness is not Readiness.NOT_YET:
        return HandshakePhase.READY if readiness is Readiness.SAID else HandshakePhase.SILENT
    if state.is_awaited:
        return HandshakePhase.WAITING
    return HandshakePhase.GREETED if state is WorkerState.GREETED else HandshakePhase.FAILED


class RecordedLine(NamedTuple):
    """One line, in either direction."""

    side: Side
    frame: dict[str, Any] | None
    """The line's JSON object; None if the line is not one."""
    at: float
    fault: str = ""
    """Why a host refuses the line; empty if a host takes it."""
    text: str = ""
    """The line, cut at 400 bytes, if it is not a frame."""
    message: Message | None = None
    """The first message that a host reads in the extension's line."""

    @property
    def type(self) -> str:
        """The type of the frame; empty if the line is not a frame."""
        return "" if self.frame is None else str(self.frame.get("type"))


class RecordedProcess(ProcessWorker):
    """A worker with a tap: it records each line that it reads and each frame that it sends. It belongs to no
    generation and is its own owner. A `Harness` starts and ends it.

    Calls `on_said` for each line in either direction, `on_stderr` for each line on standard error, and `on_exit` once.
    Without `greets` a script answers the hello, and the phase of the handshake means nothing. With `leaves_calls` its
    calls of tools are answered by `say`.
    """

    def __init__(
        self,
        loop: Loop,
        found: FoundExtension,
        paths: ScriptPaths,
        *,
        greets: bool = True,
        leaves_calls: bool = False,
        session: str = SESSION,
        on_said: Callable[[RecordedLine], None] | None = None,
        on_stderr: Callable[[str], None] | None = None,
        on_exit: Callable[[ExitStatus], None] | None = None,
    ) -> None:
        self.found = found
        self.name = found.manifest.name
        self.data_dir = paths.data_dir
        self.start_mark = ""
        """Tells what this process has started from what other processes of the extension have."""
        self.account = Account()
        self.timeouts = found.manifest.timeouts
        self.stderr = _StderrLines(found.folder, self.name, on_stderr)
        self.log: ExtensionLog = self.stderr
        self.notices = Notices(loop, self.log, self.account, on_notice=_ignore, on_note=_ignore)
        dialect = find_dialect(found.manifest.dialect)
        host = host_info(paths, session) if greets else None
        setup = Setup(self.name, HOST, DEFAULT_FRAME_LIMIT, found.options)
        folder = str(found.folder)
        super().__init__(loop, self, dialect, setup, host=host, folder=folder, index=0)
        self.channel.session = self.tap = _Tap(self.channel.session, self._hear)
        self.channel.handlers[Warned] = self._on_warned
        self.said: list[RecordedLine] = []
        """The lines of both directions."""
        self.heard: list[RecordedLine] = []
        """Only the lines of the extension."""
        self.greeting = 0
        """Number of the lines of `heard` that belong to the handshake."""
        self.warnings: dict[str, str] = {}
        """Registrations that a host leaves out or changes, and why; and the warnings of its dialect."""
        self.remarks: list[str] = []
        self.ready_at: float | None = None
        self.ended_at: float | None = None
        self.asked_at: float | None = None
        """When `shutdown` was sent, on the loop's clock."""
        self.has_acked = False
        self.hello_s = self.timeouts.hello or found.default_hello_s
        self.registry = Registry(loop, dialect, self._on_warning, self.remarks.append)
        self._leaves_calls = leaves_calls
        self._on_said = on_said
        self._on_exit_seen = on_exit

    @property
    def phase(self) -> HandshakePhase:
        return phase_of(self.state, self.readiness)

    @property
    def handshake_s(self) -> float:
        """A time in seconds that is enough for the handshake."""
        return self.hello_s + self.timeouts.ready + 1.0

    @property
    def hello(self) -> frames.Hello | None:
        return next((said.message for said in self.heard if isinstance(said.message, frames.Hello)), None)

    @property
    def exit(self) -> ExitStatus | None:
        return None if self.child is None else self.child.exit

    @property
    def is_mute(self) -> bool:
        """Whether the process has closed its stdout, and lives."""
        return self.child is not None and self.child.is_running and not self.child.stdout.is_open

    @property
    def last_heard_at(self) -> float:
        """When the extension last wrote a line (loop's clock); its start time before the first line."""
        return self.heard[-1].at if self.heard else self.started_at

    # --- the tap ------------------------------------------------------------------------------------------

    def say(self, frame: dict[str, Any]) -> bool:
        """Sends a frame. Returns False if the process no longer reads."""
        return self.requests.write(msgspec.json.encode(frame) + b"\n")

    def leave_to_caller(self, *, is_left: bool) -> None:
        """While it is left to the caller, the extension is heard as before, and nobody answers it but the caller."""
        self.tap.is_muted = is_left

    def _connect(self, stdin: PipeWriter | Link, stdout: PipeReader | Link, hello_s: float) -> None:
        super()._connect(cast("PipeWriter", _WriterTap(stdin, self.note_said)), stdout, hello_s)

    def note_said(self, frame: bytes) -> None:
        """Records bytes of the host, which may be several lines or a part of one."""
        for line in frame.splitlines():
            said = RecordedLine(Side.HOST, object_in(line), self._clock(), text=_cut(line))
            if self.asked_at is None and said.type == "shutdown":
                self.asked_at = said.at
            self._note(said)

    def _hear(self, line: Line | Oversize, messages: Sequence[Message]) -> None:
        if len(self.heard) > HEARD_LIMIT:
            return
        if len(self.heard) == HEARD_LIMIT:
            text = f"more than {HEARD_LIMIT} lines; the rest is not heard"
            said = RecordedLine(Side.EXTENSION, None, self._clock(), text, text)
        else:
            said = decode_line(line, messages, self._clock())
        self.has_acked |= isinstance(said.message, frames.ShutdownAck)
        self.heard.append(said)
        self._note(said)

    def _note(self, said: RecordedLine) -> None:
        self.said.append(said)
        if self._on_said is not None:
            self._on_said(said)

    # --- the owner ----------------------------------------------------------------------------------------

    def _on_warned(self, warned: Warned) -> None:
        self._on_warning(warned.key, warned.text)

    def _on_warning(self, key: str, text: str) -> None:
        if not key.startswith(UNKNOWN_EVENT):
            self.warnings.setdefault(key, text)
        elif text not in self.remarks:
            self.remarks.append(text)

    def refusal(self, worker: Worker) -> str:  # noqa: ARG002
        return ""

    def got_ready(self, worker: Worker) -> None:  # noqa: ARG002
        self.ready_at = self._clock()
        numbered = enumerate(self.heard, 1)
        self.greeting = next((count for count, said in numbered if said.type == "ready"), len(self.heard))

    def collected(self, worker: Worker) -> None:  # noqa: ARG002
        self.ended_at = self._clock()
        if (rest := self.channel.splitter.finish()) is not None:
            if isinstance(rest, Oversize):
                self.channel.session.receive_oversize(rest, self._clock())
            else:
                self.channel.session.receive(rest, self._clock())
        if self._on_exit_seen is not None and self.exit is not None:
            self._on_exit_seen(self.exit)

    def ended(self, worker: Worker, ending: WorkerEnding, reason: str) -> None:  # noqa: ARG002
        if ending.cause is EndCause.EXIT and not ending.was_ready and self.hello is not None:
            self.fail_requests_with(f"it exited ({self.exit})")

    def memory_breach(self, worker: Worker) -> None: ...
    def registered(self, worker: Worker) -> None: ...
    def stopped(self, worker: Worker) -> None: ...
    def showed(self, worker: Worker, frame: Shown) -> None: ...
    def timed_out(self, worker: Worker) -> None: ...

    def called(self, call: HostCall, answer: HostCallAnswer) -> None:
        if self._leaves_calls and isinstance(call, CallTool):
            answer.on_end = _ignore_end
        else:
            refuse_all(call, answer)

    # --- its end ------------------------------------------------------------------------------------------

    def ask_to_stop(self) -> None:
        """Asks it to exit, unless the script has done so."""
        if self.asked_at is None:
            super().ask_to_stop()
            self.asked_at = self._clock()


class _Tap:
    """A session that passes on each message of the process as it is read: its bytes, and its messages for a host."""

    note_heads = ()  # so that each note is heard

    def __init__(self, session: DialectSession, hear: Callable[[Line | Oversize, Sequence[Message]], None]) -> None:
        self._session = session
        self._hear = hear
        self.is_muted = False
        """Whether messages are only heard: no handler gets them, and no answer is sent."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def receive(self, line: Line, now: float) -> Received:
        received = self._session.receive(line, now)
        self._hear(line, received[0])
        return ((), b"") if self.is_muted else received

    def on_time(self, now: float) -> Received:
        received = self._session.on_time(now)
        return ((), b"") if self.is_muted else received

    def receive_oversize(self, dropped: Oversize, now: float) -> Received:
        received = self._session.receive_oversize(dropped, now)
        self._hear(dropped, received[0])
        return ((), b"") if self.is_muted else received


class _WriterTap:
    """The input of the process. Passes on each frame that was sent."""

    def __init__(self, writer: PipeWriter | Link, said: Callable[[bytes], None]) -> None:
        self._writer = writer
        self._said = said

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)

    def send(self, frame: bytes) -> bool:
        if not self._writer.send(frame):
            return False
        self._said(frame)
        return True


def decode_line(line: Line | Oversize, messages: Sequence[Message], now: float) -> RecordedLine:
    """Decodes a line of an extension to JSON for the comparison. `messages` are the ones that a host reads in it."""
    judged = messages[0] if messages else None
    fault = ""
    if isinstance(judged, frames.Malformed):
        fault = judged.reason
    elif isinstance(judged, Warned) and judged.key == "call_tool":
        fault = judged.text
    if isinstance(line, Oversize):
        return RecordedLine(Side.EXTENSION, None, now, fault, _cut(line.prefix), judged)
    if (frame := object_in(line)) is None:
        return RecordedLine(Side.EXTENSION, None, now, fault or "not a JSON object", _cut(line), judged)
    return RecordedLine(Side.EXTENSION, frame, now, fault, "", judged)


def object_in(line: Line) -> dict[str, Any] | None:
    """The JSON object in a line; None if it is something else, as in other dialects."""
    try:
        value, _ = read(bytes(line).decode("utf-8", "replace").encode())
    except UNREADABLE:
        return None
    return value if isinstance(value, dict) else None


def _cut(line: Line) -> str:
    return line[:400].decode("utf-8", "replace")


def _ignore(_kind: str, _text: str) -> None:
    """Drops a notice or a note: the recorded lines have its content."""


def _ignore_end(_reason: str) -> None:
    """Leaves the answer to a cancelled call to the script, too."""


class _StderrLines(ExtensionLog):
    """A log without a file. Keeps the last `STDERR_LINES` lines of stderr."""

    def __init__(self, folder: Path, name: str, on_line: Callable[[str], None] | None) -> None:
        super().__init__(folder, name)
        self._on_line = on_line
        self._lines: deque[str] = deque(maxlen=STDERR_LINES)
        self._rest = b""

    def _open(self) -> None:
        """Without a file, lines of the host are dropped."""

    def write(self, data: bytes) -> None:
        *whole, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[-STDERR_LINE:]
        for line in whole:
            self._lines.append(_shown(line))
            if self._on_line is not None:
                self._on_line(self._lines[-1])

    def lines(self) -> list[str]:
        """Returns the last lines, safe for a terminal."""
        return [line for line in (*self._lines, _shown(self._rest)) if line]


def _shown(line: bytes) -> str:
    """Keeps the indentation: tracebacks need it."""
    return printable(line[: 4 * STDERR_LINE].decode("utf-8", "replace")).rstrip()[:STDERR_LINE]
