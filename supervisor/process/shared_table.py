"""Shares one read of the process table among all teardowns of a host that run at about the same time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from supervisor.process.table import ProcessTable, become_subreaper, children_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from supervisor.loop.loop import Loop, Timer

READ_PAUSE = 4.0
"""Minimum pause between two reads, as a multiple of the last read's duration: reads then take at most a fifth of the
host's time, even when a hundred extensions end at a hundred different moments."""
REAPED_AT_ONCE = 200
"""Maximum number of orphans that are collected in one pass of the loop, in about a millisecond."""
REAP_AGAIN_S = 0.02
"""Seconds until the next look for orphans, while the end of the host's own child hides them."""


class SharedProcessTable:
    """Reads the process table for all teardowns of one host. `hold` keeps a descriptor in reserve, so that the table
    can be read when all other descriptors are in use; `close` gives it back."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._reserve = -1
        self._again: Timer | None = None
        self._table = ProcessTable(())
        self._read_at = -1.0
        self._next_read_at = -1.0
        self.is_subreaper = False
        """Whether all orphans below this process become its children."""

    def adopt_orphans(self) -> None:
        """Makes this process the parent of all orphans below it, and collects each when it ends. Where the system
        cannot do that, orphans belong to process 1."""
        if not self.is_subreaper:
            self.is_subreaper = become_subreaper()
        if self.is_subreaper:
            self._loop.on_child_end = self._collect_orphans

    def _collect_orphans(self) -> None:
        again_s = collect_orphans(self._loop)
        if again_s is not None and self._again is None:
            self._again = self._loop.call_later(again_s, self._collect_again)

    def _collect_again(self) -> None:
        self._again = None
        self._collect_orphans()

    def can_serve(self, not_before: float) -> bool:
        """Whether `table` can answer now, from the last read or by a new one."""
        return self._read_at >= not_before or self._loop.clock() >= self._next_read_at

    def has_all_orphans(self) -> bool:
        """Whether no descendant can leave this process: each that loses its parent becomes a child of this one."""
        return self.is_subreaper

    def has_no_orphans(self) -> bool:
        """Returns True if our children have left no orphans. Returns False if they have, or if that is unknown. The
        kernel gives an orphan to its subreaper before it reports the parent's end. A list of our children takes
        0.05 ms; a read of the whole process table takes a hundred times as long."""
        if not self.is_subreaper:
            return False
        ours = children_of(os.getpid())
        return ours is not None and self._loop.children.issuperset(ours)

    def has_only(self, children: Iterable[int]) -> bool:
        """Returns True if these children have no descendants: they have no children, and no child of this host has left
        orphans. Returns False if they have some, or if that is unknown."""
        return self.has_no_orphans() and not any(children_of(pid) != set() for pid in children)

    def due(self, wanted: float) -> float:
        """Returns the earliest time, not before `wanted`, at which the table may be read (loop's clock)."""
        return max(wanted, self._next_read_at)

    def hold(self) -> None:
        """Opens the reserve descriptor, unless it is open."""
        if self._reserve < 0:
            try:
                self._reserve = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                pass  # all descriptors are in use; the next call tries again

    def close(self) -> None:
        """Closes the reserve descriptor."""
        if self._reserve >= 0:
            os.close(self._reserve)
            self._reserve = -1

    def table(self, not_before: float) -> ProcessTable | None:
        """Returns the processes at `not_before` (loop's clock) or later; None if they cannot be read. Collects orphans
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
            if self.is_subreaper:
                self._collect_orphans()
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


def collect_orphans(loop: Loop, most: int = REAPED_AT_ONCE) -> float | None:
    """Collects at most `most` ended orphans. Returns the seconds after which to call it again; None if no orphan has
    ended. Leaves the exit status of the host's own child to its owner: while the kernel reports that child first,
    orphans behind it wait."""
    for _ in range(most):
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return None
        if found is None:
            return None
        if found.si_pid in loop.children:
            return REAP_AGAIN_S
        try:
            os.waitpid(found.si_pid, os.WNOHANG)
        except ChildProcessError:
            pass
    return 0.0
