"""The spans of a batch: one for the batch, and a trace of its own for each task, linked to that of the batch.

zot.batch                   one start of a batch
zot.task ID                 from its first attempt to its outcome; a root
  wait rate_limit       while an attempt waits for the limits of the provider
  invoke_agent zot          an attempt: its run sends these spans, and those below, over its link
  chat MODEL                an attempt in a message batch
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import asdict

from agent.telemetry import genai
from supervisor.telemetry.telemetry import begin_telemetry
from wire.batch import records
from wire.batch.outcome import TaskStatus
from wire.events import Totals
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.batch.request import BatchRequest
    from supervisor.loop.loop import Loop
    from supervisor.telemetry.span_recorder import OpenSpan
    from supervisor.telemetry.telemetry import Telemetry
    from wire.batch.outcome import Outcome
    from wire.trace_context import TraceContext
    from wire.traces.span import Value

    Tell = Callable[[records.AnyRecord], None]


class _Task:
    """A task between its first attempt and its outcome."""

    def __init__(self, span: OpenSpan) -> None:
        self.span = span
        self.attempts = 0
        self.status = TaskStatus.INTERRUPTED
        """The status of its last attempt."""
        self.known_usd = 0.0
        self.has_unknown_cost = False
        self.began_ns = 0
        """When its attempt began."""
        self.wait: OpenSpan | None = None


class BatchSpans:
    """Of one start of a batch, as a context manager: entering it starts the export, leaving it exports the rest. `say`
    gets lines for the user, for failures."""

    def __init__(self, loop: Loop, request: BatchRequest, version: str, say: Callable[[str], None]) -> None:
        self._loop, self._version, self._say = loop, version, say
        self._is_in_message_batches = request.batch_api
        self._telemetry: Telemetry | None = None
        """None if the standard's variables turn it off."""
        self._tasks: dict[str, _Task] = {}

    def __enter__(self) -> None:
        self._telemetry = begin_telemetry(self._loop, self._version, self._say)
        if self._telemetry is not None:
            self._recorder = self._telemetry.recorder
            self._batch = self._recorder.begin("zot.batch")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._telemetry is not None:
            self._telemetry.close(at_once=kind is not None)

    def relay(self, line: bytes) -> None:
        """Takes a line with spans of a run, without its LF, as it came."""
        if self._telemetry is not None:
            self._telemetry.send(line + b"\n")

    def context_of(self, task: str) -> TraceContext | None:
        """The span of this task, which begins with its first attempt; None without export."""
        return None if self._telemetry is None else self._task(task).span.context

    def _task(self, task: str) -> _Task:
        if task not in self._tasks:
            links = (self._batch.context,)
            span = self._recorder.begin(f"zot.task {task}", None, {"zot.task.id": task}, links=links, is_root=True)
            self._tasks[task] = _Task(span)
        return self._tasks[task]

    def following(self, tell: Tell) -> Tell:
        """`tell`, preceded by the spans."""

        def told(record: records.AnyRecord) -> None:
            if self._telemetry is not None:
                self._seen(record)
            tell(record)

        return told

    def _seen(self, record: records.AnyRecord) -> None:
        match record:
            case records.BatchStart():
                self._batch.set({"zot.batch.tasks": record.tasks, "zot.batch.jobs": record.jobs})
            case records.TaskStart():
                self._task(record.task).began_ns = self._recorder.clock_ns()
            case records.TaskPaused():
                task = self._task(record.task)
                about: dict[str, Value | None] = {"zot.wait.for": "rate_limit", "zot.attempt.number": record.attempt}
                task.wait = self._recorder.begin("wait rate_limit", task.span.context, about)
            case records.TaskResumed():
                if (wait := self._task(record.task).wait) is not None:
                    wait.end()
            case records.TaskEnd():
                self._attempt_ended(record.outcome, final=record.final)
            case records.BatchEnd():
                self._end_batch(record)

    def _attempt_ended(self, outcome: Outcome, *, final: bool) -> None:
        task = self._task(outcome.id)
        task.attempts += 1
        task.status = outcome.status
        task.known_usd += outcome.known_cost_usd
        task.has_unknown_cost |= outcome.cost_usd is None
        task.span.tell("zot.attempt", {"zot.attempt.number": outcome.attempt, genai.STATUS: outcome.status.value})
        if self._is_in_message_batches and outcome.model:
            self._add_request(task, outcome)
        if final:
            self._end(outcome.id)

    def _add_request(self, task: _Task, outcome: Outcome) -> None:
        """The request of an attempt in a message batch, which no run has made."""
        span = self._recorder.begin(
            f"chat {outcome.model}", task.span.context,
            {genai.OPERATION: "chat", genai.PROVIDER: outcome.provider, genai.REQUEST_MODEL: outcome.model,
             **genai.usage(Totals(**asdict(outcome.usage), cost_usd=outcome.cost_usd))},
            kind="client", start_ns=task.began_ns or None,
        )  # fmt: skip
        span.end("" if outcome.status is TaskStatus.OK else outcome.status.value)

    def _end(self, id_: str) -> None:
        task = self._tasks.pop(id_)
        if task.wait is not None:
            task.wait.end()
        cost = None if task.has_unknown_cost else round(task.known_usd, 6)
        task.span.set({genai.STATUS: task.status.value, "zot.task.attempts": task.attempts, genai.COST_USD: cost})
        task.span.end("" if task.status is TaskStatus.OK else task.status.value)

    def _end_batch(self, end: records.BatchEnd) -> None:
        """Tasks without an outcome end as their last attempt has, or as interrupted."""
        for id_ in list(self._tasks):
            self._end(id_)
        self._batch.set(
            {
                "zot.batch.reason": end.reason,
                genai.EXIT_CODE: end.exit_code,
                genai.COST_USD: end.cost_usd,
                **{f"zot.batch.statuses.{status}": count for status, count in end.statuses.items() if count},
            }
        )
        partly = Status.PARTIAL_BATCH.value if end.reason == "done" else end.reason
        self._batch.end("" if end.exit_code == 0 else partly)
