"""The process table for all who end processes: read once however many of them want it at about the same time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from supervisor.process.table import ProcessTable

if TYPE_CHECKING:
    from supervisor.loop.loop import Loop

REST = 4.0
"""So many times as long as a look takes nobody looks again: looking costs no more than a fifth of the host's time,
though a hundred extensions end at a hundred different moments."""


class SharedProcessTable:
    """Of one host. `hold` a descriptor in reserve, so that it can still look when there is no other left; `close` it at
    the end."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._reserve = -1
        self._table = ProcessTable(())
        self._looked_at = -1.0
        self._rested_at = -1.0
        self.is_subreaper = False
        """All orphans below this process come back to it."""

    def can_serve(self, not_before: float) -> bool:
        """Whether `table` would give what was seen already, or look without having looked just now."""
        return self._looked_at >= not_before or self._loop.clock() >= self._rested_at

    def has_no_orphans(self) -> bool:
        """True if nothing that our children have started outlives them; False also where that cannot be told. The
        kernel gives an orphan to its subreaper before it tells of the parent's end, and keeps a list of our children,
        which takes 0.05 ms to read: a look at all processes takes a hundred times as long."""
        if not self.is_subreaper:
            return False
        try:
            fd = os.open(f"/proc/self/task/{os.getpid()}/children", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            text = b""
            while piece := os.read(fd, 65536):
                text += piece
        except OSError:
            return False
        finally:
            os.close(fd)
        return self._loop.children.issuperset(map(int, text.split()))

    def due(self, wanted: float) -> float:
        """When to look for somebody who wants to at this time."""
        return max(wanted, self._rested_at)

    def hold(self) -> None:
        if self._reserve < 0:
            try:
                self._reserve = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                pass  # the next time that there is one

    def close(self) -> None:
        if self._reserve >= 0:
            os.close(self._reserve)
            self._reserve = -1

    def table(self, not_before: float) -> ProcessTable | None:
        """As it was at `not_before`, on the loop's clock, or later; None if it cannot be read. Orphans that have ended
        are collected."""
        if self._looked_at < not_before:
            began = self._loop.clock()
            table = self._read()
            if table is None:
                return None
            self._table = table
            self._looked_at = began
            ended = self._loop.clock()
            self._rested_at = ended + REST * (ended - began)
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
    """Collects orphans that came back to the host and have exited since, so that none stays a zombie."""
    for pid in table.children_of(os.getpid()):
        if table.by_pid[pid].is_zombie and pid not in loop.children:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass
