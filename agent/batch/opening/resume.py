"""The start of a batch on its folder: what is done, what was cut off, what has changed since, and what is to run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agent.batch.journal.errors import FolderError
from agent.batch.journal.folder import BatchFile
from agent.batch.opening.recovery import cut_off
from agent.batch.opening.redo import to_redo
from agent.batch.opening.settings import FLAGS, flags_of
from agent.batch.tasks.digest import Digests
from agent.batch.time_text import utc_now
from wire.batch.outcome import TaskStatus  # noqa: TC001  (msgspec reads the annotations)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.batch.journal.folder import RunFolder
    from agent.batch.journal.state import BatchState
    from agent.batch.journal.writer import Journal
    from agent.batch.request import BatchRequest
    from wire.batch.task import Task

NAMED = 5
"""Tasks that a notice names; of more it says the number."""


class Opening(msgspec.Struct, frozen=True):
    to_run: list[Task]
    """In their order."""
    done: dict[str, TaskStatus]
    """The tasks of this batch that stay as they are."""
    again: tuple[str, ...]
    """The tasks that are done and run again."""
    digests: dict[str, str]
    """Of each task to run."""
    notices: list[str]
    """Lines for the user."""


def open_batch(
    request: BatchRequest, tasks: Sequence[Task], folder: RunFolder, journal: Journal, *, version: str
) -> Opening:
    """Writes what the folder needs, ends the attempts in the journal that were cut off, and reopens what is to be
    redone. Raises `FolderError`, `RedoError`, and `JournalError` if that cannot be written."""
    state = journal.state
    _check_complete(folder, state)
    notices = list(journal.notices)
    digests = Digests(request)
    current = {task.id: digests.of(task) for task in tasks}
    done = {task.id: status for task in tasks if (status := state.history(task.id).status) is not None}
    changed = [task for task in done if (old := state.history(task).digest) and old != current[task]]
    redo = to_redo(request.redo, done, changed, current)
    interrupted = [task for task in state.interrupted() if task not in redo]
    for task in interrupted:
        history = state.history(task)
        events, was_paused = folder.events(task, history.running), task in state.paused
        outcome = cut_off(task, history.running, history.digest, events, was_paused=was_paused)
        journal.finished(outcome, final=False)
    for task in redo:
        journal.reopened(task)
        del done[task]
    notices += _notices(state, current, [task for task in changed if task not in redo], interrupted)
    _write(request, tasks, folder, digests, version)
    journal.sync()
    to_run = [task for task in tasks if task.id not in done]
    return Opening(
        to_run,
        done,
        tuple(task.id for task in to_run if task.id in redo),
        {task.id: current[task.id] for task in to_run},
        notices,
    )


def _check_complete(folder: RunFolder, state: BatchState) -> None:
    """Raises `FolderError` if there are runs that the journal knows nothing of: a journal that was lost would have all
    tasks paid for again. No crash does this, for a run begins after its line is safe."""
    if state.tasks or folder.read_batch() is None or not folder.runs.is_dir() or not any(folder.runs.iterdir()):
        return
    raise FolderError(
        f"{folder.journal}: has no runs, but {folder.runs} has some: the journal was lost. Restore it from a copy; or,"
        " to run all tasks again, name a new folder with -o"
    )


def _notices(
    state: BatchState, current: dict[str, str], changed: Sequence[str], interrupted: Sequence[str]
) -> list[str]:
    notices = []
    if interrupted:
        notices.append(f"{_tasks(interrupted)} had been started and had not ended: run again")
    if changed:
        notices.append(
            f"{_tasks(changed)} changed since the result was made, which stays: --redo changed runs them again"
        )
    if gone := [task for task in state.tasks if task not in current]:
        notices.append(f"{_tasks(gone)} in the folder, but not among the tasks of this start: left as they are")
    return notices


def _tasks(ids: Sequence[str]) -> str:
    shown = ", ".join(map(repr, ids[:NAMED]))
    more = f" and {len(ids) - NAMED} more" if len(ids) > NAMED else ""
    return f"{'task' if len(ids) == 1 else 'tasks'} {shown}{more}"


def _write(request: BatchRequest, tasks: Sequence[Task], folder: RunFolder, digests: Digests, version: str) -> None:
    """The tasks of earlier starts stay in the folder, with their results."""
    before = folder.read_batch()
    known = {task.id: task for task in folder.read_tasks()} if before is not None else {}
    known |= {task.id: task for task in tasks}
    folder.write_tasks(known.values())
    folder.write_batch(
        BatchFile(
            version=version,
            created=utc_now() if before is None else before.created,
            tasks=len(known),
            tasks_digest="",
            settings={"digest": digests.settings, FLAGS: flags_of(request)},
        )
    )
