"""Removes session files, but never one that a run writes to, or a zot that takes no lock.

zot leaves files without a message behind; so does a killed program.
"""

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
from agent.sessions.find import HEAD_BYTES, head, id_of, is_empty
from agent.sessions.load import SessionError
from agent.sessions.places import is_session_name, is_unfinished_name, session_entries
from agent.sessions.workspaces import remove_workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

YOUNG_S = 60.0
"""Seconds after a write in which a file does not count as empty: a run may be about to take its lock."""
PRUNED_S = 24 * 3600.0
"""As `YOUNG_S`, for the automatic removal at the start of a run."""


def remove(path: Path, home: Path) -> None:
    """Removes a session file and its workspace; of a link only the link. Raises `SessionBusyError` if a run writes to
    it, and `SessionError`, also if part of the workspace is left."""
    with _hold_lock(path):
        session = "" if path.is_symlink() else id_of(path)
        _unlink(path)
        if session and (trouble := remove_workspace(home, session)):
            raise SessionError(f"its workspace is not removed: {trouble}")


def prune(home: Path, cwd: str, now: float | None = None) -> list[Path]:
    """As `remove_empty`, at the start of a run: only files of one working folder that have not changed for `PRUNED_S`.
    If the system cannot tell whether a file is open for writing, it stays. Ignores failures. Returns the removed."""
    return _remove_empty(home, cwd, PRUNED_S, now, must_know=True)[0]


def remove_empty(home: Path, cwd: str | None, now: float | None = None) -> tuple[list[Path], list[str]]:
    """Removes files without a message and unfinished files of a working folder, or with None of all. Returns the
    removed files, and a line for each file and folder that failed. Links stay, and so do files that are in use, have
    another row or an unreadable line, or were written to less than `YOUNG_S` ago. `now`: seconds since the epoch."""
    return _remove_empty(home, cwd, YOUNG_S, now, must_know=False)


def _remove_empty(
    home: Path, cwd: str | None, age_s: float, now: float | None, *, must_know: bool
) -> tuple[list[Path], list[str]]:
    removed: list[Path] = []
    faults: list[str] = []
    before = (time.time() if now is None else now) - age_s
    for folder, entry in session_entries(home, cwd, faults.append):
        path = folder / entry.name
        try:
            if not _is_removable(path, before):
                continue
            with _hold_lock(path, must_know=must_know):
                if _is_removable(path, before):  # before we had the lock, others may have written to it
                    session = "" if is_unfinished_name(path.name) else id_of(path)
                    _unlink(path)
                    if session:
                        remove_workspace(home, session)
                    removed.append(path)
        except (SessionBusyError, FileNotFoundError):
            continue
        except (SessionError, OSError) as error:
            faults.append(str(error) if isinstance(error, SessionError) else f"{path}: {error.strerror}")
    return removed, faults


def _is_removable(path: Path, before: float) -> bool:
    """Whether the file is empty or unfinished, and was last written before `before`. Raises `OSError`."""
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode) or found.st_mtime >= before:
        return False
    if is_unfinished_name(path.name):
        return True
    if not is_session_name(path.name) or found.st_size > HEAD_BYTES:
        return False
    rows = head(path)
    return is_empty(rows) and (bool(rows) or not found.st_size)


@contextlib.contextmanager
def _hold_lock(path: Path, *, must_know: bool = False) -> Iterator[None]:
    """Holds the file's lock. With `must_know`, a file counts as in use if it cannot be locked, or if the system cannot
    tell whether it is open for writing. Raises `SessionBusyError` and `SessionError`."""
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
        is_open = _is_open_for_writing(fd)
        if is_open or (is_open is None and must_know) or not os.path.samestat(os.fstat(fd), os.stat(path)):
            raise SessionBusyError(_in_use(path))
        yield
    except FileNotFoundError as error:
        raise SessionError(f"{path}: cannot be removed: {error.strerror}") from None
    finally:
        os.close(fd)


def _in_use(path: Path) -> str:
    return f"{path}: in use: a run writes to it; stop that run first"


def _is_open_for_writing(fd: int) -> bool | None:
    """Whether a process has the file open for writing, such as a zot, which takes no lock: then the kernel refuses a
    lease for reading. None if the system cannot tell. Until we close the file, a process that opens it for writing
    waits, and this one gets SIGURG, which is ignored by default."""
    if not hasattr(fcntl, "F_SETLEASE"):
        return None
    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return True if error.errno == errno.EAGAIN else None
    return False


def _unlink(path: Path) -> None:
    try:
        os.unlink(path)
    except OSError as error:
        raise SessionError(f"{path}: cannot be removed: {error.strerror}") from None
