"""Finds which tasks of a batch are left to run in its folder: what is done stays done, unless `--redo` names it. Only
reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agent.batch.journal.errors import FolderError
from agent.batch.opening.changed_tasks import Comparison
from agent.batch.tasks.repeat import base_id
from wire.batch.outcome import TaskStatus
from wire.suggestions import no_such
from wire.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agent.batch.journal.folder import RunFolder
    from agent.batch.journal.state import BatchState
    from agent.batch.request import BatchRequest
    from agent.batch.tasks.digest import Digests
    from wire.batch.task import Task

FAILED, CHANGED, ALL = "failed", "changed", "all"


class Backlog(msgspec.Struct, frozen=True):
    known: dict[str, Task] | None
    """The tasks of earlier starts, by id; None if they are exactly those of this start."""
    comparison: Comparison
    redo: set[str]
    """Of the done tasks, the ones that are run again; those that were requeued in an earlier start are among them."""
    left: list[Task]
    """The tasks to run, in their order; those included whose results are awaited from message batches."""


def find_backlog(
    request: BatchRequest,
    tasks: Sequence[Task],
    folder: RunFolder,
    state: BatchState,
    digests: Digests,
    *,
    at_once: bool = True,
) -> Backlog:
    """Without `at_once` the comparison may be left incomplete. Raises `FolderError` if the batch must not begin in this
    folder, and `RedoError`."""
    _check_complete(folder, state)
    if state.sent.tasks and not request.batch_api:
        raise FolderError(
            f"{folder.journal}: {counted(len(state.sent.tasks), 'task')} went into message batches, whose results are"
            " not recorded: give --batch-api, or use zot batch retry"
        )
    known = None if folder.has_tasks(tasks) else _known_tasks(folder)
    if known is not None:
        _check_repetitions(folder, known, tasks)
    found = Comparison(tasks, state, digests, at_once=at_once or CHANGED in request.redo)
    redo = tasks_to_redo(request.redo, found.done, found.changed, tasks) | (state.requeued & found.done.keys())
    left = [task for task in tasks if task.id in found.rest or task.id in redo]
    return Backlog(known, found, redo, left)


def _check_complete(folder: RunFolder, state: BatchState) -> None:
    """Raises `FolderError` if there are runs that the journal knows nothing of: a journal that was lost would have all
    tasks paid for again. No crash does this, for a run begins after its line is safe."""
    if state.tasks or folder.read_batch() is None or not folder.runs.is_dir() or not any(folder.runs.iterdir()):
        return
    raise FolderError(
        f"{folder.journal}: has no runs, but {folder.runs} has some: the journal was lost. Restore it from a copy; or,"
        " to run all tasks again, name a new folder with -o"
    )


def _known_tasks(folder: RunFolder) -> dict[str, Task]:
    """The tasks of earlier starts, by id. Raises `FolderError`."""
    return {} if folder.read_batch() is None else {task.id: task for task in folder.read_tasks()}


def _check_repetitions(folder: RunFolder, known: Mapping[str, Task], tasks: Iterable[Task]) -> None:
    """Raises `FolderError` if an id of `--repeat` is that of another task in the folder, whose result would count, or
    if a task is repeated there and not here, or the other way: its one run would count as a repetition more."""
    repeated = {base_id(task.id, task.repeat) for task in known.values() if task.repeat}
    for task in tasks:
        base = base_id(task.id, task.repeat)
        if task.id in known and known[task.id].repeat != task.repeat:
            number = task.repeat or known[task.id].repeat
            raise FolderError(
                f"{folder.tasks_file}: its task {task.id!r} is not the one of this start: one of them is repetition"
                f" {number} of {base_id(task.id, number)!r}. Give the task another id, or name a new folder with -o"
            )
        if not task.repeat and task.id in repeated:
            raise FolderError(
                f"{folder.tasks_file}: repeats the task {task.id!r}: give --repeat again, or name a new folder with -o"
            )
        if task.repeat and base in known:
            raise FolderError(
                f"{folder.tasks_file}: has the task {base!r} without repetitions: leave --repeat out, or name a new"
                " folder with -o"
            )


class RedoError(ValueError):
    """`--redo` names a task that is not in the batch."""


def tasks_to_redo(
    words: Iterable[str], done: Mapping[str, TaskStatus], changed: Iterable[str], tasks: Iterable[Task]
) -> set[str]:
    """The ids of the done tasks that the words name. `done` has the status of each done task, `changed` the done tasks
    whose inputs have changed. A task is named by its id even if that is `failed`, `changed` or `all`; the id of a task
    that is repeated names all its repetitions. Raises `RedoError`."""
    named: dict[str, set[str]] = {}
    words = tuple(words)
    for task in tasks if words else ():
        named.setdefault(base_id(task.id, task.repeat), set()).add(task.id)
        named[task.id] = {task.id}
    chosen = set[str]()
    for word in words:
        if word in named:
            chosen |= named[word] & done.keys()
        elif word == FAILED:
            chosen |= {task for task, status in done.items() if status is not TaskStatus.OK}
        elif word == CHANGED:
            chosen |= set(changed)
        elif word == ALL:
            chosen |= done.keys()
        else:
            raise RedoError(f"--redo: {no_such('task', word, sorted(named))}")
    return chosen
