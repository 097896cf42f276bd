"""The log file of one extension: its stderr, its `log` frames, and lines of the host, which begin with `[zot]`.

A line of the extension cannot look like a line of the host: its `[zot]` becomes `[zot)`, wherever it stands, and a line
of the host begins on a line of its own. Beside the log lies a file with the time, the level and the run of each line,
see `wire.log_times`: several runs write to one log.
"""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from supervisor.home.safe_files import rotate
from supervisor.home.zot_home import private_folder
from supervisor.process import fd_limit
from wire.lenient_json import UNREADABLE
from wire.log_times import HOST, LETTERS, STDERR, UNKNOWN, entry, header, times_name
from wire.text import _BREAKS, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

HOST_PREFIX = b"[zot]"
"""Beginning of each line of the host, before a space. `PrefixFilter` relies on it that only the first byte is `[`."""
BROKEN_PREFIX = b"[zot)"
LOG_LIMIT = 1024 * 1024
"""Size in bytes at which a file is rotated."""
LOGS_KEPT = 5
"""Maximum number of files of one extension: `ext-NAME.log`, `.log.1` … `.log.4`."""
SMALLEST_LOG = 4096
"""Minimum size in bytes of a file that is rotated."""
LINE_LIMIT = 1000
"""Maximum number of characters of a line of the host. Many of these lines quote the extension."""
FRAME_LINE_LIMIT = 4000
"""Maximum number of characters of a line from a `log` frame."""
LEVELS = frozenset({"debug", "info", "warn", "error"})
RESOLUTION_S = 0.01
"""Lines of one level that follow each other within this time share the time of the first one."""


class PrefixFilter:
    """Removes the host's prefix from a text of another program that may come in pieces. The length stays the same."""

    def __init__(self) -> None:
        self._begun = b""  # the end of the last piece, if the prefix may go on after it

    def clean(self, data: bytes) -> bytes:
        """The next piece of the text without the prefix."""
        if HOST_PREFIX in data:
            data = data.replace(HOST_PREFIX, BROKEN_PREFIX)
        begun = self._begun
        missing = HOST_PREFIX[len(begun) :]
        if begun and data.startswith(missing):
            data = missing[:-1] + BROKEN_PREFIX[-1:] + data[len(missing) :]
        most = len(HOST_PREFIX) - 1
        end = ((begun + data) if len(data) <= most else data)[-most:]
        at = end.rfind(HOST_PREFIX[:1])
        self._begun = end[at:] if at >= 0 and HOST_PREFIX.startswith(end[at:]) else b""
        return data

    def interrupt(self) -> None:
        """Called when another text follows the last piece: a prefix can no longer go on in the next piece."""
        self._begun = b""


