"""Reads the process table again and again at little cost, for the sampler.

To open a file of /proc takes several times as long as to read it again, so the descriptors of the host's own
descendants are kept. Processes of others are looked at only now and then, to see that their pids still belong to them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from supervisor.process.table import ON_LINUX, Process, ProcessTable, parse_stat, read_stat

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

KEPT = 2000
"""Descriptors, at most: one for each process."""
STRANGERS_S = 10.0
"""A pid that belonged to a stranger is taken to be his so long. The kernel hands out all others before it comes back
to a number, so this is too long only where thousands of processes a second are started."""


class ProcessReader:
    """`read` gives the host, all below it, and the members of some sessions: those of its children, which hold what has
    lost its parent where the host is no subreaper."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._files: dict[int, int] = {}
        self._strangers: set[int] = set()
        self._looked_at = -STRANGERS_S

    def read(self, sessions: Collection[int]) -> ProcessTable:
        """Raises `OSError` if there is no descriptor left to read with; what it held is free then."""
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
        return [pid for name in os.listdir("/proc") if name.isdigit() and (pid := int(name)) not in strangers]

    def _read(self, pid: int) -> Process | None:
        fd = self._files.get(pid)
        if fd is None:
            return read_stat(pid)
        try:
            return parse_stat(pid, os.pread(fd, 4096, 0))
        except OSError:  # it has ended; somebody else may have its number by now
            os.close(self._files.pop(pid))
            return read_stat(pid)

    def _keep(self, pid: int) -> None:
        """Where this opens the file of another process with that number, its start time tells."""
        if len(self._files) < KEPT:
            try:
                self._files[pid] = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                pass

    def close(self) -> None:
        for fd in self._files.values():
            os.close(fd)
        self._files.clear()
