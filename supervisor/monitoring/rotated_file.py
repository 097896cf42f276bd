"""A file to append lines to, in a few parts of bounded size: FILE has the newest lines, then FILE.1, FILE.2 …"""

from __future__ import annotations

import fcntl
import os
import stat
from typing import TYPE_CHECKING

from supervisor.home.safe_files import rotate

if TYPE_CHECKING:
    from pathlib import Path


class StatsFileError(OSError):
    """Raised if a file cannot be created; the text names it and says why."""


PARTS = 4
"""Maximum number of files, FILE itself included."""
PART_BYTES = 16 * 2**20
"""Maximum size of one file in bytes, so 64 MiB together."""
LOOKED_AT = 64


class RotatedFile:
    """Appends to the file if it exists. Only one process at a time may write a file. A pipe or a device has no parts.

    Raises `StatsFileError` if the file cannot be opened, is being written by another process, or holds something that
    does not begin with `begins_with`.
    """

    def __init__(self, path: Path, begins_with: bytes) -> None:
        self._path = path
        self._is_regular = False
        self._size = 0
        try:
            self._fd = self._open()
            if self._is_regular:
                self._check(begins_with)
        except OSError as error:
            self.close()
            raise StatsFileError(f"--stats {path}: {error.strerror}") from None

    def _open(self) -> int:
        """Opens the file and locks it. A pipe without a reader does not block this."""
        self._fd = -1
        self._fd = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
        found = os.fstat(self._fd)
        self._is_regular, self._size = stat.S_ISREG(found.st_mode), found.st_size
        if self._is_regular:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise OSError(0, "another host is writing it; choose another file") from None
            except OSError:
                pass  # a file system without locks
        return self._fd

    def _check(self, begins_with: bytes) -> None:
        """Raises `OSError` for a file of another user. Ends a line that a killed process has left unfinished."""
        if self._size and not os.pread(self._fd, LOOKED_AT, 0).startswith(begins_with):
            raise OSError(0, "it holds something else already; choose another file")
        if self._size and os.pread(self._fd, 1, self._size - 1) != b"\n":
            self._size += os.write(self._fd, b"\n")

    def is_full(self, more: int) -> bool:
        """Whether a line of `more` bytes must go into a new part."""
        return self._is_regular and self._size > 0 and self._size + more > PART_BYTES

    def rotate(self) -> None:
        """Renames all parts, drops the oldest and begins a new one. Raises `OSError`: then the file takes no lines."""
        os.close(self._fd)
        self._fd = -1
        rotate(self._path, PARTS)
        self._open()

    @property
    def is_open(self) -> bool:
        return self._fd >= 0

    def append(self, line: bytes) -> None:
        """Raises `OSError`; then the file has nothing of the line. After a short write the next raises the reason."""
        written = 0
        try:
            while written < len(line):
                written += os.write(self._fd, line[written:])
        except OSError:
            self._take_back(written)
            raise
        self._size += written

    def _take_back(self, count: int) -> None:
        """Removes the last `count` bytes: an unfinished line would spoil the next. From a pipe nothing is removed."""
        if count and self._is_regular:
            try:
                os.ftruncate(self._fd, os.fstat(self._fd).st_size - count)
            except OSError:
                pass

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
