"""Puts together what is known of a batch before its start."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from agent.batch.control.limits import jobs_of
from agent.batch.dry_run.extension_sets import ExtensionSet, extension_sets
from agent.batch.dry_run.forecast import BatchBounds, Forecast, TaskBounds, forecast
from agent.batch.dry_run.probe import Probe, probe
from agent.batch.host.candidates import host_order
from agent.batch.journal.folder import RunFolder
from agent.batch.journal.reader import read_journal
from agent.batch.journal.state import BatchState
from agent.batch.opening.backlog import find_backlog
from agent.batch.opening.resume import cut_off_runs
from agent.batch.tally import spent_in
from agent.batch.tasks.digest import Digests
from agent.model.catalogue import BATCH_FACTOR
from agent.request_checks import UsageError
from supervisor.home.zot_home import zot_home

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent.batch.request import BatchRequest
    from wire.batch.task import Task


class DryRun(msgspec.Struct, frozen=True, kw_only=True):
    """The record of `zot batch TASKS -o RUNDIR --dry-run --json`."""

    folder: str
    running_pid: int | None
    """The batch process that works on the folder now; null without one."""
    tasks: int
    new: list[str]
    """Ids of the tasks that would run for the first time."""
    again: list[str]
    """Ids of those that are done and would run again (`--redo`)."""
    interrupted: list[str]
    """Ids of those that had begun and have no result."""
    awaited: list[str]
    """Ids of those whose results would be fetched from message batches."""
    done: int
    """Tasks that are done and stay."""
    changed: list[str]
    """Of these, the ids of those whose inputs have changed since."""
    replayed: int
    """Of the tasks that would run, those that follow a cassette and ask no model."""
    jobs: int | None
    """Null if the nodes of a cluster say it."""
    workspace: str
    max_cost_usd: float | None
    spent_usd: float
    """US dollars of earlier starts whose cost is known."""
    extension_sets: list[ExtensionSet]
    probe: Probe | None
    """A run of one task, of the first set if it asks a model; null if no task would run."""
    forecast: Forecast | None
    """Null if no model would be asked, or the probe has sent no request."""


def dry_run(
    request: BatchRequest, tasks: Sequence[Task], version: str, *, say: Callable[[str], None], owns_process: bool = True
) -> DryRun:
    """Raises the errors of a start: `FolderError`, `JournalError`, `RedoError`, `UsageError`, `OSError`."""
    folder = RunFolder.for_batch(request.folder)
    host_order(request, request.run.home or zot_home(), version)  # its faults are those of the start
    is_running, pid = folder.running() if folder.journal.exists() else (False, None)
    state = read_journal(folder.journal).state if folder.journal.exists() else BatchState()
    backlog = find_backlog(request, tasks, folder, state, Digests(request))
    awaited = [task.id for task in backlog.left if task.id in state.sent.tasks]
    to_run = [task for task in backlog.left if task.id not in state.sent.tasks]
    if request.workspace == "worktree":
        _check_bases(request, to_run, folder)
    interrupted = {task.id for task in to_run if state.history(task.id).is_interrupted}
    again = backlog.redo
    asking = [task for task in to_run if task.replay is None and request.run.replay is None]
    sets = extension_sets(to_run, request)
    found = None
    if to_run:
        say("starting the extensions of one task, to measure them")
        candidates = asking or to_run
        first = next((task for task in candidates if task.id == sets[0].example), candidates[0])
        found = probe(first, request, version, owns_process=owns_process)
    spent = spent_in(state, request.reserve, () if is_running else cut_off_runs(folder, state).values())
    jobs = request.jobs if request.engine != "local" else jobs_of(request)
    bounds = BatchBounds(
        jobs=len(to_run) if jobs is None or request.batch_api else jobs,
        retries=request.retries,
        max_cost_usd=request.max_cost_usd,
        at_most_usd=spent.at_most_usd,
        price_factor=BATCH_FACTOR if request.batch_api else 1.0,
        is_for_an_hour=request.run.cache_ttl == "1h",
        finished=sum(state.statuses().values()),
        finished_usd=spent.cost_usd,
        finished_tokens=spent.usage.total,
    )  # fmt: skip
    return DryRun(
        folder=str(folder.path),
        running_pid=pid if is_running else None,
        tasks=len(tasks),
        new=[task.id for task in to_run if task.id not in again and task.id not in interrupted],
        again=[task.id for task in to_run if task.id in again],
        interrupted=[task.id for task in to_run if task.id in interrupted],
        awaited=awaited,
        done=len(backlog.comparison.done) - len(again),
        changed=[task for task in backlog.comparison.changed if task not in again],
        replayed=len(to_run) - len(asking),
        jobs=jobs,
        workspace=request.workspace,
        max_cost_usd=request.max_cost_usd,
        spent_usd=spent.known_usd,
        extension_sets=sets,
        probe=found,
        forecast=_forecast(asking, found, request, bounds),
    )


def _check_bases(request: BatchRequest, tasks: Sequence[Task], folder: RunFolder) -> None:
    """Raises `UsageError` if a task's folder has no commit for its worktree."""
    from agent.batch.workspace.base import BaseError, find_bases

    kept = folder.read_batch()
    try:
        find_bases((task.cwd or request.run.cwd or os.getcwd() for task in tasks), () if kept is None else kept.bases)
    except BaseError as error:
        raise UsageError(str(error)) from None


def _forecast(
    asking: Sequence[Task], found: Probe | None, request: BatchRequest, bounds: BatchBounds
) -> Forecast | None:
    if not asking or found is None or not found.request_bytes:
        return None
    run = request.run
    common = found.request_bytes - _prompt_bytes(next(task for task in asking if task.id == found.task))
    most_usd = request.task_max_cost_usd if request.task_max_cost_usd is not None else run.max_cost_usd
    return forecast(
        [
            TaskBounds(
                model=task.model or found.model,
                request_bytes=common + _prompt_bytes(task),
                max_steps=run.max_steps if task.max_steps is None else task.max_steps,
                max_cost_usd=most_usd if task.max_cost_usd is None else task.max_cost_usd,
            )
            for task in asking
        ],
        bounds,
    )


def _prompt_bytes(task: Task) -> int:
    """Bytes of the prompt and of the files that go with it."""
    return len(task.prompt.encode("utf-8", "replace")) + sum(map(_size, task.files))


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
