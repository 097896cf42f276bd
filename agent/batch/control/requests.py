"""Answers the requests of `zot batch ctl`: changes the batch, or tells about it and its tasks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent.batch.control.decision import Place, RefusedError
from agent.batch.journal.errors import FolderError, JournalError
from agent.batch.journal.shards import read_outcome
from wire.batch import control
from wire.batch.outcome import Usage
from wire.control import ErrorReply
from wire.text import counted, valid_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.batch.control.changes import BatchChanges, BatchParts
    from agent.batch.journal.folder import RunFolder
    from agent.batch.request import BatchView


class BatchRequests:
    def __init__(
        self, parts: BatchParts, changes: BatchChanges, folder: RunFolder, version: str, view: Callable[[], BatchView]
    ) -> None:
        self._parts = parts
        self._changes = changes
        self._folder = folder
        self._version = version
        self._view = view

    def answer(self, request: control.Request, reply: Callable[[control.Reply], None]) -> None:
        """Calls `reply` once: now, or when the change is safe on the disk."""
        try:
            if isinstance(request, control.GetState):
                reply(self._state(request.id))
            elif isinstance(request, control.Show):
                reply(self._task(request.id, request.task))
            else:
                self._changes.carry_out(request, reply)
        except (RefusedError, JournalError, FolderError, OSError) as error:
            reply(ErrorReply(valid_text(str(error)), request.id))

    def _state(self, id_: str) -> control.BatchState:
        parts, view = self._parts, self._view()
        spent = parts.spent()
        return control.BatchState(
            id_,
            folder=valid_text(str(self._folder.path)),
            pid=os.getpid(),
            version=self._version,
            tasks=view.tasks,
            statuses=dict(view.statuses),
            running=len(view.runs),
            waiting=parts.queue.left,
            jobs=parts.limits.jobs,
            max_cost_usd=parts.limits.max_cost_usd,
            known_cost_usd=spent.known_usd,
            reserved_usd=spent.reserved_usd,
            is_paused=parts.controls.is_paused,
            is_draining=view.is_draining,
            is_stopping=parts.controls.is_stopping,
            why=parts.limits.stop.words if parts.limits.stop is not None else view.why_paused,
            elapsed_s=round(view.elapsed_s, 3),
            eta_s=view.eta_s,
            nodes=tuple(
                control.NodeState(node.name, node.address, node.runs, node.jobs, valid_text(node.trouble))
                for node in view.nodes
            ),
        )

    def _task(self, id_: str, task: str) -> control.TaskState:
        """Raises `RefusedError` for an unknown one, `JournalError` and `OSError`."""
        parts = self._parts
        place, history = parts.place(task), parts.journal.state.history(task)
        if place is Place.UNKNOWN:
            raise RefusedError(f"{control.UNKNOWN_TASK} in this batch: {task[:200]!r}")
        attempts, step, usage, since_s = history.attempts, 0, Usage(), 0.0
        cost: float | None = 0.0
        phase = reason = waits_for = ""
        if place is Place.RUNNING:
            active = parts.attempts.find(task)
            assert active is not None
            attempts, phase = active.attempt, "starting"
            if parts.request.batch_api:
                phase, waits_for = "sent", "its result in a message batch"
            if active.run is not None:
                run = active.run.view()
                phase, step, usage, cost, since_s = run.state.value, run.step, run.usage, run.cost_usd, run.since_s
                waits_for = run.why_paused
        elif history.status is not None:
            outcome = read_outcome(self._folder, task, history)
            step, usage, cost, reason = outcome.steps, outcome.usage, outcome.cost_usd, outcome.reason
            since_s = outcome.duration_ms / 1000
        if place is not Place.RUNNING and (place is Place.WAITING or history.status is None):
            waits_for = self._why_waiting(task)
        return control.TaskState(
            id_,
            task=task,
            state="running" if place is Place.RUNNING else "done" if place is Place.DONE else "waiting",
            phase=phase,
            attempts=attempts,
            failed=history.failed,
            status="" if history.status is None else history.status.value,
            reason=valid_text(reason),
            waits_for=waits_for,
            step=step,
            usage=usage,
            cost_usd=cost,
            since_s=round(since_s, 3),
            events=valid_text(str(self._folder.events(task, attempts))) if attempts else "",
            node=parts.journal.state.nodes.get(task, ""),
        )

    def _why_waiting(self, task: str) -> str:
        parts = self._parts
        if (wait_s := parts.queue.wait_of(task)) is not None:
            return f"the time of its next attempt, in {wait_s:.0f} s"
        before = parts.queue.before(task)
        if before is None:
            return "the next start of the batch: its run was interrupted"
        if parts.controls.is_draining:
            return "the next start of the batch: this one drains"
        if parts.limits.stop is not None:
            return f"the next start of the batch: {parts.limits.stop.words}"
        if parts.controls.is_paused:
            return "zot batch ctl resume: the batch is paused"
        if before:
            return f"{counted(before, 'task')} before it"
        return "a running task to end"
