"""Removes session files, but never one that a run writes to."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import stat
import time
from typing import TYPE_CHECKING

from agent.sessions.file import SessionBusyError
from agent.sessions.load import SessionError
from agent.sessions.places import session_files
from agent.sessions.reading.history import rows_of
from agent.sessions.rows import Meta
from wire.events import Totals

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

YOUNG_S = 60.0
"""Seconds. A file that was written to more recently is not taken for an empty one: a run may be about to take its
lock."""


def remove(path: Path) -> None:
    """Removes a session file; a link to one is removed, not the file. Raises `SessionBusyError` if a run writes to it,
    and `SessionError`."""
    with _held(path):
        _unlink(path)


def remove_empty(home: Path, cwd: str | None, now: float | None = None) -> tuple[list[Path], list[str]]:
    """Removes the files without a message of a working folder, or with None of all. Returns what was removed, and a
    line for each file and folder that could not be. Files that are in use, hold a line that cannot be read, or were
    written to less than a minute ago stay, silently. `now` is the time since the epoch in seconds."""
    removed: list[Path] = []
    faults: list[str] = []
    clock = time.time() if now is None else now
    for path in session_files(home, cwd, faults.append):
        try:
            if _seems_empty(path, clock):
                with _held(path):
                    if _seems_empty(path, clock):
                        _unlink(path)
                        removed.append(path)
        except SessionBusyError:
            continue
        except SessionError as error:
            if os.path.lexists(path):
                faults.append(str(error))
    return removed, faults


def _seems_empty(path: Path, now: float) -> bool:
    try:
        if now - path.stat().st_mtime < YOUNG_S:
            return False
    except OSError as error:
        raise SessionError(f"{path}: cannot be read: {error.strerror}") from None
    return all(isinstance(row, Meta | Totals) for _, row in rows_of(path))


@contextlib.contextmanager
def _held(path: Path) -> Iterator[None]:
    """With the file's lock."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        raise SessionError(f"{path}: cannot be removed: {error.strerror}") from None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise SessionError(f"{path}: cannot be removed: not a file")
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SessionBusyError(_in_use(path)) from None
        except OSError as error:
            raise SessionError(f"{path}: cannot be removed: {error.strerror}") from None
        if _is_open_for_writing(fd) or not os.path.samestat(os.fstat(fd), os.stat(path)):
            raise SessionBusyError(_in_use(path))
        yield
    except FileNotFoundError as error:
        raise SessionError(f"{path}: cannot be removed: {error.strerror}") from None
    finally:
        os.close(fd)


def _in_use(path: Path) -> str:
    return f"{path}: in use: a run writes to it; stop that run first"


def _is_open_for_writing(fd: int) -> bool:
    """Whether some process has the file open for writing, as a zot has that knows no lock: then the kernel refuses a
    lease for reading. False where there are no leases. While there is one, who opens the file for writing waits, and
    this process gets SIGURG, which it does not notice."""
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    return False


def _unlink(path: Path) -> None:
    try:
        os.unlink(path)
    except OSError as error:
        raise SessionError(f"{path}: cannot be removed: {error.strerror}") from None
