"""Staging folders: hidden folders beside the installed extensions, for changes that must happen in one step.

`.NAME.RANDOM.new` holds an extension that is being made, and `.NAME.RANDOM.gone` one that is being deleted.
`.NAME.RANDOM.old` holds one that is being replaced, if the kernel cannot swap two folders. The extension is in a
subfolder, so a staging folder is never taken for an extension. The process that made the folder holds a lock on it
(`flock`; the kernel releases the lock when the process ends). A staging folder without a lock was left by a killed
process.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import secrets
import stat
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from supervisor.home.delete_tree import delete
from supervisor.home.safe_files import STAGING, is_staging, sync, sync_folder
from supervisor.install.errors import InstallError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Self

LOCK_S = 10.0
"""Seconds to wait for another command."""
POLL_S = 0.02
LABEL_BYTES = 150
"""Maximum of bytes of the extension's name in the name of a staging folder."""


@contextmanager
def lock_folder(
    parent: Path, patience_s: float = LOCK_S, clock: Callable[[], float] = time.monotonic
) -> Iterator[None]:
    """Locks a folder of extensions against other commands. Hold it briefly, never during a fetch. Raises `InstallError`
    after `patience_s` seconds."""
    fd = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        deadline = clock() + patience_s
        while not _lock(fd):
            if clock() >= deadline:
                raise InstallError(f"another zot ext is changing {parent}; try again when it has finished")
            time.sleep(POLL_S)
        yield
    finally:
        os.close(fd)


def _lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks: even there only one of two renames succeeds
    return True


class StagingFolder:
    """Makes a staging folder in `parent`. On exit deletes it with its content. `tree` is the extension's subfolder."""

    def __init__(self, parent: Path, label: str, kind: str = "new") -> None:
        """The parent must be locked. Else another command's `sweep` could delete the folder before it is locked."""
        short = label.encode()[:LABEL_BYTES].decode("utf-8", "ignore")
        self.folder = parent / f".{short}.{secrets.token_hex(4)}.{kind}"
        self.folder.mkdir(mode=0o700)
        self._fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        _lock(self._fd)
        self.tree = self.folder / "tree"
        self.warnings: list[str] = []
        """After the end, a line for each file that could not be deleted, with the reason."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if left := delete(self.folder):
            self.warnings.append(f"some of it cannot be deleted: {left}; each later zot ext tries again")
        os.close(self._fd)

    def flush(self) -> None:
        """Returns when the folder's content is on the disk. Raises `OSError`."""
        if sys.platform == "linux":
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.syncfs(self._fd) == 0:  # one call, even for the ten thousand files of a node_modules
                return
            if ctypes.get_errno() in (errno.EIO, errno.ENOSPC, errno.EDQUOT):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        for above, _, names in os.walk(self.folder):
            for name in names:
                if not os.path.islink(path := os.path.join(above, name)):
                    with open(path, "rb") as file:
                        sync(file.fileno())
            sync_folder(above)


def place(tree: Path, target: Path) -> None:
    """Moves a tree to a path that does not exist. Raises `FileExistsError` if the path exists."""
    if os.path.lexists(target):
        raise FileExistsError(target)
    try:
        os.rename(tree, target)  # fails if somebody has put a folder there meanwhile, because that folder is not empty
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise FileExistsError(target) from None
        raise
    sync_folder(target.parent)


def swap(tree: Path, target: Path, *, in_one_step: bool = True) -> None:
    """Replaces the folder `target` by a tree, and deletes the old folder. The parent must be locked. If the process
    dies, one of the two is at the target, or the next `sweep` puts it back. Raises `OSError`."""
    open_up(target)
    if in_one_step and _exchange(tree, target):
        sync_folder(target.parent)
        return  # the old folder is now in the stage, which deletes it
    with StagingFolder(target.parent, target.name, "old") as old:
        aside = old.folder / target.name
        try:
            os.rename(target, aside)
            sync_folder(target.parent)
            os.rename(tree, target)
        except BaseException:
            if not os.path.lexists(target):
                os.rename(aside, target)
            raise
        sync_folder(target.parent)
        old.folder = _renamed_to_gone(old.folder)


def take_away(target: Path) -> list[str]:
    """Deletes a folder. Renames it first, so that its place never has a part of it. Returns a warning if a part could
    not be deleted; each later `sweep` tries again. The parent must be locked. Raises `OSError`."""
    open_up(target)
    with StagingFolder(target.parent, target.name, "gone") as gone:
        try:
            os.rename(target, gone.tree)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            if left := delete(target):  # overlay file systems (containers) cannot rename folders of lower layers
                raise OSError(errno.EIO, left, str(target)) from None
        sync_folder(target.parent)
    return gone.warnings


def open_up(path: Path) -> None:
    """Gives the user all rights to the user's own file or folder. Only root can move a folder that is not writable."""
    with suppress(OSError, ValueError):
        mode = os.lstat(path).st_mode
        needed = 0o700 if stat.S_ISDIR(mode) else 0o600
        if not stat.S_ISLNK(mode) and mode & needed != needed:
            os.chmod(path, stat.S_IMODE(mode) | needed)


def sweep(parent: Path) -> list[str]:
    """Deletes the remains of killed commands, and puts back the folders that they were replacing. Does nothing while
    another command holds the lock. Returns a line for each folder that stays, with the reason: the next sweep tries
    again. Raises nothing."""
    stays = []
    try:
        if not any(is_staging(name) for name in os.listdir(parent)):
            return []
        with lock_folder(parent, patience_s=0.0):
            for name in os.listdir(parent):
                if (kind := STAGING.fullmatch(name)) is None:
                    continue
                try:
                    left = _settle(parent / name, kind["kind"])
                except OSError as error:
                    left = f"{parent / name}: {error.strerror}"
                if left:
                    stays.append(f"what an earlier command has left cannot be deleted: {left}")
    except (OSError, InstallError):
        pass
    return stays


def _settle(left: Path, kind: str) -> str:
    open_up(left)
    try:
        fd = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""  # its command has just finished
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return ""
        if kind == "old":
            for name in os.listdir(left):
                if not os.path.lexists(left.parent / name):
                    os.rename(left / name, left.parent / name)
            left = _renamed_to_gone(left)  # a half deleted folder must not be put back
        return delete(left)
    finally:
        os.close(fd)


def _renamed_to_gone(old: Path) -> Path:
    gone = old.with_name(old.name.removesuffix("old") + "gone")
    os.rename(old, gone)
    return gone


def _exchange(folder: Path, other: Path) -> bool:
    """Swaps two folders in one step. Returns False if the kernel or the file system cannot do that. Raises `OSError`
    for other failures."""
    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "linux" and hasattr(libc, "renameat2"):
        at_cwd, rename_exchange = -100, 2
        status = libc.renameat2(at_cwd, os.fsencode(folder), at_cwd, os.fsencode(other), rename_exchange)
    elif sys.platform == "darwin" and hasattr(libc, "renamex_np"):
        rename_swap = 2
        status = libc.renamex_np(os.fsencode(folder), os.fsencode(other), rename_swap)
    else:
        return False
    if status == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM, errno.EXDEV):
        return False
    raise OSError(number, os.strerror(number), str(other))
