"""The file beside a log with the time, the level and the run of each of its lines. Pure.

The log itself holds no times. `ext-NAME.times` belongs to `ext-NAME.log`, `ext-NAME.times.1` to `ext-NAME.log.1`, and
so on. The file is text, one entry per line, and only grows:

    log 4194313
    0 1763789267123 4711 z
    31 1763789267410 4711 s

`log INODE` names the file that the entries after it are about. An entry is a position in the log in bytes, a time in
milliseconds since the epoch, the pid of the run or host, and a letter for the level: this process wrote the bytes of
the log from this position up to the position of the next entry, at this time. Several runs write to one log; entries of
older versions have no pid. Other lines (the torn end after a crash) are skipped.
"""

from __future__ import annotations

import re
from bisect import bisect_right

import msgspec

STDERR, HOST, UNKNOWN = "stderr", "zot", "unknown"
LEVELS = {"s": STDERR, "z": HOST, "u": UNKNOWN, "d": "debug", "i": "info", "w": "warn", "e": "error"}
"""The level of each letter: `stderr` for the extension's stderr, `zot` for lines of the host, else the level of a `log`
frame. `unknown` begins a part that was written while no entries could be written."""
LETTERS = {level: letter for letter, level in LEVELS.items()}
_LINE = re.compile(rb"^(?:log (\d{1,20})|(\d{1,18}) (-?\d{1,16})(?: (\d{1,10}))? ([szudiwe]))$", re.MULTILINE)


class WriteMoment(msgspec.Struct, frozen=True):
    """The time at which a part of a log was written, its level, and by which run."""

    time_ms: int
    """Milliseconds since the epoch."""
    level: str
    """One of the values of `LEVELS`."""
    pid: int | None = None
    """Pid of the run or host that wrote it; None in files of older versions."""

    @property
    def stream(self) -> str:
        """The source: stderr, log (a `log` frame) or zot (the host)."""
        return self.level if self.level in (STDERR, HOST) else "log"


def times_name(log: str) -> str:
    """Returns the name of the file with the times of a log: `ext-a.log.2` → `ext-a.times.2`."""
    stem, _, number = log.rpartition(".log")
    return f"{stem}.times{number}"


def header(inode: int) -> bytes:
    """Returns the line before the entries of a log file. Its first line feed ends a torn entry."""
    return b"\nlog %d\n" % inode


def entry(position: int, time_ms: int, letter: str, pid: int | None = None) -> bytes:
    """Returns the entry for the part of the log that begins at this position."""
    of_run = b"" if pid is None else b"%d " % pid
    return b"%d %d %s%s\n" % (position, time_ms, of_run, letter.encode())


class LogTimes:
    """The entries of one times file that are about one log file."""

    def __init__(self, data: bytes, inode: int) -> None:
        """`data` is the whole times file. Entries about another log file than `inode` are left out."""
        entries: dict[int, WriteMoment] = {}
        is_ours = False
        for line in _LINE.finditer(data):
            about, position, time_ms, pid, letter = line.groups()
            if about is not None:
                is_ours = int(about) == inode
                continue
            if not is_ours:
                continue
            start = int(position)
            if start == 0:
                entries.clear()  # the log was emptied; the earlier entries are about bytes that are gone
            entries[start] = WriteMoment(int(time_ms), LEVELS[letter.decode()], None if pid is None else int(pid))
        self._positions = sorted(entries)
        self._entries = entries

    def __len__(self) -> int:
        return len(self._positions)

    def at(self, position: int) -> WriteMoment | None:
        """Returns the time and level of the byte at this position; None if unknown."""
        index = bisect_right(self._positions, position)
        found = self._entries[self._positions[index - 1]] if index else None
        return None if found is None or found.level == UNKNOWN else found

    def first_since(self, time_ms: int) -> int | None:
        """Returns the first position that was written at this time or later, or None. A clock that was set back hides
        no lines: each entry is compared by itself."""
        return next((start for start in self._positions if self._entries[start].time_ms >= time_ms), None)
