"""Reads the process table repeatedly at little cost, for the sampler.

Opening a file of /proc takes several times as long as reading it again, so the descriptors of the host's descendants
are kept open. Other processes are read only every `STRANGERS_S` seconds, in case one of their pids now belongs to a
descendant. A host with few descendants, which keeps its orphans, is read from the top down, and no other process at
all: many hosts on one machine would otherwise read each other.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from supervisor.process.fd_limit import first_spare
from supervisor.process.table import ON_LINUX, Process, ProcessTable, children_of, parse_stat, read_stat

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

KEPT = 2000
"""Most descriptors that are kept open, one for each process."""
FEW = 24
"""Processes that are read from the top down: a list of children takes three times as long as a known process, and more
for a process with threads."""
STRANGERS_S = 10.0
"""A pid that belonged to no descendant is not read again for this many seconds. The kernel reuses a pid only after all
others, so this time is too long only with thousands of new processes a second."""


class TableReader:
    """`read` returns the host, its descendants, and the members of the given sessions. Each child of the host leads a
    session. Where the host is no subreaper, a process that lost its parent is found by its session."""

    def __init__(self, clock: Callable[[], float], has_all: Callable[[], bool] = lambda: False) -> None:
        """`has_all` says whether this process has all orphans below it: whether it is a subreaper."""
        self._clock = clock
        self._has_all = has_all
        self._files: dict[int, int] = {}
        self._strangers: set[int] = set()
        self._looked_at = -STRANGERS_S

    def read(self, sessions: Collection[int]) -> ProcessTable:
        """Reads the process table. If no descriptor is left, closes all its own and raises `OSError`."""
        try:
            return self._read_all(sessions)
        except OSError:
            self.close()
            raise

    def _read_all(self, sessions: Collection[int]) -> ProcessTable:
        if not ON_LINUX:
            return ProcessTable.read()
        now = self._clock()
        if now - self._looked_at >= STRANGERS_S:
            self._looked_at = now
            self._strangers.clear()
        table = ProcessTable(process for pid in self._candidates() if (process := self._read(pid)) is not None)
        roots = [pid for pid, process in table.by_pid.items() if process.session in sessions]
        ours = table.tree([os.getpid(), *roots])
        for pid, process in table.by_pid.items():
            if pid not in ours and not process.is_zombie:
                self._strangers.add(pid)
        for pid in self._files.keys() - ours.keys():
            os.close(self._files.pop(pid))
        for pid in ours.keys() - self._files.keys():
            self._keep(pid)
        return table

    def _candidates(self) -> list[int]:
        strangers = self._strangers
        if self._has_all() and (few := _few_descendants(os.getpid())) is not None:
            return few
        return [pid for name in os.listdir("/proc") if name.isdigit() and (pid := int(name)) not in strangers]

    def _read(self, pid: int) -> Process | None:
        fd = self._files.get(pid)
        if fd is None:
            return read_stat(pid)
        try:
            return parse_stat(pid, os.pread(fd, 4096, 0))
        except OSError:  # it has ended; another process may have its pid by now
            os.close(self._files.pop(pid))
            return read_stat(pid)

    def _keep(self, pid: int) -> None:
        """Keeps a descriptor of this process open, if the spare ones stay free. If the pid has been reused meanwhile,
        the start time shows it."""
        if len(self._files) < KEPT:
            try:
                fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                return
            if fd < first_spare():
                self._files[pid] = fd
            else:
                os.close(fd)

    def close(self) -> None:
        for fd in self._files.values():
            os.close(fd)
        self._files.clear()


def _few_descendants(top: int) -> list[int] | None:
    """The process and all its descendants; None if they are more than `FEW`, or if the kernel has no such lists."""
    found = [top]
    for pid in found:  # it grows meanwhile
        children = children_of(pid)
        if children is None and pid == top:
            return None
        found += children or ()
        if len(found) > FEW:
            return None
    return found
