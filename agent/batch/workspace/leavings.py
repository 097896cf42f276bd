"""Removes at the end of a batch its snapshots, and the worktrees of runs that were killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.batch.journal.errors import FolderError
from agent.batch.workspace.copy import remove_snapshots

if TYPE_CHECKING:
    from agent.batch.journal.folder import RunFolder


def remove_leavings(folder: RunFolder) -> str:
    """Only while no run of the batch lives. Returns what could not be deleted, and why, or ""."""
    troubles = [remove_snapshots(folder.path)]
    try:
        batch = folder.read_batch()
    except FolderError as error:
        return str(error)
    if batch is not None and batch.bases:
        from agent.batch.workspace.worktree import clear_worktrees  # most batches have no worktrees

        troubles.append(clear_worktrees(folder.path, batch.bases))
    return "; ".join(filter(None, troubles))
