"""A batch that does what its test says, and its program: `python -m tests.support.fake_batch [FLAG]...`.

It has three tasks. The first one ends at once; the others run until the batch drains or stops. A signal drains, the
second one stops. SIGUSR1 ends the second task with a failure.
"""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

from agent.batch.request import BatchControls, BatchView, RunState
from cli.batch.output.outputs import Outputs
from cli.batch.output.stderr import ProgressStyle
from supervisor.loop.loop import Loop
from tests.cli.batch.views import outcome, run, view
from wire.batch.outcome import TaskStatus, Usage
from wire.batch.records import BatchEnd, BatchStart, TaskEnd, TaskStart

if TYPE_CHECKING:
    from wire.batch.outcome import Outcome
    from wire.batch.records import AnyRecord

TIME = "2026-01-01T12:00:00Z"


class FakeBatch:
    """`outputs` is told what a batch tells. `events` are lines of the first task."""

    def __init__(self, outputs: Outputs, events: tuple[bytes, ...] = (), *, waits: bool = True) -> None:
        self.loop = Loop()
        self.controls = BatchControls()
        self.running = ["two", "three"]
        self.statuses = {"ok": 0}
        self._waits = waits
        self._outputs = outputs
        self._events = events
        self._elapsed = 0.0

    def view(self) -> BatchView:
        self._elapsed += 0.25
        state = RunState.STOPPING if self.controls.is_stopping else RunState.RUNNING
        return view(
            tasks=3,
            statuses=self.statuses,
            waiting=0,
            runs=tuple(run(name, state, self._elapsed) for name in self.running),
            retried=0,
            elapsed_s=self._elapsed,
            eta_s=None,
            is_paused_by_user=self.controls.is_paused,
            is_draining=self.controls.is_draining,
        )

    def tell(self, record: AnyRecord) -> None:
        self._outputs.tell(record)

    def end(self, ended: Outcome, *, final: bool = True) -> None:
        if ended.id in self.running:
            self.running.remove(ended.id)
        if final:
            self.statuses[ended.status.value] = self.statuses.get(ended.status.value, 0) + 1
        self.tell(TaskEnd(task=ended.id, attempt=ended.attempt, final=final, outcome=ended))

    def run(self) -> BatchEnd:
        with self.loop.signals([signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1], self._on_signal):
            return self._run()

    def _run(self) -> BatchEnd:
        self.tell(BatchStart(zot_version="1", folder="/runs", tasks=3, done=0, jobs=2, time=TIME))
        self.tell(TaskStart(task="one", attempt=1, time=TIME))
        for line in self._events:
            self.loop.run_until(lambda: not self._outputs.is_full() or self._outputs.broken is not None)
            self._outputs.on_event("one", 1, line)
        self.end(outcome("one"))
        self._outputs.say("a remark of the batch")
        if self._waits:
            self.loop.run_until(lambda: self.controls.is_draining or self.controls.is_stopping)
            self.loop.run_until(lambda: self.controls.is_stopping or "two" not in self.running)
        stopped = self.controls.is_stopping
        for name in list(self.running):
            self.end(outcome(name, TaskStatus.INTERRUPTED if stopped else TaskStatus.OK), final=not stopped)
        reason = "stopped" if stopped else "drained" if self.controls.is_draining else "done"
        end = BatchEnd(
            reason=reason,  # type: ignore[arg-type]
            exit_code=130 if stopped or self.controls.is_draining else 10 if set(self.statuses) != {"ok"} else 0,
            tasks=3,
            statuses=self.statuses,
            usage=Usage(900, 300),
            cost_usd=0.0123,
            known_cost_usd=0.0123,
            duration_ms=1000,
            time=TIME,
        )
        self.tell(end)
        return end

    def _on_signal(self, number: signal.Signals) -> None:
        if number is signal.SIGUSR1:
            self.end(outcome("two", TaskStatus.CRASHED, reason="killed by SIGKILL"))
        elif self.controls.is_draining:
            self.controls.is_stopping = True
        else:
            self.controls.is_draining = True


def main(flags: list[str]) -> int:
    show = (
        ProgressStyle.NOTHING
        if "-q" in flags
        else ProgressStyle.LINES
        if "--no-progress" in flags
        else ProgressStyle.AUTO
    )
    outputs = Outputs(show, "runs", as_json="--json" in flags)
    if "--crash" in flags:
        FakeBatch._run = _crash  # type: ignore[method-assign]
    batch = FakeBatch(outputs, waits="--short" not in flags)
    return outputs.run(batch)


def _crash(self: FakeBatch) -> BatchEnd:
    self.tell(BatchStart(zot_version="1", folder="/runs", tasks=3, done=0, jobs=2, time=TIME))
    raise RuntimeError("a defect")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
