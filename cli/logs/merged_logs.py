"""The lines of one log or of many, merged by the times at which they were written; also those that come later."""

from __future__ import annotations

import re
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from cli.logs.log_tail import Follower, all_since, tail
from cli.logs.timed_lines import LineReader, TimedLine, TimesBeside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from cli.logs.log_tail import Piece

FILES_HELD = 64
"""Maximum number of logs whose files are held open while they are followed."""
_FILE = re.compile(r"ext-(.+?)\.log(?:\.\d+)?", re.DOTALL)


class LineChoice(NamedTuple):
    """The lines to show."""

    last: int | None
    """Maximum number of lines from before now, the last ones; None for all of them."""
    since_ms: int | None
    """Milliseconds since the epoch: no older line, and none whose time is not known."""
    run: int | None
    """The pid of the only run or host whose lines are shown."""

    @property
    def is_by_time(self) -> bool:
        """Whether the time of a line says whether it is shown."""
        return (self.since_ms, self.run) != (None, None)

    def has(self, line: TimedLine) -> bool:
        written = line.written
        if not self.is_by_time:
            return True
        if written is None:
            return False
        is_recent = self.since_ms is None or written.time_ms >= self.since_ms
        return is_recent and self.run in (None, written.pid)


class LogLine(NamedTuple):
    """A line of the log of one extension."""

    at_ms: int
    """Its place among lines of other logs: the time of the line, at least that of the line before it in its own log."""
    name: str
    line: TimedLine


def names_of_logs(folder: Path) -> list[str]:
    """The names of all extensions with a log in this folder, sorted."""
    try:
        found = (_FILE.fullmatch(path.name) for path in folder.iterdir())
        return sorted({match[1] for match in found if match is not None})
    except FileNotFoundError:
        return []


class OneLog:
    """The lines of one log. `has_times`: whether their times are wanted. The methods raise `OSError`."""

    def __init__(self, folder: Path, name: str, *, choice: LineChoice, has_times: bool) -> None:
        self.name = name
        self.path = folder / f"ext-{name}.log"
        self._choice = choice
        self._has_times = has_times or choice.is_by_time
        self._times = TimesBeside(self.path)
        self._reader = LineReader(self._times)
        self._latest_ms = 0
        self._follower: Follower | None = None

    def follow(self, *, at_end: bool, holds: bool) -> None:
        """From now on `added` returns what is added. The arguments are those of `Follower`."""
        self._follower = Follower(self.path, at_end=at_end, holds=holds)

    def close(self) -> None:
        """Follows no longer."""
        if self._follower is not None:
            self._follower.close()

    def lines(self) -> list[LogLine]:
        """The lines from before now. The last one may have no end yet: with a follower it comes with its end."""
        choice, end = self._choice, None if self._follower is None else self._follower.position
        if not choice.is_by_time and choice.last is not None:
            pieces: Iterable[Piece] = tail(self.path, choice.last, end)
            self._refresh()
        else:
            self._refresh()
            pieces = all_since(self.path, self._first, end)
        found = self._placed(line for piece in pieces for line in self._reader.feed(piece))
        kept = list(found) if choice.last is None else list(deque(found, maxlen=choice.last))
        if self._follower is None:
            kept += self._placed(self._reader.flush())
        return kept if choice.last is None else kept[len(kept) - min(choice.last, len(kept)) :]

    def added(self) -> tuple[list[LogLine], bool]:
        """The lines that were added since the last call, and whether anything was. Once nothing is, a line without an
        end counts as one."""
        assert self._follower is not None
        pieces = self._follower.read()
        if not pieces:
            return list(self._placed(self._reader.flush())), False
        self._refresh()
        return list(self._placed(line for piece in pieces for line in self._reader.feed(piece))), True

    def take_lost(self) -> bool:
        """Whether lines were deleted before they were read, since the last call."""
        assert self._follower is not None
        lost, self._follower.lost = self._follower.lost, 0
        return bool(lost)

    def _first(self, inode: int) -> int | None:
        since = self._choice.since_ms
        return 0 if since is None else self._times.of(inode).first_since(since)

    def _refresh(self) -> None:
        if self._has_times:
            self._times.refresh()

    def _placed(self, lines: Iterable[TimedLine]) -> Iterator[LogLine]:
        for line in lines:
            if line.written is not None:
                self._latest_ms = max(self._latest_ms, line.written.time_ms)
            if self._choice.has(line):
                yield LogLine(self._latest_ms, self.name, line)


