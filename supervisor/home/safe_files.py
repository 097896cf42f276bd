"""Opens, reads, replaces and rotates files. Never waits for a stranger's pipe or device. Readers of a file that is
replaced find the whole old or the whole new content.

`agent.tools.files.user_file` is for files of the user's, whose owner, links and attributes must stay: it is in a worker
that imports nothing of this package.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import time
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIMIT = 16 * 2**20
"""Maximum size of a file in bytes. A manifest has hundreds; the record of an installation a hundred for each file."""
POLL_S = 0.01
"""Seconds between two attempts to take a lock."""
CHUNK = 1 << 20
"""Bytes of one read."""
OPEN_SAFELY = os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Flags with which an open never waits for a pipe, and no terminal becomes that of the process."""
SPECIAL = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFBLK: "a device", stat.S_IFCHR: "a device"}
"""The kinds of files that are neither regular nor folders nor links, in words."""
_FULL_SYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)
"""The request for macOS, where `fsync` leaves the bytes in the memory of the drive."""


# --- reading ------------------------------------------------------------------------------------------------


def open_regular(path: Path | str, flags: int = os.O_RDONLY) -> int:
    """A descriptor of a regular file; with `os.O_NOFOLLOW` in `flags` the path may not be a link. Raises `OSError`."""
    fd = os.open(path, flags | OPEN_SAFELY)
    if stat.S_ISREG(mode := os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
    raise OSError(number, os.strerror(number) if number == errno.EISDIR else "Not a file", str(path))


def read_file(path: Path, limit: int = LIMIT) -> bytes:
    """Reads a regular file of at most `limit` bytes. Raises `OSError` for a larger file, and for a device or a FIFO: a
    stranger may have put it there, and a read of it could block or never end."""
    fd = open_regular(path)
    try:
        chunks, size = [], 0
        while chunk := os.read(fd, CHUNK):
            chunks.append(chunk)
            size += len(chunk)
            if size > limit:
                shown = f"{limit >> 20} MiB" if limit >> 20 else f"{limit >> 10} KiB"
                raise OSError(errno.EFBIG, f"Larger than {shown}", str(path))
        return b"".join(chunks)
    finally:
        os.close(fd)


def read_start(path: Path | str, length: int) -> bytes:
    """The first `length` bytes of a regular file, or all if it has fewer. Raises `OSError`, as `read_file` does."""
    fd = open_regular(path)
    try:
        start = b""
        while len(start) < length and (chunk := os.read(fd, length - len(start))):
            start += chunk
        return start
    finally:
        os.close(fd)


# --- writing ------------------------------------------------------------------------------------------------


def sync(fd: int) -> None:
    """Brings the content of a file to the disk, and its size. Raises `OSError`."""
    if _FULL_SYNC is None:
        os.fdatasync(fd)
        return
    try:
        fcntl.fcntl(fd, _FULL_SYNC)
    except OSError:  # a file system that has no such call
        os.fsync(fd)


def sync_folder(folder: Path | str) -> None:
    """Brings new names in a folder to the disk. Some file systems refuse that for folders, and do not need it."""
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
    """Makes a folder with this mode less the umask, and missing parents, each safely on disk. Raises `OSError`."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    try:
        folder.mkdir(mode)
    except FileExistsError:
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from None
    sync_folder(folder.parent)


def write_all(fd: int, text: bytes | memoryview) -> None:
    """Writes all bytes: if a file system is almost full, one call writes only a part. Raises `OSError`."""
    left = memoryview(text)
    while left:
        left = left[os.write(fd, left) :]


@contextmanager
def replacement(
    path: Path, mode: int = 0o600, *, is_durable: bool = True, sibling: Path | None = None
) -> Iterator[IO[bytes]]:
    """A file that replaces `path` in one step when the block ends, and is then on the disk if it `is_durable`; if the
    block raises, `path` stays as it is. Its mode is `mode` less the umask. It is written as `sibling`, by default a
    name that the next writer uses again if this one is killed. Raises `OSError`."""
    new = sibling or path.with_name(f".{path.name.removeprefix('.')}.new")
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


def replace_file(path: Path, text: bytes, mode: int, *, durable: bool = True) -> None:
    """Replaces the content of a file, and gives it exactly this mode. Without `durable` it does not wait for the disk,
    and the file may be empty after a loss of power. Raises `OSError`."""
    with replacement(path, is_durable=durable) as file:
        os.fchmod(file.fileno(), mode)
        file.write(text)


@contextmanager
def locked(path: Path, within_s: float, mode: int = 0o600) -> Iterator[None]:
    """Holds the lock `PATH.lock` for the block: our programs that change the file take turns. Raises `TimeoutError` if
    another one holds it for `within_s` seconds, and `OSError`."""
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)
    try:
        if not take_lock(lock, within_s):
            raise TimeoutError(errno.ETIMEDOUT, f"another program has held {path.name}.lock for {within_s:g} s")
        yield
    finally:
        os.close(lock)


def take_lock(fd: int, within_s: float) -> bool:
    """Takes the lock of an open file or folder; the close of `fd` gives it back. Returns False if another program has
    held it for `within_s` seconds."""
    deadline = time.monotonic() + within_s
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_S)
        else:
            return True


# --- rotating -----------------------------------------------------------------------------------------------


def parts(path: Path, count: int) -> list[Path]:
    """The names of a file in `count` parts, the newest first: FILE, FILE.1, FILE.2 …"""
    return [path, *(path.with_name(f"{path.name}.{number}") for number in range(1, count))]


def rotate(path: Path, count: int) -> None:
    """Renames each part to the next name; the oldest goes, and `path` is free. Raises `OSError`."""
    names = parts(path, count)
    for older, newer in zip(reversed(names[1:]), reversed(names[:-1]), strict=True):
        with suppress(FileNotFoundError):
            os.replace(newer, older)


STAGING = re.compile(r"\..+\.[0-9a-f]{8}\.(?P<kind>new|old|gone)", re.DOTALL)


def is_staging(name: str) -> bool:
    """Whether this name is the name of a staging folder, and not of an extension."""
    return STAGING.fullmatch(name) is not None
