"""Decides what a request of `zot batch ctl` changes. Pure.

A request that would change nothing is answered and leaves no line in the journal; one that cannot be carried out is
refused with the reason.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from agent.run.limits import dollars
from wire.batch import control
from wire.text import counted

if TYPE_CHECKING:
    from wire.batch.control import Change

Asked = control.SetJobs | control.SetBudget | control.Pause | control.Resume | control.Stop | control.Requeue
"""The requests that change something."""


class Place(Enum):
    """Where a task of the batch is."""

    UNKNOWN = "unknown"
    """The batch has no such task."""
    WAITING = "waiting"
    """It is to be started, now or later."""
    RUNNING = "running"
    DONE = "done"


class Standing(msgspec.Struct, frozen=True):
    """A batch at one moment."""

    jobs: int
    max_cost_usd: float | None
    at_most_usd: float
    """US dollars that count for `max_cost_usd`."""
    running: int
    is_paused: bool
    is_draining: bool
    """Whether no new tasks start, whatever a budget allows."""
    is_stopping: bool
    place: Place = Place.UNKNOWN
    """Of the task that a request names."""
    is_batch_api: bool = False
    """Whether runs are requests in message batches, which are with the provider."""
    most_jobs: int = control.MOST_JOBS
    """Maximum of runs at the same time, by the descriptors that the process may have."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    what: Change
    words: str
    is_changed: bool = True
    """False if there is nothing to do."""
    value: float | None = None
    before: float | None = None
    task: str = ""
    now: bool = False
    """Whether runs are aborted, and their tasks run again."""


AT_PROVIDER = "with --batch-api the tasks under way are with the provider, who answers them: leave --now out"


class RefusedError(Exception):
    """The request cannot be carried out; the text says why and what to do."""


def decide(asked: Asked, now: Standing) -> Decision:
    """Raises `RefusedError`."""
    if now.is_stopping and not isinstance(asked, control.Stop):
        raise RefusedError("the batch is stopping: start it again when it has ended")
    if isinstance(asked, control.SetJobs):
        return _jobs(asked.jobs, now)
    if isinstance(asked, control.SetBudget):
        return _budget(asked.usd, now)
    if isinstance(asked, control.Pause):
        return _pause(now, is_now=asked.now)
    if isinstance(asked, control.Resume):
        if now.is_paused:
            return Decision(what="resume", words=_draining("resumed", now))
        return Decision(what="resume", words="nothing to do: the batch is not paused", is_changed=False)
    if isinstance(asked, control.Stop):
        if now.is_stopping:
            return Decision(what="stop", words="nothing to do: the batch is stopping", is_changed=False)
        aborted = f": {counted(now.running, 'run')} aborted" if now.running else ""
        return Decision(what="stop", words=f"stopping{aborted}; the next start runs again what has not ended")
    return _requeue(asked.task, now, is_now=asked.now)


def _jobs(wanted: int, now: Standing) -> Decision:
    if now.is_batch_api:
        raise RefusedError("jobs has no effect with --batch-api: all tasks are sent together")
    jobs = min(wanted, now.most_jobs)
    short = f" ({wanted} need more open files than this process may have)" if jobs < wanted else ""
    if jobs == now.jobs:
        return Decision(what="jobs", words=f"nothing to do: jobs {jobs} already{short}", is_changed=False)
    words = f"jobs {now.jobs} → {jobs}{short}"
    if jobs < now.running:
        words += f": of {now.running} runs, {now.running - jobs} end before the next one starts"
    return Decision(what="jobs", words=_draining(words, now), value=float(jobs), before=float(now.jobs))


def _budget(usd: float, now: Standing) -> Decision:
    if usd == now.max_cost_usd:
        return Decision(what="budget", words=f"nothing to do: budget {money(usd)} already", is_changed=False)
    words = budget_words(now.max_cost_usd, usd)
    if now.at_most_usd >= usd:
        words += f": {money(now.at_most_usd)} is used or reserved, so nothing more starts; running ones end"
    return Decision(what="budget", words=_draining(words, now), value=usd, before=now.max_cost_usd)


def budget_words(before: float | None, usd: float) -> str:
    """`budget $20.00 → $40.00`."""
    return f"budget {'none' if before is None else money(before)} → {money(usd)}"


def money(usd: float) -> str:
    return f"${dollars(usd, 2)}"


def _pause(now: Standing, *, is_now: bool) -> Decision:
    if now.is_paused and not (is_now and now.running):
        return Decision(what="pause", words="nothing to do: the batch is paused", is_changed=False)
    if is_now and now.is_batch_api:
        raise RefusedError(AT_PROVIDER)
    if not is_now or not now.running:
        words = "paused: no new starts, no new requests to the model"
        return Decision(what="pause", words=words)
    words = f"paused: {counted(now.running, 'run')} aborted; their tasks start again after resume"
    return Decision(what="pause", words=words, now=True)


def _requeue(task: str, now: Standing, *, is_now: bool) -> Decision:
    if now.place is Place.UNKNOWN:
        raise RefusedError(f"{control.UNKNOWN_TASK} in this batch: {task[:200]!r}")
    if now.place is Place.WAITING:
        return Decision(
            what="requeue", words="nothing to do: the task waits for its start", task=task, is_changed=False
        )
    if now.place is Place.RUNNING:
        if now.is_batch_api:
            raise RefusedError("the task is with the provider: requeue it when its result is here")
        if not is_now:
            raise RefusedError("the task runs now: --now aborts the run and starts the task again")
        after = " after resume" if now.is_paused else ""
        words = f"the run is aborted, and the task starts again{after}"
        return Decision(what="requeue", words=words, task=task, now=True)
    words = "the task runs again; its result stands until then"
    if now.is_draining:
        words += ". The batch drains: the next start runs it"
    return Decision(what="requeue", words=words, task=task)


def _draining(words: str, now: Standing) -> str:
    return f"{words}. The batch drains: no new tasks start" if now.is_draining else words
