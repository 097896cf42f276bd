"""Removes the workspaces of runs that are over, in steps: a huge one does not hold the loop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agent.batch.workspace.copy import UNFINISHED
from agent.batch.workspace.worktree import clear_worktrees, remove_worktree
from supervisor.home.delete_tree import deletion_steps
from supervisor.loop.steps import Steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.loop.loop import Loop
    from wire.batch.link import Begin, WorktreeBase

REMOVED = "removed"


class Workspaces:
    """`standin` is the folder in place of RUNDIR; `say` gets lines for the user."""

    def __init__(self, loop: Loop, standin: Path, say: Callable[[str], None]) -> None:
        self._loop = loop
        self._standin = standin
        self._say = say
        self._count = 0
        self._bases: dict[str, WorktreeBase] = {}

    def remove(self, begin: Begin) -> None:
        """Of the run with this order: none of its processes lives. Its name is free at once."""
        if not begin.workspace:
            return
        path = Path(begin.workspace)
        removed = self._standin / REMOVED
        for place in (path, path.with_name(f".{path.name}{UNFINISHED}")):
            self._count += 1
            away = removed / str(self._count)
            try:
                removed.mkdir(mode=0o700, exist_ok=True)
                place.rename(away)
            except FileNotFoundError:
                continue
            except OSError as error:
                self._say(f"{place}: a workspace cannot be removed: {error.strerror}")
                continue
            Steps(self._loop, deletion_steps(away))
        if begin.base is not None:
            self._bases[begin.base.repository] = begin.base
            if trouble := remove_worktree(path, begin.base.common):
                self._say(f"a worktree cannot be removed: {trouble}")

    def close(self) -> None:
        """Removes the records of worktrees, of runs that were killed too. Only once no run lives."""
        clear_worktrees(self._standin, self._bases.values())
