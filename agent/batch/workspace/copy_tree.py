"""Copies the files, folders and links of a tree. Files share their blocks with the original where the file system can
do that, and keep their holes; modes and times stay."""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent.batch.workspace.tree import Skipped, Tree, TreeEntry

FREE_KEPT = 256 * 1024 * 1024
"""Bytes of the disk that a copy leaves free."""
FICLONE = 0x40049409
"""The request to Linux to let two files share their blocks."""
CHUNK = 8 * 1024 * 1024
"""Bytes."""
KEPT_MODE = 0o777
"""Bits of the mode that a copy keeps: it never runs with another user's rights."""


class SpaceError(OSError):
    """The disk has too little space for the copy."""


def copy_tree(tree: Tree, source: str, target: str) -> Skipped:
    """Copies the scanned entries of `source` into the new folder `target`. Returns those skipped. Raises `OSError`."""
    skipped: Skipped = {}
    os.mkdir(target, 0o700)
    files = _Files(target, sum(entry.disk for entry in tree.entries if entry.is_file))
    for entry in tree.entries:
        there, here = os.path.join(source, entry.path), os.path.join(target, entry.path)
        try:
            if entry.is_folder:
                os.mkdir(here, 0o700)
            elif entry.is_file:
                files.copy(there, here, entry)
            else:
                os.symlink(entry.target, here)
                _keep_times(here, entry)
        except OSError as error:
            if not isinstance(error, SpaceError) and error.errno in (errno.ENOENT, errno.EACCES, errno.ELOOP):
                skipped[entry.path] = error.strerror or "cannot be copied"
                continue
            raise
    _finish_folders(target, reversed([entry for entry in tree.entries if entry.is_folder]))
    return skipped


def _finish_folders(target: str, folders: Iterable[TreeEntry]) -> None:
    """Modes and times, the inner folders first: a folder may be one that nothing can be put into."""
    for folder in folders:
        here = os.path.join(target, folder.path)
        with suppress(FileNotFoundError):
            os.chmod(here, folder.mode & KEPT_MODE)
            _keep_times(here, folder)


def _keep_times(path: str, entry: TreeEntry) -> None:
    os.utime(path, ns=(entry.mtime_ns, entry.mtime_ns), follow_symlinks=False)


class _Files:
    """Copies one file after another, and asks for space once: before the first one that takes any."""

    def __init__(self, target: str, disk: int) -> None:
        self._target = target
        self._disk = disk
        self._can_clone = sys.platform == "linux"
        self._has_space = False

    def copy(self, there: str, here: str, entry: TreeEntry) -> None:
        source = os.open(there, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(source).st_mode):
                raise OSError(errno.ENOENT, "it is no longer a file")
            new = os.open(here, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                if entry.size and not self._clone(source, new):
                    self._check_space()
                    _copy_data(source, new)
                os.fchmod(new, entry.mode & KEPT_MODE)
            finally:
                os.close(new)
        finally:
            os.close(source)
        _keep_times(here, entry)

    def _clone(self, source: int, new: int) -> bool:
        if not self._can_clone:
            return False
        import fcntl

        try:
            fcntl.ioctl(new, FICLONE, source)
        except OSError as error:
            # Another file of the tree may lie elsewhere: only the file system's own answer holds for all.
            self._can_clone = error.errno not in (errno.EOPNOTSUPP, errno.ENOTTY, errno.ENOSYS)
            return False
        return True

    def _check_space(self) -> None:
        if self._has_space:
            return
        disk = os.statvfs(self._target)
        free = disk.f_bavail * disk.f_frsize
        if self._disk + FREE_KEPT > free:
            raise SpaceError(
                errno.ENOSPC,
                f"it takes {_mib(self._disk)} and {_mib(free)} are free, of which {_mib(FREE_KEPT)} stay free",
            )
        self._has_space = True


def _copy_data(source: int, new: int) -> None:
    """Without what is a hole in the source."""
    size = os.fstat(source).st_size
    at = 0
    while at < size:
        try:
            at = os.lseek(source, at, os.SEEK_DATA)
            end = os.lseek(source, at, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.ENXIO:  # only a hole is left
                break
            end = size
        while at < end:
            copied = _copy_part(source, new, at, min(CHUNK, end - at))
            if not copied:  # it has become shorter meanwhile
                end = size = at
                break
            at += copied
    os.ftruncate(new, size)


def _copy_part(source: int, new: int, at: int, count: int) -> int:
    """The number of bytes that were copied; 0 at the end of the source."""
    if hasattr(os, "copy_file_range"):
        try:
            return os.copy_file_range(source, new, count, at, at)
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM):
                raise
    data = os.pread(source, count, at)
    left, to = memoryview(data), at
    while left:
        written = os.pwrite(new, left, to)
        left, to = left[written:], to + written
    return len(data)


def _mib(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB"
