"""Reads and writes small files whole: manifests, and those in which zot keeps what it knows."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


LIMIT = 16 * 2**20
"""Bytes. A manifest has hundreds, the record of an installation a hundred for each file."""
PIECE = 1 << 20


def read_file(path: Path) -> bytes:
    """For what a stranger may have put there: a device, a FIFO or a link to one is not waited for, nor read for ever.
    Raises `OSError`."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(mode := os.fstat(fd).st_mode):
            number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
            raise OSError(number, os.strerror(number) if number == errno.EISDIR else "Not a file", str(path))
        pieces = []
        while piece := os.read(fd, PIECE):
            pieces.append(piece)
            if len(pieces) * PIECE > LIMIT and sum(map(len, pieces)) > LIMIT:
                raise OSError(errno.EFBIG, f"Larger than {LIMIT >> 20} MiB", str(path))
        return b"".join(pieces)
    finally:
        os.close(fd)


def replace_file(path: Path, text: bytes, mode: int) -> None:
    """Writes a file so that at every moment either the old or the new one is there, whole. What a killed writer has
    left is overwritten by the next one. Raises `OSError`."""
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
