"""Reads the end of a log, even during a rotation. `NAME.log` is the newest file; `NAME.log.1`, `.2` … are older."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BLOCK = 64 * 1024


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
    older = sorted(
        (
            int(name.removeprefix(prefix))
            for name in names
            if name.startswith(prefix) and name[len(prefix) :].isdecimal()
        ),
        reverse=True,
    )
    return [path.with_name(f"{prefix}{number}") for number in older] + ([path] if path.name in names else [])


def last_lines(path: Path, count: int, end: int | None = None) -> bytes:
    """The last `count` lines of all files together; a line that a rotation has cut is joined. The newest file is read
    up to the position `end`, by default to its end. Raises `OSError`."""
    if count <= 0:
        return b""
    blocks: list[bytes] = []
    breaks = 0
    for file in reversed(rotation(path)):
        for block in _backwards(file, end if file == path else None):
            # The very last byte ends a line; it does not begin another.
            breaks += block.count(b"\n") - (not blocks and block.endswith(b"\n"))
            blocks.insert(0, block)
            if breaks >= count:
                lines = b"".join(blocks).split(b"\n")
                return b"\n".join(lines[-count - (lines[-1] == b"") :])
    return b"".join(blocks)


def _backwards(file: Path, end: int | None) -> Iterator[bytes]:
    """The blocks of a file, the last one first."""
    try:
        opened = file.open("rb")
    except FileNotFoundError:
        return  # deleted by a rotation
    with opened:
        left = opened.seek(0, os.SEEK_END) if end is None else end
        while left > 0:
            start = max(0, left - BLOCK)
            opened.seek(start)
            yield opened.read(left - start)
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

    def read(self) -> bytes:
        """The bytes that have been added since the last call."""
        if self._fd < 0:
            self._open_newest(at_end=False)
            if self._fd < 0:
                return b""
        data = self._rest()
        while (newer := self._newer()) is not None:
            data += self._rest()  # written between the read above and the rotation
            self._open(newer)
            data += self._rest()
        return data

    def _rest(self) -> bytes:
        if os.fstat(self._fd).st_size < os.lseek(self._fd, 0, os.SEEK_CUR):
            os.lseek(self._fd, 0, os.SEEK_SET)  # the file was truncated
        pieces = []
        while piece := os.read(self._fd, 1 << 20):
            pieces.append(piece)
        return b"".join(pieces)

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
