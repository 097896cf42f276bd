"""Reads the end of a log, even during a rotation. `NAME.log` is the newest file; `NAME.log.1`, `.2` … are older."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, NamedTuple

from supervisor.home.safe_files import open_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BLOCK = 64 * 1024


class Piece(NamedTuple):
    """Bytes of one file of a log."""

    inode: int
    """The file's inode, which stays the same when the file is renamed."""
    position: int
    """Position of the first byte in the file."""
    data: bytes


class FileId(NamedTuple):
    device: int
    inode: int


def open_log(path: Path) -> IO[bytes]:
    """Opens a file of a log. Raises `OSError`, also for a named pipe or a device, on which a read would wait."""
    return open(open_regular(path), "rb")


def rotation(path: Path) -> list[Path]:
    """The existing files of a log, oldest first. Asks for each by its name: the folder may have thousands of logs. A
    rotation leaves out one number at a time, so two missing ones in a row are the end."""
    found = [path] if os.path.lexists(path) else []
    number = last = 0
    while number < last + 2:
        number += 1
        older = path.with_name(f"{path.name}.{number}")
        if os.path.lexists(older):
            found.append(older)
            last = number
    return found[::-1]


def tail(path: Path, count: int, end: int | None = None) -> list[Piece]:
    """The last `count` lines of all files together, in order; a line that a rotation has cut goes on in the next piece.
    The newest file is read up to the position `end`, by default to its end. Raises `OSError`."""
    if count <= 0:
        return []
    pieces: list[Piece] = []
    breaks = 0
    for file in reversed(rotation(path)):
        for piece in _backwards(file, end if file == path else None):
            # The very last byte ends a line; it does not begin another.
            found = piece.data.count(b"\n") - (not pieces and piece.data.endswith(b"\n"))
            breaks += found
            pieces.append(piece)
            if breaks >= count:
                start = 0
                for _ in range(breaks - count + 1):
                    start = piece.data.index(b"\n", start) + 1
                pieces[-1] = Piece(piece.inode, piece.position + start, piece.data[start:])
                return pieces[::-1]
    return pieces[::-1]


def all_since(path: Path, first: Callable[[int], int | None], end: int | None = None) -> Iterator[Piece]:
    """The rest of each file, from the position that `first` gives for the file's inode; nothing of a file for which it
    gives None. The oldest comes first; the newest is read up to the position `end`. Raises `OSError`."""
    for file in rotation(path):
        try:
            opened = open_log(file)
        except FileNotFoundError:
            continue  # deleted by a rotation
        with opened:
            inode = os.fstat(opened.fileno()).st_ino
            position = first(inode)
            if position is None:
                continue
            opened.seek(position)
            last = end if file == path and end is not None else sys.maxsize
            while data := opened.read(min(BLOCK, max(0, last - position))):
                yield Piece(inode, position, data)
                position += len(data)


def _backwards(file: Path, end: int | None) -> Iterator[Piece]:
    """The blocks of a file, the last one first."""
    try:
        opened = open_log(file)
    except FileNotFoundError:
        return  # deleted by a rotation
    with opened:
        inode = os.fstat(opened.fileno()).st_ino
        left = opened.seek(0, os.SEEK_END) if end is None else end
        while left > 0:
            start = max(0, left - BLOCK)
            opened.seek(start)
            yield Piece(inode, start, opened.read(left - start))
            left = start


class Follower:
    """Reads the bytes that are added to a log from now on, also across rotations.

    With `holds` it keeps the file open that it has read last: else, once that file is deleted, a new one may get its
    inode and be taken for it. Thousands of logs can be followed only without. Without `at_end`, what the log has
    already counts as added.
    """

    def __init__(self, path: Path, *, at_end: bool = True, holds: bool = True) -> None:
        self.lost = 0
        """How many times a rotation deleted lines before they were read."""
        self._path = path
        self._own: FileId | None = None
        """The file that was read last; None before the log exists."""
        self._position = 0
        self._holds = holds
        self._held = -1
        """A descriptor of `_own`."""
        if at_end:
            with ExitStack() as opened:
                for file, fd in _open_all(path, opened).items():
                    self._own, self._position = file, os.fstat(fd).st_size
                if self._own is not None:
                    self._hold(fd)

    @property
    def position(self) -> int:
        """The read position in the file that was read last."""
        return self._position

    def read(self) -> list[Piece]:
        """The bytes that were added since the last call. Raises `OSError`."""
        try:
            newest = self._path.stat()
        except FileNotFoundError:  # just being rotated, or there is none
            if self._own is None:
                return []
        else:
            if _id(newest) == self._own and newest.st_size == self._position:
                return []
        pieces: list[Piece] = []
        with ExitStack() as opened:
            files = _open_all(self._path, opened)
            if self._own is not None and self._own not in files:
                self.lost += bool(files)
                self._own = None
            for file, fd in files.items():
                if self._own in (None, file):
                    pieces += self._rest(file, fd)
                    self._own = None  # the files after it are read from their beginning
            if files:
                self._own = file
                self._hold(fd)
        return pieces

    def _hold(self, fd: int) -> None:
        if self._holds:
            self.close()
            self._held = os.dup(fd)

    def close(self) -> None:
        if self._held >= 0:
            os.close(self._held)
            self._held = -1

    def _rest(self, file: FileId, fd: int) -> Iterator[Piece]:
        if file != self._own or os.fstat(fd).st_size < self._position:  # another file, or it was truncated
            self._position = 0
        os.lseek(fd, self._position, os.SEEK_SET)
        while data := os.read(fd, 1 << 20):
            yield Piece(file.inode, self._position, data)
            self._position += len(data)


def _open_all(path: Path, opened: ExitStack) -> dict[FileId, int]:
    """The descriptors of all files of a log, the oldest file first. They are opened in the other order: a rotation
    meanwhile shows a file twice, and hides none."""
    found: dict[FileId, int] = {}
    for file in reversed(rotation(path)):
        try:
            fd = open_regular(file)
        except FileNotFoundError:
            continue  # deleted by a rotation
        opened.callback(os.close, fd)
        found.setdefault(_id(os.fstat(fd)), fd)
    return dict(reversed(found.items()))


def _id(found: os.stat_result) -> FileId:
    return FileId(found.st_dev, found.st_ino)