class ExtensionLog:
    """Appends to `FOLDER/ext-NAME.log`, mode 0600. Keeps at most `LOGS_KEPT` files, each with its times beside it, of
    `total` bytes together. `clock` returns seconds since the epoch.

    If the log cannot be written (disk full, read-only home), the extension runs on. `error` then says why. `on_error`
    gets this reason once, unless it is a lack of descriptors: the start of the worker then fails as well.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        total: int = LOGS_KEPT * LOG_LIMIT,
        clock: Callable[[], float] = time.time,
        *,
        opens_late: bool = False,
    ) -> None:
        """With `opens_late` the files are opened for the first line, not at once."""
        self.resize(total)
        self._clock = clock
        self.path = folder / f"ext-{name}.log"
        self.error: str | None = None
        self.on_error: Callable[[str], None] | None = None
        self._fd = self._times_fd = -1
        self.lacks_descriptors = opens_late
        """Whether the log is closed because no descriptor was left, or no line has come. The next line tries again."""
        self._times_size = 0
        self._end = -1  # position after the last byte that this object has written
        self._ends_line = True  # whether that byte was a line feed
        self._filter = PrefixFilter()
        self._entry: tuple[float, str] = (0.0, "")  # the last entry: its time and level
        self._unknown_from: int | None = None  # the position of the first entry that could not be written
        if not opens_late:
            self._open()

    def resize(self, total: int) -> None:
        """Sets the size in bytes that all files together may have."""
        self._limit = max(total // LOGS_KEPT, SMALLEST_LOG)

    def write(self, data: bytes) -> None:
        """Appends a piece of the extension's stderr. The piece may end within a line."""
        self._append(self._filter.clean(data), STDERR)

    def add(self, text: str) -> None:
        """Appends a line of the host."""
        self._add_line(HOST_PREFIX + f" {one_line(text, LINE_LIMIT)}\n".encode(), HOST)

    def add_frame(self, level: str, message: str, fields: Mapping[str, msgspec.Raw] | None = None) -> None:
        """Appends a line that the extension sent as a `log` frame."""
        said = message
        for name, value in (fields or {}).items():
            if len(said) > 4 * FRAME_LINE_LIMIT:
                break  # `one_line` reads no further
            said += f" {name}={_value(value)}"
        shown = level if level in LEVELS else "info"
        line = f"[{shown}] {one_line(said, FRAME_LINE_LIMIT)}\n".encode("utf-8", "replace")
        self._add_line(line.replace(HOST_PREFIX, BROKEN_PREFIX), shown)

    def _add_line(self, line: bytes, level: str) -> None:
        """Appends a line, on a line of its own even if the extension's stderr has not ended one. Opens the log again
        if there was no descriptor for it before."""
        if self._fd < 0 and self.lacks_descriptors:
            self._open()
        self._filter.interrupt()
        self._append(line, level, is_line=True)

    def _open(self) -> None:
        self.lacks_descriptors = False
        try:
            if self._end < 0:  # else a rotation has just closed as many as it needs
                fd_limit.require_free()
            try:
                self._fd = _open_file(self.path)
            except FileNotFoundError:
                private_folder(self.path.parent)
                self._fd = _open_file(self.path)
            found = os.fstat(self._fd)
        except OSError as error:
            self._fail(error)
        else:
            self.error = None
            self._open_times(found.st_ino, is_new=found.st_size == 0)

    def _open_times(self, inode: int, *, is_new: bool) -> None:
        """Begins the entries about the log file. If times cannot be written, the log is written without them."""
        self._end, self._unknown_from = -1, None
        try:
            path = self.path.with_name(times_name(self.path.name))
            self._times_fd = _open_file(path, os.O_TRUNC if is_new else 0)
            os.write(self._times_fd, header(inode))
            self._times_size = os.fstat(self._times_fd).st_size
        except OSError:
            self._close_times()

    def _fail(self, error: OSError) -> None:
        is_first = self.error is None
        self.lacks_descriptors = error.errno in (errno.EMFILE, errno.ENFILE)
        self.error = f"cannot write {self.path}: {error.strerror}"
        if is_first and not self.lacks_descriptors and self.on_error is not None:
            self.on_error(self.error)

    def _append(self, data: bytes, level: str, *, is_line: bool = False) -> None:
        for start in range(0, len(data), self._limit):
            piece = data[start : start + self._limit]
            if self._fd < 0:
                return
            try:
                position = self._make_room(len(piece) + is_line)
                if self._fd < 0:
                    return
                if is_line and not start and position and not self._is_line_end(position):
                    piece = b"\n" + piece
                self._note_time(position, level)
                self._end = position + os.write(self._fd, piece)
                self._ends_line = piece.endswith(b"\n")
            except OSError as error:
                self._fail(error)
                self.close()

    def _make_room(self, length: int) -> int:
        """Rotates the log if `length` bytes do not fit. Returns the position at which the next byte will be written."""
        rotations = 0
        while self._fd >= 0:
            position = os.lseek(self._fd, 0, os.SEEK_END)
            if not position or rotations == 2 or position + self._times_size + length <= self._limit:
                return position
            self._rotate()
            rotations += 1  # the file that is now at the path may be another host's, and full as well
        return 0

    def _is_line_end(self, position: int) -> bool:
        """Whether the byte before this position, which may be another host's, ends a line."""
        return self._ends_line if position == self._end else os.pread(self._fd, 1, position - 1) == b"\n"

    def _note_time(self, position: int, level: str) -> None:
        """Writes an entry for the next bytes at this position, unless the last entry holds for them. The entry comes
        before the line, so that a reader of the line finds its time."""
        now = self._clock()
        then, last_level = self._entry
        if position == self._end and level == last_level and 0.0 <= now - then < RESOLUTION_S:
            return
        if self._times_fd < 0:
            return
        unknown = b"" if self._unknown_from is None else entry(self._unknown_from, 0, LETTERS[UNKNOWN])
        try:
            written = unknown + entry(position, int(now * 1000), LETTERS[level], os.getpid())
            self._times_size += os.write(self._times_fd, written)
        except OSError:
            if self._unknown_from is None:
                self._unknown_from = position
        else:
            self._entry = (now, level)
            self._unknown_from = None

    def _rotate(self) -> None:
        """Renames the files and opens new ones. Another host may have rotated the shared file already: then our
        descriptor is not the file at the path, and nothing is renamed."""
        try:
            ours = os.path.samestat(os.fstat(self._fd), os.stat(self.path))
        except OSError:
            ours = False
        self.close()
        if ours:
            with suppress(OSError):  # the folder cannot be written
                rotate(self.path, LOGS_KEPT)
                rotate(self.path.with_name(times_name(self.path.name)), LOGS_KEPT)
        self._open()

    def _close_times(self) -> None:
        self._times_size = 0
        if self._times_fd >= 0:
            os.close(self._times_fd)
            self._times_fd = -1

    def close(self) -> None:
        self._close_times()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _open_file(path: Path, flags: int = 0) -> int:
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | flags, 0o600)


def _value(raw: msgspec.Raw) -> str:
    """Returns a string without white space and quotes as it is, other values as JSON. Does not decode a value that is
    too long for a line: it will be cut."""
    text = bytes(raw)
    try:
        value = msgspec.json.decode(text if len(text) <= FRAME_LINE_LIMIT else b"")
    except UNREADABLE:
        return text[: 4 * FRAME_LINE_LIMIT].decode("utf-8", "replace")
    if isinstance(value, str) and value and not _BREAKS.search(value) and '"' not in value:
        return value
    return msgspec.json.encode(value).decode()