class MergedLogs:
    """The lines of these logs together. With `find`, which returns the names of all logs that exist, logs that appear
    later are followed too. `on_fault` is called once for each log that cannot be read."""

    def __init__(
        self,
        folder: Path,
        names: Iterable[str],
        choice: LineChoice,
        *,
        has_times: bool,
        on_fault: Callable[[OneLog, OSError], None],
        on_lost: Callable[[OneLog], None],
        find: Callable[[], Iterable[str]] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._make = partial(OneLog, folder, choice=choice, has_times=has_times)
        self._logs = {name: self._make(name) for name in names}
        self._known = set(self._logs)
        self._choice = choice
        self._on_fault = on_fault
        self._on_lost = on_lost
        self._find = find
        self._clock = clock
        self._holding = 0
        """The number of logs that were followed so far."""
        self._waiting: list[LogLine] = []
        """Lines for which an earlier one of another log may still come."""

    def lines(self, *, follow: bool) -> list[LogLine]:
        """The lines from before now. With `follow`, `added` goes on behind them."""
        found: list[LogLine] = []
        last = self._choice.last
        for log in list(self._logs.values()):
            try:
                if follow:
                    self._follow(log, at_end=True)
                found += log.lines()
            except OSError as error:
                self._lose(log, error)
            if last is not None and len(found) > 2 * last:
                found = _last(found, last)
        return _merged(found) if last is None else _last(found, last)

    def added(self) -> tuple[list[LogLine], bool]:
        """The lines that were added since the last call, and whether anything was. Of several logs a line waits until
        the next call if another log may have an earlier one, which was not there yet when that log was read."""
        began_ms = int(self._clock() * 1000)
        self._look_for_more()
        new: list[LogLine] = []
        is_any = False
        for log in list(self._logs.values()):
            try:
                lines, has_more = log.added()
            except OSError as error:
                self._lose(log, error)
                continue
            new += lines
            is_any |= has_more
            if log.take_lost():
                self._on_lost(log)
        if len(self._logs) < 2:
            ready, self._waiting = self._waiting + new, []
            return ready, is_any
        waiting, self._waiting = self._waiting, [line for line in new if line.at_ms >= began_ms]
        return _merged([*waiting, *(line for line in new if line.at_ms < began_ms)]), is_any

    def _look_for_more(self) -> None:
        for name in set(() if self._find is None else self._find()) - self._known:
            self._known.add(name)
            self._logs[name] = log = self._make(name)
            try:
                self._follow(log, at_end=False)
            except OSError as error:
                self._lose(log, error)

    def _follow(self, log: OneLog, *, at_end: bool) -> None:
        log.follow(at_end=at_end, holds=self._holding < FILES_HELD)
        self._holding += 1

    def close(self) -> None:
        for log in self._logs.values():
            log.close()

    def _lose(self, log: OneLog, error: OSError) -> None:
        log.close()
        del self._logs[log.name]
        self._on_fault(log, error)


def _last(lines: list[LogLine], count: int) -> list[LogLine]:
    return _merged(lines)[max(0, len(lines) - count) :]


def _merged(lines: list[LogLine]) -> list[LogLine]:
    """Sorted by place. The order of the lines of one log stays: their places never go back."""
    return sorted(lines, key=lambda line: line.at_ms)
