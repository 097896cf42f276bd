"""Removes session files without a message: zot leaves such files behind, and so does a program that was killed.

A file that is in use must never go, not even one of a zot that writes without a lock. So a file is removed only if
nothing has happened to it for a day, nobody has its lock, and the kernel says that no process has it open for writing.
"""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import time
from typing import TYPE_CHECKING

from agent.sessions.load import SessionError, load_from
from agent.sessions.places import SUFFIX, TEMPORARY, folder_of

if TYPE_CHECKING:
    from pathlib import Path

AGE_S = 24 * 3600.0
"""Seconds since the last change."""
EMPTY_BYTES = 64 * 1024
"""A longer file is not looked into: it has more than a few rows about the session."""


def prune(home: Path, cwd: str, now: float | None = None) -> list[Path]:
    """Removes the empty files of a working folder and returns them. Never raises: what cannot be removed stays. `now`
    is the time in seconds since 1970."""
    folder = folder_of(home, cwd)
    before = (time.time() if now is None else now) - AGE_S
    removed = []
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return []
    for entry in entries:
        try:
            if _may_be_empty(entry.name, entry.stat(follow_symlinks=False), before) and _remove(
                folder / entry.name, before
            ):
                removed.append(folder / entry.name)
        except OSError:
            continue
    return removed


def _may_be_empty(name: str, found: os.stat_result, before: float) -> bool:
    if not stat.S_ISREG(found.st_mode) or found.st_mtime >= before:
        return False
    if name.startswith("."):
        return name.endswith(SUFFIX + TEMPORARY)
    return name.endswith(SUFFIX) and found.st_size <= EMPTY_BYTES


def _remove(path: Path, before: float) -> bool:
    """Removes the file if it may go. All is looked at again under the lock: until then others may have written to it.
    Raises `OSError`."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _may_be_empty(path.name, os.fstat(fd), before) or not _is_unused(fd):
            return False
        if not path.name.endswith(TEMPORARY) and not _has_no_message(fd, path):
            return False
        if not os.path.samestat(os.fstat(fd), os.lstat(path)):
            return False
        path.unlink()
        return True
    finally:
        os.close(fd)


def _is_unused(fd: int) -> bool:
    """Whether no process has the file open for writing: then the kernel grants a lease for reading. Until the file is
    closed here, a process that opens it for writing waits, and this one gets SIGURG, which it does not notice. Raises
    `OSError` where there are no leases."""
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    return True


def _has_no_message(fd: int, path: Path) -> bool:
    try:
        loaded = load_from(fd, path)
    except SessionError:
        return not os.fstat(fd).st_size  # not our file, unless it is empty
    return not (loaded.message_rows or loaded.messages or loaded.fault_count)
