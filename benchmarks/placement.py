"""Binds the host and its extensions to processors. This changes a round trip more than the code does."""

from __future__ import annotations

import os
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

ALL = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
"""The processors that this process could use when it started."""


class Placement(Enum):
    """The cores of the host and of its extensions."""

    ONE_CORE = "one core"
    SPLIT = "split"
    """The host on one core, the extensions on another."""
    FREE = "free"

    def apply(self, hosts: Iterable[int], children: Iterable[int]) -> None:
        """Moves these processes. Does nothing if the system cannot bind a process to a processor."""
        if not ALL:
            return
        host = {ALL[0]} if self is not Placement.FREE else set(ALL)
        child = {ALL[-1]} if self is Placement.SPLIT else host
        for pids, cpus in ((hosts, host), (children, child)):
            for pid in pids:
                os.sched_setaffinity(pid, cpus)


def possible() -> tuple[Placement, ...]:
    """Returns the placements that this machine allows."""
    if len(ALL) < 2:
        return (Placement.ONE_CORE,) if ALL else (Placement.FREE,)
    return tuple(Placement)
