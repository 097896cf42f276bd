"""`zot ext logs`: shows the log of an extension, also when no host runs."""

from __future__ import annotations

import os
import select
import sys
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from cli.choices import CommandLineError
from cli.json_line import json_line
from cli.logs.log_tail import Follower, all_since, rotation, tail
from cli.logs.timed_lines import LineReader, TerminalText, TimesBeside, as_record, since_ms, with_time
from supervisor.control.client import ControlError
from supervisor.home.zot_home import zot_home
from wire.exit_codes import Status
from wire.suggestions import no_such

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cli.logs.log_tail import Piece
    from cli.logs.timed_lines import TimedLine
    from wire.log_times import WriteMoment

POLL_S = 0.2
LINES_SHOWN = 50


def run_logs(
    name: str,
    *,
    follow: bool,
    lines: int | None,
    timestamps: bool = False,
    since: str | None = None,
    run: int | None = None,
    as_json: bool = False,
) -> int:
    """Prints the log and returns the exit status. `name` is the name of the extension or of its folder. Raises
    `ControlError`, `CommandLineError` for a name without a log or a bad `since`, and `BrokenPipeError`."""
    since_when = None if since is None else since_ms(since)
    folder = zot_home() / "logs"
    path = folder / f"ext-{name}.log"
    if os.sep not in name and not rotation(path) and (named := _find_by_folder(name)) is not None:
        name, path = named, folder / f"ext-{named}.log"
    if os.sep in name or not rotation(path):
        known = sorted(file.name.removeprefix("ext-").removesuffix(".log") for file in folder.glob("ext-*.log"))
        if not known:
            raise ControlError(f"there are no logs of extensions in {folder}")
        raise CommandLineError(no_such("log of an extension", name, known))
    printer = _Printer(path, name if as_json else None, timestamps=timestamps, since=since_when, run=run)
    try:
        return _show(path, printer, follow=follow, lines=lines)
    except KeyboardInterrupt:
        return Status.INTERRUPTED.exit_code
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ControlError(f"{path} cannot be shown: {error.strerror}") from None


def _find_by_folder(name: str) -> str | None:
    from supervisor.discovery.discover import read_manifest
    from wire.manifest import ManifestError

    for parent in (Path.cwd() / ".zot" / "extensions", zot_home() / "extensions"):
        try:
            return read_manifest(parent / name).name
        except ManifestError:
            continue
    return None


def _show(path: Path, printer: _Printer, *, follow: bool, lines: int | None) -> int:
    follower = Follower(path) if follow else None
    try:
        end = None if follower is None else follower.position
        printer.begin(path, lines, end)
        if follower is None:
            printer.flush()
            return 0
        while True:
            lost = follower.lost
            if pieces := follower.read():
                printer.write(pieces)
            else:
                printer.flush()
                _wait_for_a_while()
            if follower.lost > lost:
                print("zot ext logs: some lines came too fast and are missing here", file=sys.stderr)  # noqa: T201
    finally:
        if follower is not None:
            follower.close()


def _wait_for_a_while() -> None:
    """Waits `POLL_S`. Raises `BrokenPipeError` at once when the reader of a pipe has gone."""
    gone = select.poll()
    gone.register(1, 0)
    if any(event & (select.POLLERR | select.POLLHUP) for _fd, event in gone.poll(POLL_S * 1000)):
        raise BrokenPipeError


class _Printer:
    """Writes line by line, without control characters: plain, with times, or as JSON objects with this name. With
    `since`, in milliseconds since the epoch, only lines that are not older; with `run`, a pid, only its lines. A pipe
    gets what a terminal gets: it often ends on one."""

    def __init__(self, path: Path, name: str | None, *, timestamps: bool, since: int | None, run: int | None) -> None:
        self._name = name
        self._since = since
        self._run = run
        self._timestamps = timestamps
        self._shown = TerminalText()
        self._times = TimesBeside(path)
        self._reader = LineReader(self._times)

    def begin(self, path: Path, lines: int | None, end: int | None) -> None:
        """Writes the last lines, or with `since` or `run` by default all of these."""
        if self._wants_all:
            self.write(tail(path, LINES_SHOWN if lines is None else lines, end))
            return
        self._times.refresh()
        since = self._since
        pieces = all_since(path, lambda inode: 0 if since is None else self._times.of(inode).first_since(since), end)
        found = (line for piece in pieces for line in self._wanted(self._reader.feed(piece)))
        for line in found if lines is None else deque(found, maxlen=lines):
            _put(self._bytes_of(line))

    def write(self, pieces: Iterable[Piece]) -> None:
        if self._timestamps or self._name is not None or not self._wants_all:
            self._times.refresh()
        for piece in pieces:
            _put(b"".join(map(self._bytes_of, self._wanted(self._reader.feed(piece)))))

    def flush(self) -> None:
        """Writes a line that has no end yet. To be called when no more bytes come at the moment."""
        for line in self._wanted(self._reader.flush()):
            _put(self._bytes_of(line))

    def _wanted(self, lines: Iterable[TimedLine]) -> Iterable[TimedLine]:
        if self._wants_all:
            return lines
        return (line for line in lines if line.written is not None and self._is_wanted(line.written))

    @property
    def _wants_all(self) -> bool:
        return self._since is None and self._run is None

    def _is_wanted(self, written: WriteMoment) -> bool:
        is_recent = self._since is None or written.time_ms >= self._since
        return is_recent and self._run in (None, written.pid)

    def _bytes_of(self, line: TimedLine) -> bytes:
        if self._name is not None:
            return json_line({"extension": self._name, **as_record(line)})
        if self._timestamps:
            return with_time(line).encode() + b"\n"
        return self._shown.text(line.text).encode()


def _put(data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(1, left) :]
