"""Writes that are safe on the disk when they return."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FULL_SYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)
"""macOS: there `fsync` leaves the bytes in the memory of the drive."""


def sync(fd: int) -> None:
    """Brings the content of a file to the disk, and its size. Raises `OSError`."""
    if _FULL_SYNC is None:
        os.fdatasync(fd)
        return
    try:
        fcntl.fcntl(fd, _FULL_SYNC)
    except OSError:  # a file system that has no such call
        os.fsync(fd)


def sync_folder(folder: Path) -> None:
    """Makes new names in a folder safe. Some file systems refuse that for folders, and need it not."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.fsync(fd)
    except OSError:
        pass
    finally:
        os.close(fd)


def make_folder(folder: Path) -> None:
    """Makes a folder and those above it that are missing, each safe on the disk. Raises `OSError`."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    try:
        folder.mkdir()
    except FileExistsError:
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from None
    sync_folder(folder.parent)


def write_all(fd: int, text: bytes) -> None:
    """Writes all of it: a file system that is almost full takes a part. Raises `OSError`."""
    left = memoryview(text)
    while left:
        left = left[os.write(fd, left) :]


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes the place of `path` when the block ends, whole and safe; if it raises, `path` stays as it is.
    Raises `OSError`."""
    new = path.with_name(f".{path.name}.new")
    try:
        with open(new, "wb") as file:
            yield file
            file.flush()
            sync(file.fileno())
        os.replace(new, path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
