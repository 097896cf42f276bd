"""Reads the end of a log, even during a rotation. `NAME.log` is the newest file; `NAME.log.1`, `.2` … are older."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

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


def rotation(path: Path) -> list[Path]:
    """The existing files of a log, oldest first."""
    prefix = path.name + "."
    try:
        names = os.listdir(path.parent)
    except OSError:
        return []
    ends = (name.removeprefix(prefix) for name in names if name.startswith(prefix))
    older = sorted((int(end) for end in ends if end.isdecimal()), reverse=True)
    return [path.with_name(f"{prefix}{number}") for number in older] + ([path] if path.name in names else [])


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
            opened = file.open("rb")
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
        opened = file.open("rb")
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
    """Reads the bytes that are added to a log from now on, also across rotations."""

    def __init__(self, path: Path) -> None:
        self.lost = 0
        """How many times a rotation deleted lines before they were read."""
        self._path = path
        self._fd = -1
        self._open_newest(at_end=True)

    @property
    def position(self) -> int:
        """The read position in the newest file."""
        return os.lseek(self._fd, 0, os.SEEK_CUR) if self._fd >= 0 else 0

    def read(self) -> list[Piece]:
        """The bytes that were added since the last call."""
        if self._fd < 0:
            self._open_newest(at_end=False)
            if self._fd < 0:
                return []
        pieces = [*self._rest()]
        while (newer := self._newer()) is not None:
            pieces += self._rest()  # written between the read above and the rotation
            self._open(newer)
            pieces += self._rest()
        return pieces

    def _rest(self) -> Iterator[Piece]:
        found = os.fstat(self._fd)
        position = os.lseek(self._fd, 0, os.SEEK_CUR)
        if found.st_size < position:
            position = os.lseek(self._fd, 0, os.SEEK_SET)  # the file was truncated
        while data := os.read(self._fd, 1 << 20):
            yield Piece(found.st_ino, position, data)
            position += len(data)

    def _newer(self) -> Path | None:
        """The file that follows the open file; None if the open file is the newest."""
        own = _id(os.fstat(self._fd))
        files = rotation(self._path)
        ids: list[FileId | None] = []
        for file in files:
            try:
                ids.append(_id(file.stat()))
            except OSError:
                ids.append(None)  # rotated at this moment: the next pass finds it
        if own in ids:
            index = ids.index(own)
            return files[index + 1] if index + 1 < len(files) else None
        if None in ids or not files:
            return None
        self.lost += 1
        return files[0]

    def _open_newest(self, *, at_end: bool) -> None:
        try:
            self._open(self._path)
        except FileNotFoundError:
            return
        if at_end:
            os.lseek(self._fd, 0, os.SEEK_END)

    def _open(self, path: Path) -> None:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            if self._fd < 0:
                raise
            return
        self.close()
        self._fd = fd

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _id(found: os.stat_result) -> FileId:
    return FileId(found.st_dev, found.st_ino)
