"""Cleans up after killed hosts when a host starts: reads the records of dead hosts, ends the processes that still bear
a dead host's token, and reports that.

The reaper cleans up at once when its host dies. This sweep is for hosts whose reaper was killed too.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from supervisor.cleanup.env_marks import TOKEN
from supervisor.cleanup.host_record import (
    EXPIRY_S,
    UNFINISHED,
    HostStatus,
    RecordFile,
    host_status,
    names_in,
    open_record,
    record_paths,
    unlink,
)
from supervisor.cleanup.kill_leftovers import HostMarks, LeftoverKiller
from supervisor.home import runtime_dir
from supervisor.process.cgroup_files import remove_leaves
from supervisor.process.table import read_process

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from supervisor.loop.loop import Loop, Timer


BLIND_S = 1.0
"""Seconds until the next step if the process table could not be read."""


class SweptHost(msgspec.Struct, frozen=True):
    """The result for one dead host."""

    pid: int
    """The pid of the dead host."""
    ended: int
    """Processes that were ended."""
    left: int = 0
    """Processes that could not be ended."""

    @property
    def line(self) -> str:
        """A line for the user; empty if no process was left."""
        said = []
        if self.ended:
            said.append(f"ended {_processes(self.ended)} that a host (pid {self.pid}), which was killed, had left")
        if self.left:
            said.append(
                f"{_processes(self.left)} that a host (pid {self.pid}), which was killed, had left could not be ended"
            )
        return "; ".join(said)


def _processes(count: int) -> str:
    return f"{count} process{'es' * (count > 1)}"


# --- sweeping -----------------------------------------------------------------------------------------------


class StartupSweep:
    """Cleans up after dead hosts while the loop goes on. `on_swept` is called for each dead host when it is done."""

    def __init__(self, loop: Loop, folder: Path, on_swept: Callable[[SweptHost], None]) -> None:
        self._loop = loop
        self._folder = folder
        self._on_swept = on_swept
        self._hosts: list[_DeadHost] = []
        self._timer: Timer | None = None

    @property
    def is_over(self) -> bool:
        return not self._hosts

    def start(self) -> None:
        """Reads the records, which takes well under 1 ms without any. The loop does the rest."""
        for path, pid in record_paths(self._folder):
            file = open_record(path)
            if file is None:
                continue
            if file.lock() and self._is_to_be_swept(file, pid):
                self._hosts.append(_DeadHost(file, self._loop))
            else:
                file.close()
        self._remove_unfinished()
        if self._hosts:
            self._timer = self._loop.call_later(0, self._step)

    def close(self) -> None:
        """Kills the remaining processes now, at the end of this host. A record whose processes still live stays."""
        if self._timer is not None:
            self._timer.cancel()
        for host in self._hosts:
            try:
                host.killer.kill_now()
                is_over = not host.killer.left
            except OSError:
                is_over = False
            if not is_over:
                host.file.close()
            else:
                self._on_swept(host.finish(self._folder))
        self._hosts.clear()

    def _is_to_be_swept(self, file: RecordFile, pid: int) -> bool:
        record = file.record
        if record is None or record.pid != pid:
            if read_process(pid) is None:  # the file is no record: no process can be found by it
                file.remove()
            return False
        if os.environ.get(TOKEN) == record.token:
            return False  # that host has started us: its processes are this process and its callers
        status = host_status(record)
        if status is HostStatus.OF_ANOTHER_BOOT or (status is HostStatus.FOREIGN and file.age_s > EXPIRY_S):
            file.remove()
            if status is HostStatus.OF_ANOTHER_BOOT:
                _remove_socket(self._folder, pid)
        return status is HostStatus.DEAD

    def _step(self) -> None:
        self._timer = None
        delays = []
        for host in list(self._hosts):
            try:
                delay = host.killer.step()
            except OSError:  # no descriptor is left to read the process table with
                delay = BLIND_S
            if delay is not None:
                delays.append(delay)
                continue
            self._hosts.remove(host)
            self._on_swept(host.finish(self._folder))
        if delays:
            self._timer = self._loop.call_later(max(delays), self._step)

    def _remove_unfinished(self) -> None:
        for name in names_in(self._folder):
            match = UNFINISHED.fullmatch(name)
            if match and read_process(int(match[1])) is None:
                unlink(self._folder / name)


class _DeadHost:
    def __init__(self, file: RecordFile, loop: Loop) -> None:
        assert file.record is not None
        self.file = file
        self.record = file.record
        # If a living process has this pid, it may be a host that now uses the folder of this name.
        cgroup = self.record.cgroup if read_process(self.record.pid) is None else None
        self.marks = HostMarks(self.record.token, cgroup=_own_cgroup(cgroup, self.record.pid))
        self.killer = LeftoverKiller(self.marks, loop.clock)

    def finish(self, folder: Path) -> SweptHost:
        left = len(self.killer.left)
        if not left:
            remove_leaves(self.marks.cgroup)
            _remove_socket(folder, self.record.pid)
            self.file.remove()
        self.file.close()
        return SweptHost(self.record.pid, len(self.killer.seen) - left, left)


def _remove_socket(folder: Path, pid: int) -> None:
    """Removes the socket of a dead host, unless a process has its pid: it may be a host with this socket."""
    if not runtime_dir.is_alive(pid):
        unlink(runtime_dir.socket_of(folder, pid))


def _own_cgroup(cgroup: str | None, pid: int) -> str | None:
    """Returns the folder that a record names, if a host makes folders of this name; else None. A wrong record must not
    make us kill other processes."""
    if cgroup is None or os.path.basename(cgroup) != f"zot-{pid}":
        return None
    return cgroup if os.path.exists(f"{cgroup}/cgroup.procs") else None
