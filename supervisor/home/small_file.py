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


def read_file(path: Path) -> bytes:
    """Reads a regular file of at most `LIMIT` bytes. Raises `OSError` for a larger file, and for a device or a FIFO: a
    stranger may have put it there, and a read of it could block or never end."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(mode := os.fstat(fd).st_mode):
            number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
            raise OSError(number, os.strerror(number) if number == errno.EISDIR else "Not a file", str(path))
        chunks = []
        while chunk := os.read(fd, CHUNK):
            chunks.append(chunk)
            if len(chunks) * CHUNK > LIMIT and sum(map(len, chunks)) > LIMIT:
                raise OSError(errno.EFBIG, f"Larger than {LIMIT >> 20} MiB", str(path))
        return b"".join(chunks)
    finally:
        os.close(fd)


def replace_file(path: Path, text: bytes, mode: int) -> None:
    """Writes a file so that at every moment either the old or the new content is there, whole. The next writer
    overwrites the temporary file of a killed writer. Raises `OSError`. For files of the user's, whose owner, links and
    attributes must stay, there is `agent.tools.files.atomic`, in a worker that imports nothing of this package."""
    new = path.with_name(f".{path.name.removeprefix('.')}.new")
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            left = memoryview(text)
            while left:
                left = left[os.write(fd, left) :]
            os.fchmod(fd, mode)
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(new, path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
