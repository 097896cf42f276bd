"""The choice of a node for the next run. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class NodeLoad(NamedTuple):
    """A ready node."""

    name: str
    jobs: int
    """Runs at the same time for which it has cores and memory."""
    most: int
    """Maximum of runs at the same time in this batch."""
    running: int


def choose_node(loads: Iterable[NodeLoad]) -> str:
    """The name of the node with the least running for its size, the first by name among equals; empty if all are
    full."""
    free = [load for load in loads if load.running < load.most]
    return min(free, key=lambda load: (load.running / load.jobs, load.name)).name if free else ""


def crowding(jobs: int, offered: int) -> float:
    """The factor by which each node runs more than it offers, so that `jobs` runs have room; 1 if they have it
    anyway. It is kept when nodes go: their runs do not crowd the rest."""
    return max(1.0, jobs / offered) if offered else 1.0


def most_of_node(jobs: int, most_jobs: int, factor: float) -> int:
    """Maximum of runs at the same time on a node that offers `jobs`, and has open files for `most_jobs`."""
    return max(1, min(math.ceil(jobs * factor), most_jobs))
