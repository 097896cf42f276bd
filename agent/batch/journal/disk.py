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


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Makes a folder with this mode less the umask, and those above it that are missing, each safe on the disk. Raises
    `OSError`."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    try:
        folder.mkdir(mode)
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
def replacing(path: Path, mode: int = 0o600, *, is_durable: bool = True) -> Iterator[IO[bytes]]:
    """A file that takes the place of `path` when the block ends, whole, and safe if it `is_durable`; if the block
    raises, `path` stays as it is. Its mode is this one less the umask. Raises `OSError`."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)  # O_EXCL: a link or a pipe of that name is not written to
    try:
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
            yield file
            file.flush()
            if is_durable:
                sync(file.fileno())
        os.replace(new, path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    if is_durable:
        sync_folder(path.parent)
