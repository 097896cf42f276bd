"""The end of a batch on its folder: its last line, the results, and no copies that only the runs needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.batch.journal.errors import FolderError, JournalError
from agent.batch.journal.shards import write_results
from agent.batch.workspace.leavings import remove_leavings
from supervisor.loop.steps import run_in_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.batch.journal.folder import RunFolder
    from agent.batch.journal.writer import Journal
    from agent.batch.request import BatchRequest, StopReason
    from supervisor.loop.loop import Loop


def close_folder(
    loop: Loop,
    request: BatchRequest,
    folder: RunFolder,
    journal: Journal,
    reason: StopReason,
    limit: str,
    say: Callable[[str], None],
) -> None:
    """`limit` is the flag of the limit that was used up, or empty. After a failure of the journal it writes nothing.
    Work that takes long with many tasks is done in passes of `loop`."""
    if request.workspace != "shared" and (left := remove_leavings(folder)):
        say(f"zot batch: the copies to compare with, or worktrees, cannot be removed: {left}")
    if reason == "failed":
        return
    journal.closed(reason, limit)
    journal.sync()
    try:
        run_in_steps(loop, write_results(folder, journal.state))
    except (OSError, JournalError, FolderError) as error:
        say(f"zot batch: {folder.results_file} cannot be written ({error}); the journal has all")
    run_in_steps(loop, journal.checkpoint())
