"""Folders beside the installed extensions in which new ones are made and old ones are unmade.

`.NAME.RANDOM.new` holds one that is being made, `.old` one that is being replaced where the kernel cannot swap two
folders, and `.gone` one that is being deleted. The extension is in a folder within it, so that a folder found there is
never taken for an extension. Whoever made it holds a lock on it (`flock`, which the kernel lets go of when the process
ends, however it ends): one without a lock was left by a killed process.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import secrets
import shutil
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from supervisor.discovery.staging_names import STAGING, is_staging
from supervisor.install.errors import InstallError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Any, Self

LOCK_S = 10.0
POLL_S = 0.02
LABEL_BYTES = 150


@contextmanager
def locked(parent: Path, patience_s: float = LOCK_S, clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """Keeps other commands from changing which extensions are there. Held for moments only, never while something is
    fetched. Raises `InstallError` after `patience_s` seconds."""
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
        pass  # a file system without locks: the renames still let only one win
    return True


class Stage:
    """A folder of ours in `parent`, deleted with all in it at the end. `tree` is for the extension."""

    def __init__(self, parent: Path, label: str, kind: str = "new") -> None:
        """The parent must be locked: else another command could take it for one that was left behind."""
        short = label.encode()[:LABEL_BYTES].decode("utf-8", "ignore")
        self.folder = parent / f".{short}.{secrets.token_hex(4)}.{kind}"
        self.folder.mkdir(mode=0o700)
        self._fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        _lock(self._fd)
        self.tree = self.folder / "tree"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        delete(self.folder)
        os.close(self._fd)

    def flush(self) -> None:
        """Returns once all in it is on the disk. Raises `OSError`."""
        if sys.platform == "linux":
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.syncfs(self._fd) == 0:  # one call, where a node_modules has ten thousand files
                return
            if ctypes.get_errno() in (errno.EIO, errno.ENOSPC, errno.EDQUOT):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        for above, _, names in os.walk(self.folder):
            for name in (*names, "."):
                with suppress(FileNotFoundError):  # a link that leads nowhere
                    sync(os.path.join(above, name))


def sync(path: str | Path) -> None:
    """Returns once a file, or which files are in a folder, is on the disk."""
    if os.path.islink(path):
        return
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def place(tree: Path, target: Path) -> None:
    """Moves a tree to where nothing is. Raises `FileExistsError` if something is."""
    if os.path.lexists(target):
        raise FileExistsError(target)
    try:
        os.rename(tree, target)  # one that was put there meanwhile is not empty, and not replaced
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise FileExistsError(target) from None
        raise
    sync(target.parent)


def swap(tree: Path, target: Path, *, in_one_step: bool = True) -> None:
    """Puts a tree in the place of a folder, which is deleted. The parent must be locked. Whatever happens, one of the
    two is at the target, or put back there by the next `sweep`. Raises `OSError`."""
    if in_one_step and _exchange(tree, target):
        sync(target.parent)
        return  # the old one is now in the stage, and goes with it
    with Stage(target.parent, target.name, "old") as old:
        aside = old.folder / target.name
        try:
            os.rename(target, aside)
            sync(target.parent)
            os.rename(tree, target)
        except BaseException:
            if not os.path.lexists(target):
                os.rename(aside, target)
            raise
        sync(target.parent)
        old.folder = _condemned(old.folder)


def take_away(target: Path) -> None:
    """Renames a folder, and then deletes it: at no moment is half of it there. The parent must be locked."""
    with Stage(target.parent, target.name, "gone") as gone:
        try:
            os.rename(target, gone.tree)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            delete(target)  # in the image of a container: overlay file systems do not rename folders of lower layers
        sync(target.parent)


def sweep(parent: Path) -> None:
    """Deletes what killed commands have left, and puts back what they were replacing. Never raises `OSError`: it can
    be done the next time. Does nothing while another command is at work."""
    try:
        if not any(is_staging(name) for name in os.listdir(parent)):
            return
        with locked(parent, patience_s=0.0):
            for name in os.listdir(parent):
                if (kind := STAGING.fullmatch(name)) is not None:
                    with suppress(OSError):
                        _settle(parent / name, kind["kind"])
    except (OSError, InstallError):
        return


def _settle(left: Path, kind: str) -> None:
    fd = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return
        if kind == "old":
            for name in os.listdir(left):
                if not os.path.lexists(left.parent / name):
                    os.rename(left / name, left.parent / name)
            left = _condemned(left)  # half deleted it must not be put back
        delete(left)
    finally:
        os.close(fd)


def _condemned(old: Path) -> Path:
    gone = old.with_name(old.name.removesuffix("old") + "gone")
    os.rename(old, gone)
    return gone


def delete(folder: Path) -> None:
    """Deletes it as far as that is possible; folders that deny it to their owner are opened up."""

    def open_up(_: Any, path: str, __: Any) -> None:
        with suppress(OSError):
            os.chmod(os.path.dirname(path), 0o700)
            if os.path.isdir(path) and not os.path.islink(path):
                os.chmod(path, 0o700)
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)

    shutil.rmtree(folder, onerror=open_up)
    shutil.rmtree(folder, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Swaps two folders in one step; False where kernel or file system cannot. Raises `OSError` for other failures."""
    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "linux" and hasattr(libc, "renameat2"):
        at_cwd, rename_exchange = -100, 2
        status = libc.renameat2(at_cwd, os.fsencode(one), at_cwd, os.fsencode(other), rename_exchange)
    elif sys.platform == "darwin" and hasattr(libc, "renamex_np"):
        rename_swap = 2
        status = libc.renamex_np(os.fsencode(one), os.fsencode(other), rename_swap)
    else:
        return False
    if status == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM, errno.EXDEV):
        return False
    raise OSError(number, os.strerror(number), str(other))
