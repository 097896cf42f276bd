"""Reads and replaces small files as a whole: manifests, and zot's own records."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


LIMIT = 16 * 2**20
"""Bytes. A manifest has hundreds of bytes; the record of an installation has a hundred for each installed file."""
CHUNK = 1 << 20
"""Bytes."""


def read_file(path: Path, limit: int = LIMIT) -> bytes:
    """Reads a regular file of at most `limit` bytes. Raises `OSError` for a larger file, and for a device or a FIFO: a
    stranger may have put it there, and a read of it could block or never end."""
    fd = _open(path)
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


def read_start(path: Path, length: int) -> bytes:
    """The first `length` bytes of a regular file, or all if it has fewer. Raises `OSError`, as `read_file` does."""
    fd = _open(path)
    try:
        start = b""
        while len(start) < length and (chunk := os.read(fd, length - len(start))):
            start += chunk
        return start
    finally:
        os.close(fd)


def _open(path: Path) -> int:
    """A descriptor of a regular file."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    if stat.S_ISREG(mode := os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
    raise OSError(number, os.strerror(number) if number == errno.EISDIR else "Not a file", str(path))


def replace_file(path: Path, text: bytes, mode: int, *, durable: bool = True) -> None:
    """Writes a file so that at every moment either the old or the new content is there, whole. The next writer
    overwrites the temporary file of a killed writer. A file that is not `durable` does not wait for the disk, and may
    be empty after a loss of power. Raises `OSError`. For files of the user's, whose owner, links and
    attributes must stay, there is `agent.tools.files.atomic`, in a worker that imports nothing of this package."""
    new = path.with_name(f".{path.name.removeprefix('.')}.new")
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            left = memoryview(text)
            while left:
                left = left[os.write(fd, left) :]
            os.fchmod(fd, mode)
            if durable:
                os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(new, path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
