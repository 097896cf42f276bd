"""Reads the lines of a session file, also blank, damaged and too long ones, and a torn last line.

A killed run or a full disk can leave a *torn line*: the last one, without its LF. It counts if it is a whole row, else
it is `Unreadable` like a damaged line in the middle. Readers leave out unreadable lines and name the first ones; a
copy leaves out a torn line silently, since another run may be writing it just now. The next write to the file begins
with an LF (`ends_in_line`), so that a torn line damages no other.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

import msgspec

from agent.sessions.rows import Row, Unreadable, read_row

if TYPE_CHECKING:
    from collections.abc import Iterator

LINE_LIMIT = 128 * 1024 * 1024
"""Maximum of a line in bytes; longer ones are left out. Rows of zot and of this program are shorter."""
CHUNK = 1 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""Some editors put it before the first line."""
_TOO_LONG = Unreadable("longer than a line may be")


class Line(msgspec.Struct, frozen=True, gc=False):
    """A line that is not blank, and its place: `size` bytes from `start`, the LF included."""

    number: int
    """Counted from 1; blank lines count."""
    start: int
    size: int
    text: bytes | None
    """Without the LF; None if longer than `LINE_LIMIT`."""
    is_torn: bool
    """Whether the LF is missing."""

    @property
    def row(self) -> Row:
        """The line as a row."""
        return _TOO_LONG if self.text is None else read_row(self.text)


class Lines:
    """Reads the lines of a file once, from the position of its descriptor."""

    def __init__(self, fd: int, limit: int | None = None) -> None:
        """Reads at most `limit` bytes. Raises `OSError` if it is no regular file."""
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a file")
        self._fd = fd
        self._limit = limit
        self.size = 0
        """Bytes that were read."""
        self.ends_in_line = True
        """Whether the last line had its LF; valid after reading."""

    def __iter__(self) -> Iterator[Line]:
        start = 0
        for number, (whole, size) in enumerate(self._texts(), 1):
            mark = len(BYTE_ORDER_MARK) if number == 1 and whole and whole.startswith(BYTE_ORDER_MARK) else 0
            text = None if whole is None else whole[mark:]
            if text is None or text.strip():
                yield Line(number, start + mark, size - mark, text, not self.ends_in_line)
            start += size

    def _texts(self) -> Iterator[tuple[bytes | None, int]]:
        """The text of each line, and its size in the file in bytes."""
        parts: list[bytes] = []
        size = 0
        while chunk := self._read():
            *whole, rest = chunk.split(b"\n")
            for end in whole:
                size += len(end)
                yield b"".join([*parts, end]) if size <= LINE_LIMIT else None, size + 1
                parts, size = [], 0
            size += len(rest)
            if size <= LINE_LIMIT:
                parts.append(rest)
            else:
                parts = []
        self.ends_in_line = not size
        if size:
            yield b"".join(parts) if size <= LINE_LIMIT else None, size

    def _read(self) -> bytes:
        left = CHUNK if self._limit is None else min(CHUNK, self._limit - self.size)
        chunk = os.read(self._fd, left)
        self.size += len(chunk)
        return chunk
