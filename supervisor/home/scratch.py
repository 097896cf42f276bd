"""Temporary folders that are swept: a killed process leaves its folder without a lock, and the next process that needs
a folder for the same purpose deletes it."""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.home.delete_tree import OPEN_FOLDER, delete

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def scratch_folder(purpose: str) -> Iterator[Path]:
    """Makes the folder `zot-PURPOSE-RANDOM` (0700) in the user's folder for temporary files, and deletes it at the end.
    Before that, deletes folders that killed processes have left there. Raises `OSError` if it cannot be made."""
    _sweep(Path(tempfile.gettempdir()), re.compile(rf"zot-{purpose}-\w{{8}}", re.ASCII))
    while True:
        path = Path(tempfile.mkdtemp(prefix=f"zot-{purpose}-"))
        try:
            lock = os.open(path, OPEN_FOLDER)
        except FileNotFoundError:
            continue  # another process has swept it at once
        if _lock(lock) is not False and path.exists():
            break
        os.close(lock)  # another process has swept it before it had its lock
    try:
        yield path
    finally:
        delete(path)
        os.close(lock)


def _sweep(parent: Path, pattern: re.Pattern[str]) -> None:
    """Deletes the folders without a lock. Leaves links and folders of other users, and all if there are no locks."""
    with suppress(OSError):
        for name in filter(pattern.fullmatch, os.listdir(parent)):
            with suppress(OSError):
                lock = os.open(parent / name, OPEN_FOLDER)
                try:
                    if os.fstat(lock).st_uid == os.geteuid() and _lock(lock):
                        delete(parent / name)
                finally:
                    os.close(lock)


def _lock(fd: int) -> bool | None:
    """Locks the folder. Returns False if another process has the lock; None on a file system without locks. The kernel
    releases the locks of a killed process."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
