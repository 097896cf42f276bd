"""What the processes of a run have in memory for themselves.

A fork of the template shares most of its memory with the others: its resident size says 74 MB where 6 are its own. So
the pages count that no other process has (USS). To read them takes 0.5 ms for each process, and to read the size that
lies in no file 0.01 ms. So that size is watched, and the pages are counted when it has grown.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

from supervisor.process.table import children_of
from supervisor.template import memory

if TYPE_CHECKING:
    from collections.abc import Callable

GROWTH = 1024 * 1024
"""Bytes by which a process grows before its pages are counted again."""
PROCESSES = 500
"""Most processes of a run that are looked at: a fork bomb must not keep the batch busy."""


class _Seen(msgspec.Struct):
    """One process when its pages were counted last."""

    size: int
    own: int


class RunMemory:
    """Of the process `pid` and all its descendants. Processes that have left the tree do not count."""

    def __init__(
        self,
        pid: Callable[[], int],
        *,
        size_of: Callable[[int], int] = memory.anonymous,
        own_of: Callable[[int], int | None] = memory.uss,
        children: Callable[[int], set[int] | None] = children_of,
    ) -> None:
        """`pid` is asked for at each sample: that of a fork is not known at once."""
        self.now = 0
        """Bytes at the last sample."""
        self.peak = 0
        """Bytes in any sample."""
        self._pid = pid
        self._size_of = size_of
        self._own_of = own_of
        self._children = children
        self._seen: dict[int, _Seen] = {}

    def sample(self) -> int:
        """Looks at all processes; returns their bytes together."""
        seen: dict[int, _Seen] = {}
        todo = [self._pid()]
        while todo and len(seen) < PROCESSES:
            pid = todo.pop()
            size = self._size_of(pid)
            if pid in seen or not size:
                continue
            last = self._seen.get(pid)
            if last is None or abs(size - last.size) >= GROWTH:
                own = self._own_of(pid)
                last = _Seen(size, size if own is None else own)
            seen[pid] = last
            todo += self._children(pid) or ()
        self._seen = seen
        self.now = sum(process.own for process in seen.values())
        self.peak = max(self.peak, self.now)
        return self.now


def is_measurable() -> bool:
    """Whether this system tells what a process has for itself."""
    return sys.platform == "linux"
