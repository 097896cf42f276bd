"""Each host keeps a record while it runs. The record names the leftovers of a killed host to the next host."""

from __future__ import annotations

import fcntl
import os
import re
import time
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from supervisor.home.safe_files import open_regular, replacement
from supervisor.process.table import ON_LINUX, Identity, is_alive, read_process

if TYPE_CHECKING:
    from pathlib import Path

RECORD = re.compile(r"(\d{1,10})\.json")
UNFINISHED = re.compile(r"\.(\d{1,10})\.json\.new")
LONGEST_RECORD = 64 * 1024
"""Maximum size of a record in bytes."""
EXPIRY_S = 30 * 86_400.0
"""Age in seconds at which a record of another machine or container is removed: whether its host lives is unknown."""


class PidSpace(NamedTuple):
    """The scope of pids: within one boot and one pid namespace of one machine a pid means one process."""

    boot: str
    namespace: str
    """The pid namespace: each container has its own."""
    node: str


@cache
def own_pid_space() -> PidSpace:
    """Returns the pid space of this process. Parts that cannot be read are empty."""
    node = os.uname().nodename
    if not ON_LINUX:
        import psutil

        return PidSpace(str(round(psutil.boot_time())), "", node)
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return PidSpace(file.read().strip(), os.readlink("/proc/self/ns/pid"), node)
    except OSError:
        return PidSpace("", "", node)


class HostRecord(msgspec.Struct, frozen=True):
    """`<pid>.json` in the runtime folder, 0600: identifies a host and the processes that it has started."""

    pid: int
    started: float
    """Start time of the host, as in `Identity`."""
    boot: str
    namespace: str
    node: str
    token: str
    version: str
    cgroup: str | None = None

    @classmethod
    def of_this_process(cls, token: str, version: str, cgroup: Path | None = None) -> HostRecord:
        """Makes the record of this process."""
        pid = os.getpid()
        found = read_process(pid)
        folder = str(cgroup) if cgroup is not None else None
        return cls(pid, found.identity.started if found else 0, *own_pid_space(), token, version, folder)

    def path(self, folder: Path) -> Path:
        return folder / f"{self.pid}.json"

    def write(self, folder: Path) -> Path:
        """Writes the record atomically; the folder must exist. Returns its path. Raises `OSError` if that fails: then
        no later host can clean up."""
        path = self.path(folder)
        with replacement(path, is_durable=False) as file:
            file.write(msgspec.json.encode(self))
        return path

    def remove(self, folder: Path) -> None:
        """Removes the record at the orderly end of the host. Does nothing if the file is missing or another host's."""
        if (file := open_record(self.path(folder))) is not None:
            if file.record == self:
                file.remove()
            file.close()


class HostStatus(Enum):
    """The state of the host of a record."""

    LIVING = "living"
    DEAD = "dead"
    OF_ANOTHER_BOOT = "of another boot"
    """The host is dead, and so are all processes that it had started."""
    FOREIGN = "foreign"
    """The host is of another machine or container: whether it lives is unknown here."""


def decide_status(record: HostRecord, ours: PidSpace, *, lives: bool) -> HostStatus:
    """`lives` tells whether a process with the record's pid and start time runs in our pid space. Pure."""
    if (record.boot, record.namespace) == (ours.boot, ours.namespace):
        return HostStatus.LIVING if lives else HostStatus.DEAD
    if record.node == ours.node and record.boot != ours.boot:
        return HostStatus.OF_ANOTHER_BOOT
    return HostStatus.FOREIGN


def host_status(record: HostRecord) -> HostStatus:
    """Looks for the host's process and returns the host's status."""
    return decide_status(record, own_pid_space(), lives=is_alive(Identity(record.pid, record.started)))


def records_in(folder: Path) -> list[HostRecord]:
    """Returns all readable records, lowest pid first, including those of hosts that are gone."""
    found = []
    for path, _pid in record_paths(folder):
        if (file := open_record(path)) is not None:
            file.close()
            if file.record is not None:
                found.append(file.record)
    return sorted(found, key=lambda record: record.pid)


# --- files --------------------------------------------------------------------------------------------------


class RecordFile:
    """An open record file. While it is locked no other host acts on it; the kernel unlocks it if we are killed."""

    def __init__(self, path: Path, fd: int, found: os.stat_result) -> None:
        self._path = path
        self._fd = fd
        self._inode = found.st_ino
        self.age_s = time.time() - found.st_mtime
        self.record = _decode(os.read(fd, LONGEST_RECORD))

    def lock(self) -> bool:
        """Locks the file. Returns False if another host holds the lock or has removed the file. On a file system
        without locks, returns True without a lock."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            pass
        return self._is_there()

    def _is_there(self) -> bool:
        """Whether the file is still at its path: it was not removed, and no host with the same pid has replaced it."""
        try:
            return os.lstat(self._path).st_ino == self._inode
        except OSError:
            return False

    def remove(self) -> None:
        """Removes the file, unless another host has replaced it."""
        if self._is_there():
            unlink(self._path)

    def close(self) -> None:
        """Closes the file, which unlocks it. Call it once."""
        os.close(self._fd)


def open_record(path: Path) -> RecordFile | None:
    """Opens a record. Returns None if the path has no regular file of this user."""
    try:
        fd = open_regular(path, os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        found = os.fstat(fd)
        if found.st_uid == os.geteuid():
            return RecordFile(path, fd, found)
    except OSError:
        pass
    os.close(fd)
    return None


_decoder = msgspec.json.Decoder(HostRecord)


def _decode(text: bytes) -> HostRecord | None:
    try:
        record = _decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    # A short token could be part of any process's environment.
    return record if record.pid > 0 and len(record.token) >= 16 and record.token.isalnum() else None


def record_paths(folder: Path) -> list[tuple[Path, int]]:
    """Returns the path and the pid of each record file in the folder."""
    return [(folder / name, int(match[1])) for name in names_in(folder) if (match := RECORD.fullmatch(name))]


def names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def unlink(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        pass
