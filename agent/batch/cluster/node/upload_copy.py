"""The node's copy of an uploaded folder: `agent.batch.cluster.ray.archive` makes what is unpacked here."""

from __future__ import annotations

import os
import shutil
import tarfile
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

BLOCK = 256 * 1024
"""Bytes of one read."""
KEPT_MODE = 0o777
"""Bits of the mode that a copy keeps: it never runs with another user's rights."""
LAST = "."
"""The entry that ends an archive: the folder itself."""


class UnpackError(Exception):
    """The copy is not whole; the text says why."""


def unpack(fd: int, folder: Path) -> None:
    """Reads the archive from the descriptor to its end, into the empty folder, and closes it. Nothing is written
    outside of the folder, whatever the archive says: links are made last. Raises `UnpackError`."""
    late: list[tarfile.TarInfo] = []
    try:
        with open(fd, "rb") as stream, tarfile.open(fileobj=stream, mode="r|gz", bufsize=BLOCK) as tar:
            for entry in tar:
                if entry.name.startswith("/") or ".." in entry.name.split("/"):
                    raise UnpackError(f"{entry.name!r} is no path in it")
                if entry.name != LAST:
                    _make(tar, entry, folder)
                if not entry.isfile():
                    late.append(entry)
        if not late or late[-1].name != LAST:
            raise UnpackError("it has ended too early")
        for entry in reversed(late):
            _finish(entry, folder / entry.name)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise UnpackError(f"{where}{error.strerror or error}") from None
    except (tarfile.TarError, zlib.error, EOFError, ValueError) as error:
        raise UnpackError(f"it has ended too early, or is no archive ({error})") from None


def _make(tar: tarfile.TarFile, entry: tarfile.TarInfo, folder: Path) -> None:
    """A folder, or a file. Raises `OSError`, also for one that is there already."""
    path = folder / entry.name
    if entry.isdir():
        path.mkdir(0o700)
    elif entry.isfile() and (content := tar.extractfile(entry)) is not None:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
            shutil.copyfileobj(content, file, BLOCK)
            if file.tell() != entry.size:
                raise UnpackError("it has ended too early")
            os.fchmod(file.fileno(), entry.mode & KEPT_MODE)
        os.utime(path, (entry.mtime, entry.mtime))
    elif not entry.issym():
        raise UnpackError(f"{entry.name!r} is neither file, folder nor link")


def _finish(entry: tarfile.TarInfo, path: Path) -> None:
    """A link, or the mode and times of a folder: later entries come first, so inner ones before the outer."""
    if entry.issym():
        os.symlink(entry.linkname, path)
    else:
        path.chmod(entry.mode & KEPT_MODE)
    os.utime(path, (entry.mtime, entry.mtime), follow_symlinks=False)
