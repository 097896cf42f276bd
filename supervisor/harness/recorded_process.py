"""Runs one process of an extension, and records every line in both directions, in order."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from supervisor.harness.script import Side
from supervisor.process.child import Child
from wire import frames
from wire.dialects.zot import describe_oversize
from wire.framing import LineSplitter, Oversize
from wire.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from supervisor.discovery.discover import Found
    from supervisor.loop.loop import Loop
    from supervisor.process.child import ExitStatus
    from wire.dialects.base import Message

HEARD_LIMIT = 20_000
"""Lines of one process that are kept; later ones are dropped."""
STDERR_LINES = 20
STDERR_LINE = 500
"""Characters."""


class RecordedLine(NamedTuple):
    """One line, in either direction."""

    side: Side
    frame: dict[str, Any] | None
    """None if the line is no JSON object."""
    at: float
    fault: str = ""
    """Why a host refuses the line; empty if a host takes it."""
    text: str = ""
    """The line, cut at 400 bytes, if it is no frame."""
    message: Message | None = None
    """The message that a host decodes from the extension's line."""


class RecordedProcess:
    """One recorded process. Calls `on_said` for each line in either direction, `on_stderr` for each line on standard
    error, and `on_exit` once. A `Harness` ends the process."""

    def __init__(
        self,
        loop: Loop,
        found: Found,
        *,
        argv: Sequence[str],
        env: Mapping[str, str],
        on_said: Callable[[RecordedLine], None] | None = None,
        on_stderr: Callable[[str], None] | None = None,
        on_exit: Callable[[ExitStatus], None] | None = None,
    ) -> None:
        """Starts the process. Raises `SpawnError`."""
        self.found = found
        self.said: list[RecordedLine] = []
        """The lines of both directions."""
        self.heard: list[RecordedLine] = []
        """Only the lines of the extension."""
        self.exit: ExitStatus | None = None
        self.started_at = loop.clock()
        self.ended_at: float | None = None
        self.asked_at: float | None = None
        """When `shutdown` was sent, on the loop's clock."""
        self.has_acked = False
        self.is_mute = False
        self.stdin_closed_at: float | None = None
        self.loop = loop
        self._on_said = on_said
        self._on_stderr_line = on_stderr
        self._on_exit_seen = on_exit
        self._splitter = LineSplitter()
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES)
        self._stderr_rest = b""
        self.child: Child | None = None
        self.child = Child(
            loop,
            argv,
            cwd=str(found.folder),
            env=env,
            on_stdout=self._on_stdout,
            on_stderr=self._on_stderr,
            on_exit=self._on_exit,
            on_mute=self._on_mute,
        )

    @property
    def is_running(self) -> bool:
        return self.exit is None

    @property
    def last_heard_at(self) -> float:
        """When the extension last wrote a line (loop's clock); its start time before the first line."""
        return self.heard[-1].at if self.heard else self.started_at

    def say(self, frame: dict[str, Any]) -> bool:
        """Sends a frame. Returns False if the process no longer reads."""
        assert self.child is not None
        if not self.child.send(msgspec.json.encode(frame) + b"\n"):
            return False
        if frame.get("type") == "shutdown" and self.asked_at is None:
            self.asked_at = self.loop.clock()
        self._note(RecordedLine(Side.HOST, frame, self.loop.clock()))
        return True

    def stderr_lines(self) -> list[str]:
        """The last `STDERR_LINES` lines, safe for a terminal."""
        rest = [self._stderr_rest.decode("utf-8", "replace")] if self._stderr_rest else []
        return [line for text in (*self._stderr, *rest) if (line := _shown(text))]

    # --- what the extension says --------------------------------------------------------------------------

    def _on_stdout(self, data: bytes) -> None:
        for line in self._splitter.feed(data):
            if len(self.heard) < HEARD_LIMIT:
                self._hear(line)
            elif len(self.heard) == HEARD_LIMIT:
                text = f"more than {HEARD_LIMIT} lines; the rest is not heard"
                self.heard.append(RecordedLine(Side.EXTENSION, None, self.loop.clock(), text, text))
                self._note(self.heard[-1])

    def _hear(self, line: bytes | bytearray | Oversize) -> None:
        said = understood(line, self._splitter.limit, self.loop.clock())
        if said.frame is not None and said.frame.get("type") == "shutdown_ack":
            self.has_acked = True
        self.heard.append(said)
        self._note(said)

    def _note(self, said: RecordedLine) -> None:
        self.said.append(said)
        if self._on_said is not None:
            self._on_said(said)

    def _on_stderr(self, data: bytes) -> None:
        *whole, self._stderr_rest = (self._stderr_rest + data).split(b"\n")
        self._stderr_rest = self._stderr_rest[-STDERR_LINE:]
        for line in whole:
            text = line[: 4 * STDERR_LINE].decode("utf-8", "replace")
            self._stderr.append(text)
            if self._on_stderr_line is not None:
                self._on_stderr_line(_shown(text))

    def _on_mute(self) -> None:
        self.is_mute = True

    def _on_exit(self, status: ExitStatus) -> None:
        self.exit = status
        self.ended_at = self.loop.clock()
        if (rest := self._splitter.finish()) is not None:
            self._hear(rest)
        if self._on_exit_seen is not None:
            self._on_exit_seen(status)

    # --- its end: the methods that `Teardown` calls -------------------------------------------------------

    def ask_to_stop(self) -> None:
        """Sends `shutdown`, or closes stdin if the process no longer reads."""
        if self.asked_at is None and not self.say({"type": "shutdown"}):
            self.hint_to_stop()

    def hint_to_stop(self) -> None:
        """Closes the stdin of the process, unless the process has answered the shutdown."""
        assert self.child is not None
        if not self.has_acked and self.child.stdin is not None and self.child.stdin.is_open:
            self.stdin_closed_at = self.loop.clock()
            self.child.stdin.end()


def understood(line: bytes | bytearray | Oversize, limit: int, now: float) -> RecordedLine:
    """Decodes a line of an extension: to JSON for the comparison, and to a message as a host does."""
    if isinstance(line, Oversize):
        malformed = describe_oversize(line, limit)
        return RecordedLine(Side.EXTENSION, None, now, malformed.reason, _cut(line.prefix), malformed)
    judged = frames.decode_from_extension(line)
    fault = judged.reason if isinstance(judged, frames.Malformed) else ""
    try:
        frame = msgspec.json.decode(bytes(line).decode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        frame = None
    if not isinstance(frame, dict):
        return RecordedLine(Side.EXTENSION, None, now, fault or "not a JSON object", _cut(line), judged)
    return RecordedLine(Side.EXTENSION, frame, now, fault, "", judged)


def _cut(line: bytes | bytearray) -> str:
    return line[:400].decode("utf-8", "replace")


def _shown(line: str) -> str:
    """Keeps the indentation: tracebacks need it."""
    return printable(line).rstrip()[:STDERR_LINE]
