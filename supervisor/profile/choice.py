"""Chooses the process of an extension that is profiled: among those of its whole tree that can be, the busiest."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from supervisor.process.table import ProcessTable
from supervisor.profile.errors import ProfileError
from supervisor.profile.program_kind import RunningProgram, running_program
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from supervisor.process.table import Identity

LOOK_S = 0.25
"""Seconds between the two looks at the tree that show which process is busy."""
PROGRAMS_NAMED = 3


class Candidate(NamedTuple):
    """A process of the extension's tree."""

    identity: Identity
    program: RunningProgram
    busy_s: float
    """Processor time between the two looks, in seconds."""
    depth: int
    """Number of processes between it and the worker's own process."""


def choose(candidates: Iterable[Candidate]) -> Candidate:
    """The busiest process that is Python or Node; among equals the one nearest to the worker. A launcher, such as npx,
    is taken only if nothing else can be. Raises `ProfileError` if no process can be profiled. Pure."""
    tree = sorted(candidates, key=lambda one: (one.depth, one.identity.pid))
    able = [one for one in tree if one.program.kind is not None]
    if not able:
        names = list(dict.fromkeys(one_line(one.program.path, 200) for one in tree if one.program.path))
        more = f" and {len(names) - PROGRAMS_NAMED} more" if len(names) > PROGRAMS_NAMED else ""
        raise ProfileError(
            "cannot be profiled: it is neither Python nor Node: "
            + (", ".join(names[:PROGRAMS_NAMED]) or "a program that this user may not see")
            + more
        )
    return min(able, key=lambda one: (one.program.is_launcher, -one.busy_s, one.depth))


def look_at_trees(roots: Sequence[Identity]) -> list[Candidate]:
    """All processes of the trees below these workers. Looks twice, `LOOK_S` apart. Raises `ProfileError` if no worker
    runs any longer."""
    before = ProcessTable.read()
    time.sleep(LOOK_S)
    after = ProcessTable.read()
    living = [root.pid for root in roots if after.has(root)]
    found = []
    trees = {pid: process for root in living for pid, process in after.tree([root], session=root).items()}
    for pid, process in trees.items():
        program = running_program(pid)
        if program is None:
            continue
        earlier = before.by_pid.get(pid)
        busy_s = process.cpu_s - (earlier.cpu_s if earlier is not None and before.has(process.identity) else 0.0)
        found.append(Candidate(process.identity, program, busy_s, _depth(after, pid, living)))
    if not found:
        raise ProfileError("its process has ended")
    return found


def _depth(table: ProcessTable, pid: int, roots: Sequence[int]) -> int:
    depth = 0
    while pid not in roots and (process := table.by_pid.get(pid)) is not None and depth < 100:
        pid, depth = process.parent, depth + 1
    return depth
