"""The process table of a host, shared: one read serves everything that ends processes at about the same time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from supervisor.process.table import ProcessTable

if TYPE_CHECKING:
    from supervisor.loop.loop import Loop

READ_PAUSE = 4.0
"""Minimum pause between two reads, as a multiple of the last read's duration: reads then take at most a fifth of the
host's time, even when a hundred extensions end at a hundred different moments."""


class SharedProcessTable:
    """One per host. `hold` keeps a descriptor in reserve, so that the table can be read when all others are used up;
    `close` returns it."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._reserve = -1
        self._table = ProcessTable(())
        self._read_at = -1.0
        self._next_read_at = -1.0
        self.is_subreaper = False
        """Whether all orphans below this process become its children."""

    def can_serve(self, not_before: float) -> bool:
        """Whether `table` would return at once what was read before, or may read now."""
        return self._read_at >= not_before or self._loop.clock() >= self._next_read_at

    def has_no_orphans(self) -> bool:
        """True if no process that our children started outlives them; False also if that is not known. The kernel gives
        an orphan to its subreaper before it reports the parent's end, and lists our children in a file, which takes
        0.05 ms to read: a read of the whole process table takes a hundred times as long."""
        if not self.is_subreaper:
            return False
        try:
            with open(f"/proc/self/task/{os.getpid()}/children", "rb", buffering=0) as file:
                return self._loop.children.issuperset(map(int, file.read().split()))
        except OSError:
            return False

    def due(self, wanted: float) -> float:
        """The first moment from `wanted` on at which the table may be read."""
        return max(wanted, self._next_read_at)

    def hold(self) -> None:
        if self._reserve < 0:
            try:
                self._reserve = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                pass  # all descriptors are in use; the next call tries again

    def close(self) -> None:
        if self._reserve >= 0:
            os.close(self._reserve)
            self._reserve = -1

    def table(self, not_before: float) -> ProcessTable | None:
        """The processes at `not_before`, on the loop's clock, or later; None if they cannot be read. Collects orphans
        that have ended."""
        if self._read_at < not_before:
            began = self._loop.clock()
            table = self._read()
            if table is None:
                return None
            self._table = table
            self._read_at = began
            ended = self._loop.clock()
            self._next_read_at = ended + READ_PAUSE * (ended - began)
            reap_adopted(self._loop, self._table)
        return self._table

    def _read(self) -> ProcessTable | None:
        try:
            return ProcessTable.read()
        except OSError:
            if self._reserve < 0:
                return None
        self.close()
        try:
            return ProcessTable.read()
        except OSError:
            return None
        finally:
            self.hold()


def reap_adopted(loop: Loop, table: ProcessTable) -> None:
    """Collects orphans that the host has adopted and that have ended, so that none stays a zombie."""
    for pid in table.children_of(os.getpid()):
        if table.by_pid[pid].is_zombie and pid not in loop.children:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass
