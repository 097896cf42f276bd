"""One batch process per folder: a lock on the journal, which the kernel takes back when the process ends.

A network file system may have no such locks. There a file beside the journal says who works on it: host, pid, and when
that process began. It is taken over if that process is gone from the same host; that of another host cannot be asked.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import psutil

from agent.batch.journal.errors import BusyError, JournalError
from agent.batch.journal.rundir_files import open_rundir_file, read_rundir_file
from wire.lenient_json import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable

NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})
"""Errors of a file system that has no locks."""
LISTING = Path("/proc/locks")
UNKNOWN_PID: Callable[[], int | None] = lambda: None  # noqa: E731


class Owner(msgspec.Struct, frozen=True):
    """The process that works on a folder without locks."""

    host: str
    pid: int
    began: float
    """When the process began, in seconds since 1970: another process may get its pid."""

    @classmethod
    def this_process(cls) -> Owner:
        return cls(socket.gethostname(), os.getpid(), psutil.Process().create_time())

    def is_gone(self) -> bool:
        """Whether the process has ended. Never true for another host's."""
        if self.host != socket.gethostname():
            return False
        try:
            return abs(psutil.Process(self.pid).create_time() - self.began) > 1
        except psutil.NoSuchProcess:
            return True


class Lock:
    """The lock on one journal, from `take` to `release`."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        """With a file system that has no locks: the file that takes their place."""

    @classmethod
    def take(cls, journal: Path, fd: int, last_pid: Callable[[], int | None] = UNKNOWN_PID) -> Lock:
        """Takes the lock on an open journal. `last_pid` reads from the journal who opened it last. Raises `BusyError`,
        `JournalError`, `FolderError`, `OSError`."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in NO_LOCKS:
                return cls(_take_file(journal))
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            raise _busy(journal, holder(fd) or last_pid()) from None
        return cls(None)

    def release(self, fd: int) -> None:
        """Gives the lock back and closes the descriptor."""
        os.close(fd)
        if self.file is not None:
            self.file.unlink(missing_ok=True)


def owner_file(journal: Path) -> Path:
    return journal.with_suffix(".lock")


def owner_of(journal: Path) -> Owner | None:
    """The process that works on the folder by the file that stands for its lock; None without that file."""
    return _read_owner(owner_file(journal))


def is_locked(journal: Path) -> tuple[bool, int | None]:
    """Whether a batch process works on the folder of this journal, and its pid if that is known. Where the system
    lists its locks, none is taken for that. Raises `FolderError`, and `OSError` for a journal that cannot be opened."""
    if (owner := owner_of(journal)) is not None and not owner.is_gone():
        return True, owner.pid
    fd = open_rundir_file(journal)
    try:
        if (pid := holder(fd)) is not None:
            return True, pid
        if _listed(os.fstat(fd).st_ino) is False:
            return False, None
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno not in NO_LOCKS, None
        return False, None
    finally:
        os.close(fd)


def holder(fd: int, listing: Path = LISTING) -> int | None:
    """The pid of the process that has a lock on the file; None if there is none or the system does not say."""
    status = os.fstat(fd)
    device = (os.major(status.st_dev), os.minor(status.st_dev))
    for pid, place in _locks(listing) or ():
        major, minor, inode = place.split(b":")
        if int(inode) == status.st_ino and (int(major, 16), int(minor, 16)) == device and pid > 0:
            return pid
    return None


def _listed(inode: int, listing: Path = LISTING) -> bool | None:
    """Whether some file with this inode number has a lock; None if the system has no list."""
    locks = _locks(listing)
    return None if locks is None else any(int(place.rpartition(b":")[2]) == inode for _pid, place in locks)


def _locks(listing: Path) -> list[tuple[int, bytes]] | None:
    """Pid and `MAJOR:MINOR:INODE` of each lock of this kind on the machine."""
    try:
        lines = listing.read_bytes().splitlines()
    except OSError:
        return None
    found = []
    for line in lines:  # 1: FLOCK  ADVISORY  WRITE 3991 fe:00:2148684 0 EOF
        words = line.split()
        if len(words) == 8 and words[1] == b"FLOCK":
            found.append((int(words[4]), words[5]))
    return found


def _busy(journal: Path, pid: int | None) -> BusyError:
    who = "another process" if pid is None else f"process {pid}"
    return BusyError(
        f"{journal.parent}: {who} runs this batch; wait until it ends, or press Ctrl-C there: then only the "
        f"tasks that run now are finished (zot batch status {journal.parent} shows them)",
        pid,
    )


def _take_file(journal: Path) -> Path:
    """Makes the file that stands for the lock."""
    path = owner_file(journal)
    text = msgspec.json.encode(Owner.this_process())
    for _attempt in range(2):
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            _remove_stale(path, journal)
            continue
        with os.fdopen(fd, "wb") as file:
            file.write(text)
        return path
    raise _busy(journal, None)


def _remove_stale(path: Path, journal: Path) -> None:
    """Removes the file of a process that is gone. Raises `BusyError` if it runs, `JournalError` if that is unknown."""
    owner = _read_owner(path)
    if owner is None or owner.host != socket.gethostname():
        who = f"a process on {owner.host}" if owner else "its writer"
        raise JournalError(
            f"{path}: the file system has no locks, and this file says that {who} runs this batch; if that has ended, "
            "delete the file"
        )
    if not owner.is_gone():
        raise _busy(journal, owner.pid)
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        os.rename(path, aside)
    except FileNotFoundError:
        return
    if _read_owner(aside) != owner:  # another one was quicker, and this is its file
        os.rename(aside, path)
        raise _busy(journal, None)
    aside.unlink()


def _read_owner(path: Path) -> Owner | None:
    try:
        return msgspec.json.decode(read_rundir_file(path), type=Owner)
    except (OSError, *UNREADABLE):
        return None
