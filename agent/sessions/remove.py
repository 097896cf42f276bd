"""Removes session files, but never one that a run, or a zot that knows no lock, writes to.

zot leaves files without a message behind, and so does a program that was killed.
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
"""Seconds. A file written to more recently does not count as empty: a run may be about to take its lock."""
PRUNED_S = 24 * 3600.0
"""As `YOUNG_S`, for a removal that no user has asked for."""


def remove(path: Path, home: Path) -> None:
    """Removes a session file, and its workspace; a link to a file is removed alone. Raises `SessionBusyError` if a run
    writes to it, and `SessionError`, also if something of the workspace is left."""
    with _held(path):
        session = "" if path.is_symlink() else id_of(path)
        _unlink(path)
        if session and (trouble := remove_workspace(home, session)):
            raise SessionError(f"its workspace is not removed: {trouble}")


def prune(home: Path, cwd: str, now: float | None = None) -> list[Path]:
    """As `remove_empty`, at the start of a run: of a working folder, what has not changed for a day. Where the system
    cannot tell whether a file is open for writing, it stays. Files that cannot be removed stay, silently."""
    return _remove_empty(home, cwd, PRUNED_S, now, must_know=True)[0]


def remove_empty(home: Path, cwd: str | None, now: float | None = None) -> tuple[list[Path], list[str]]:
    """Removes the files without a message of a working folder, or with None of all, and those that were never
    finished. Returns what was removed, and a line for each file and folder that could not be. Links stay, and so do
    files that are in use, hold any other row or a line that cannot be read, or were written to less than `YOUNG_S` ago.
    `now` is the time since the epoch in seconds."""
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
            if not _may_go(path, before):
                continue
            with _held(path, must_know=must_know):
                if _may_go(path, before):  # until the lock was got, others may have written to it
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


def _may_go(path: Path, before: float) -> bool:
    """Raises `OSError`."""
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
def _held(path: Path, *, must_know: bool = False) -> Iterator[None]:
    """With the file's lock. With `must_know`, a file that cannot be locked, or of which the system cannot tell whether
    it is open for writing, counts as in use. Raises `SessionBusyError`, and `SessionError`."""
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
    """Whether some process has the file open for writing, as a zot has that knows no lock: then the kernel refuses a
    lease for reading. None where the system cannot tell. Until the file is closed here, who opens it for writing waits,
    and this process gets SIGURG, which it does not notice."""
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
