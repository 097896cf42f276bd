"""The lines of a log with their times, levels and runs, from the pieces that `cli.logs.log_tail` reads."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from cli.choices import CommandLineError
from cli.duration import seconds_from
from cli.logs.log_tail import open_log, rotation, tail
from supervisor.extension.log import HOST_PREFIX, PrefixFilter
from wire.log_times import LogTimes, WriteMoment, times_name
from wire.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cli.logs.log_tail import Piece

LONGEST_PARTIAL = 64 * 1024
"""Maximum length of a line in bytes; a longer one is passed on in parts."""
NO_TIME = "-"


class TimedLine(NamedTuple):
    text: bytes
    """As it stands in the log, with its line feed if it has one."""
    written: WriteMoment | None
    """None for a line whose time is not known."""


class TimesBeside:
    """The times of all files of a log, as of the last `refresh`."""

    def __init__(self, log: Path) -> None:
        self._newest = log.with_name(times_name(log.name))
        self._read: list[bytes] = []
        self._of: dict[int, LogTimes] = {}

    def refresh(self) -> None:
        """Reads the times again. To be called after the log has been read: a time is written before its line."""
        self._read = []
        self._of = {}
        for path in rotation(self._newest):
            try:
                with open_log(path) as file:
                    self._read.append(file.read())
            except OSError:
                continue  # rotated away at this moment, or unreadable: its lines have no time

    def of(self, inode: int) -> LogTimes:
        """The times of the log file with this inode."""
        if inode not in self._of:
            all_of_it = (LogTimes(data, inode) for data in reversed(self._read))
            self._of[inode] = next((times for times in all_of_it if len(times)), LogTimes(b"", inode))
        return self._of[inode]


class LineReader:
    """Makes lines from the pieces of a log, which come in order."""

    def __init__(self, times: TimesBeside) -> None:
        self._times = times
        self._partial = b""
        self._began = (0, 0)  # inode and position of the partial line

    def feed(self, piece: Piece) -> Iterator[TimedLine]:
        """The lines that this piece ends."""
        position = piece.position
        for part in piece.data.split(b"\n"):
            if not self._partial:
                self._began = (piece.inode, position)
            position += len(part) + 1
            self._partial += part
            is_whole = position <= piece.position + len(piece.data)
            if is_whole:
                self._partial += b"\n"
            if is_whole or len(self._partial) > LONGEST_PARTIAL:
                yield from self.flush()

    def flush(self) -> Iterator[TimedLine]:
        """The line that has no end yet."""
        if self._partial:
            inode, position = self._began
            text, self._partial = self._partial, b""
            yield TimedLine(text, self._times.of(inode).at(position))


def last_timed_lines(log: Path, count: int) -> list[TimedLine]:
    """The last `count` lines of a log. Raises `OSError`."""
    pieces = tail(log, count)
    times = TimesBeside(log)
    times.refresh()
    reader = LineReader(times)
    lines = [line for piece in pieces for line in reader.feed(piece)]
    return [*lines, *reader.flush()][-count:] if count else []


class TerminalText:
    """Makes the text of a log fit for a terminal. The text may come in pieces of lines. Also without control
    characters nothing looks like a line of the host but what the host wrote."""

    def __init__(self) -> None:
        self._filter = PrefixFilter()
        self._is_line_start = True

    def text(self, piece: bytes) -> str:
        """The next piece of the text. Of a line of the host, the first piece has the whole prefix."""
        shown = printable(piece.decode("utf-8", "replace")).encode()
        if self._is_line_start and piece.startswith(HOST_PREFIX + b" "):
            self._filter.interrupt()
        else:
            shown = self._filter.clean(shown)
        self._is_line_start = piece.endswith(b"\n")
        return shown.decode()


def with_time(line: TimedLine) -> str:
    """The line with its time, level and the pid of its run before it, fit for a terminal, without its end. The level
    that a line of the host or of a `log` frame begins with is said once."""
    text = TerminalText().text(line.text).rstrip("\n")
    if line.written is None:
        return f"{NO_TIME:<29} {NO_TIME:<6} {NO_TIME:<7} {text}"
    level, pid = line.written.level, line.written.pid or NO_TIME
    return f"{local_time(line.written.time_ms):<29} {level:<6} {pid:<7} {text.removeprefix(f'[{level}] ')}"


def as_record(line: TimedLine) -> dict[str, str | int | None]:
    """The line for JSON: its local time, level, stream and the pid of its run, null where they are not known, and its
    text."""
    written = line.written
    return {
        "time": None if written is None else local_time(written.time_ms),
        "level": None if written is None else written.level,
        "stream": None if written is None else written.stream,
        "pid": None if written is None else written.pid,
        "line": line.text.decode("utf-8", "replace").rstrip("\r\n"),
    }


def local_time(time_ms: int) -> str:
    """A time as ISO 8601 in the time zone of this machine, with its offset: `2026-11-22T10:00:00.000+09:00`."""
    try:
        return datetime.fromtimestamp(time_ms / 1000).astimezone().isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return NO_TIME  # no clock shows that


def since_ms(text: str, now: float | None = None) -> int:
    """Milliseconds since the epoch that `--since TEXT` means: a length of time back from now, or a moment in ISO 8601,
    local unless it has an offset. Raises `CommandLineError`."""
    try:
        return int(((time.time() if now is None else now) - seconds_from(text)) * 1000)
    except ValueError:
        pass
    try:
        return int(datetime.fromisoformat(text).astimezone().timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise CommandLineError(
            f"--since: {text!r} is neither a length of time (10m, 2h) nor a moment (2026-11-22, 2026-11-22T10:30,"
            " 2026-11-22T10:30:00+09:00)"
        ) from None
