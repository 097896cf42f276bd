"""Carries out the changes of a running batch: each is a line of its journal, and is told once that is safe."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from agent.batch.control.decision import Asked, Decision, Place, Standing, decide
from agent.batch.log import utc_now
from agent.batch.opening.resume import writers_of_one_folder
from agent.batch.tasks.digest import Digests
from wire.batch import control, records
from wire.batch.journal_lines import Changed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent.batch.attempts import Attempts
    from agent.batch.control.limits import BatchLimits
    from agent.batch.journal.writer import Journal
    from agent.batch.log import BatchLog
    from agent.batch.request import BatchControls, BatchRequest
    from agent.batch.reserve import Spent
    from agent.batch.tally import Tally
    from agent.batch.task_queue import TaskQueue
    from wire.batch.task import Task

PAUSED = "paused by the user"
CALLED_OFF = "aborted by zot batch ctl, to be run again"


class BatchParts(NamedTuple):
    """The parts of a running batch that changes and answers need."""

    request: BatchRequest
    tasks: Mapping[str, Task]
    """By id."""
    controls: BatchControls
    limits: BatchLimits
    attempts: Attempts
    queue: TaskQueue
    tally: Tally
    journal: Journal
    log: BatchLog
    tell: Callable[[records.AnyRecord], None]
    spent: Callable[[], Spent]

    def place(self, task: str) -> Place:
        """Where a task is."""
        if task not in self.tasks:
            return Place.UNKNOWN
        if self.attempts.find(task) is not None:
            return Place.RUNNING
        waits = self.queue.before(task) is not None or self.queue.wait_of(task) is not None
        return Place.WAITING if waits else Place.DONE


class BatchChanges:
    """Changes take effect at once; what follows from them, as the start of a task, is in the journal after them."""

    def __init__(self, parts: BatchParts) -> None:
        self._parts = parts
        self._is_paused = False
        self._digests: Digests | None = None

    def heed_keys(self) -> None:
        """Follows the switch that pauses the batch, if a key has moved it."""
        if self._parts.controls.is_paused != self._is_paused:
            self._switch_pause()
            self._record(Decision(what="pause" if self._is_paused else "resume", words=""), "key")

    def carry_out(self, asked: Asked, reply: Callable[[control.Reply], None]) -> None:
        """Raises `RefusedError`."""
        parts = self._parts
        jobs = parts.limits.allowed(asked.jobs) if isinstance(asked, control.SetJobs) else control.MOST_JOBS
        standing = Standing(
            jobs=parts.limits.jobs,
            max_cost_usd=parts.limits.max_cost_usd,
            at_most_usd=parts.spent().at_most_usd,
            running=parts.attempts.count,
            is_paused=parts.controls.is_paused,
            is_draining=parts.controls.is_draining,
            is_stopping=parts.controls.is_stopping,
            place=parts.place(asked.task) if isinstance(asked, control.Requeue) else Place.UNKNOWN,
            is_batch_api=parts.request.batch_api,
            most_jobs=jobs,
        )
        decision = decide(asked, standing)
        words = decision.words
        if decision.what == "jobs" and decision.before == 1 and parts.request.workspace == "shared":
            words += "".join(
                f"\n{line}" for line in [writers_of_one_folder(self._waiting(), parts.request.run)] if line
            )
        told = control.Changed(asked.id, decision.what, decision.is_changed, words)
        if decision.is_changed:
            self._record(decision, "ctl", lambda: reply(told))
            self._act(decision)
        else:
            reply(told)

    def _waiting(self) -> list[Task]:
        return [task for task in self._parts.tasks.values() if not self._parts.journal.state.history(task.id).is_done]

    def _act(self, decision: Decision) -> None:
        parts = self._parts
        if decision.what == "jobs":
            assert decision.value is not None
            parts.limits.choose(int(decision.value))
            parts.attempts.set_jobs(parts.limits.jobs)
        elif decision.what == "budget":
            assert decision.value is not None
            parts.limits.set_max_cost(decision.value)
            parts.attempts.set_max_cost(decision.value)
        elif decision.what == "stop":
            parts.controls.is_draining = parts.controls.is_stopping = True
        elif decision.what == "requeue":
            self._requeue(decision)
        else:
            parts.controls.is_paused = decision.what == "pause"
            if parts.controls.is_paused != self._is_paused:
                self._switch_pause()
            if decision.now:
                parts.attempts.call_off(CALLED_OFF)

    def _switch_pause(self) -> None:
        parts = self._parts
        self._is_paused = parts.controls.is_paused
        if self._is_paused:
            parts.attempts.models.pause(PAUSED)
        else:
            parts.attempts.models.resume()

    def _requeue(self, decision: Decision) -> None:
        parts, task = self._parts, self._parts.tasks[decision.task]
        if decision.now:
            parts.attempts.call_off(CALLED_OFF, decision.task)
            return
        if (status := parts.journal.state.history(task.id).status) is not None:
            parts.journal.reopened(task.id)
            parts.tally.task_reopened(task.id, status)
        if self._digests is None:
            self._digests = Digests(parts.request)
        parts.queue.add([task], {task.id: self._digests.of(task)})
        parts.limits.stop = None  # its failure counts no longer

    def _record(
        self, decision: Decision, by: Literal["ctl", "key"], on_safe: Callable[[], None] = lambda: None
    ) -> None:
        journal = self._parts.journal
        fields = {"value": decision.value, "before": decision.before, "task": decision.task, "now": decision.now}
        journal.append(Changed, what=decision.what, by=by, **fields)
        record = records.BatchChanged(what=decision.what, by=by, time=utc_now(), **fields)  # type: ignore[arg-type]
        journal.when_durable(partial(self._recorded, record, on_safe))

    def _recorded(self, record: records.BatchChanged, on_safe: Callable[[], None]) -> None:
        log = self._parts.log
        log.info("batch changed", what=record.what, value=record.value, task=record.task, now=record.now, by=record.by)
        self._parts.tell(record)
        on_safe()
