"""Spans about the extensions of one supervisor: their starts, ends and waits, the verdicts of guards, and calls.

    start extension NAME       from the start of a process until it is ready, or has failed
    exit extension NAME        an end that nobody had asked for, at its moment
    leak extension NAME        its memory only grows; it goes on
    wait extension NAME        until it is restarted, or while requests wait for its start
    verdict EVENT NAME         one question to a guard
    execute_tool TOOL          a call that has no span of its caller

Texts of extensions, arguments and results are left out without `has_content`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure
from supervisor.telemetry.error_types import BAD_ANSWER, ERRORS, TOOL_ERROR
from wire.dialects.verdict import VerdictKind
from wire.text import one_line, valid_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.accounting.fall import Fall
    from supervisor.calls.merged_registrations import OwnedTool
    from supervisor.calls.tool_call import ToolAnswer
    from supervisor.calls.verdict_request import Asked, Judged
    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.extension.extension import Extension
    from supervisor.extension.worker import Worker
    from supervisor.supervisor import Supervisor
    from supervisor.telemetry.span_recorder import OpenSpan, SpanRecorder
    from wire.dialects.verdict import GuardVerdict
    from wire.trace_context import TraceContext

NAME = "zot.extension.name"
PID = "process.pid"
OUTCOMES = {VerdictKind.DENY: "deny", VerdictKind.ASK: "ask", VerdictKind.NO_VERDICT: "none"}
"""The outcomes of verdicts other than `allow` and `rewrite`."""
CONTENT_LENGTH = 16 * 1024
"""Maximum number of characters of a text of an extension, and of arguments and results."""
STARTING = frozenset({WorkerState.SPAWNED, WorkerState.WAKING, WorkerState.GREETED})
NEVER_READY = "stopped"
"""The `error.type` of a start that the host has ended before the extension was ready."""


def watch_extensions(
    supervisor: Supervisor,
    recorder: SpanRecorder,
    current: Callable[[str | None], TraceContext | None] = lambda _call: None,
    *,
    has_content: bool = False,
) -> ExtensionSpans:
    """Records spans from now on: call it before the extensions start. `current` gets the id of a call of a tool, or
    None, and returns the span that goes on now, of this call, the run or its prompt; with None each span begins a trace
    of its own, or is below the recorder's `outside`."""
    spans = ExtensionSpans(supervisor, recorder, current, has_content=has_content)
    supervisor.watch_starts(spans.starting)
    supervisor.on_change.append(lambda _extension: spans.look())
    supervisor.on_sample.append(spans.look)  # the versions beside the current one tell of no changes
    supervisor.on_fall.append(spans.fell)
    supervisor.verdicts.on_judged.append(spans.judged)
    supervisor.begin_call_span = spans.begin_call
    return spans


class ExtensionSpans:
    """Made by `watch_extensions`. `close` it after the end of the supervisor."""

    def __init__(
        self,
        supervisor: Supervisor,
        recorder: SpanRecorder,
        current: Callable[[str | None], TraceContext | None],
        *,
        has_content: bool,
    ) -> None:
        self._loop = supervisor.loop
        self._recorder = recorder
        self._current = current
        self._has_content = has_content
        self._starts: dict[Worker, tuple[str, OpenSpan]] = {}
        """The starts that go on, each with the name of the extension."""
        self._contexts: dict[Worker, TraceContext] = {}
        """The start of each worker whose process runs."""
        self._fallen: dict[tuple[str, int], tuple[Worker, float]] = {}
        """By extension and place: the worker that fell last, and when, in seconds of the loop's clock."""

    def close(self) -> None:
        """Ends the spans of starts that did not come to an end."""
        for _, span in self._starts.values():
            span.end(NEVER_READY)
        self._starts.clear()

    def _ns(self, when: float) -> int:
        """A time of the loop's clock, in nanoseconds since the epoch."""
        return self._recorder.clock_ns() - int((self._loop.clock() - when) * 1e9)

    # --- starts and ends ------------------------------------------------------------------------------------

    def starting(self, found: FoundExtension, worker: Worker) -> dict[str, str]:
        """Called before the process of a worker is started. Returns variables for it, which name the span."""
        name, now = found.manifest.name, self._loop.clock()
        fallen, fell_at = self._fallen.pop((name, worker.index), (None, 0.0))
        is_restart = fallen is not None and fallen.state is WorkerState.BACKOFF
        if is_restart:
            self._wait(name, "restart", fell_at, now)
        version = found.manifest.version
        span = self._recorder.begin(
            f"start extension {name}",
            self._current(None),
            {
                NAME: valid_text(name),
                "zot.extension.worker": worker.index + 1 if found.manifest.workers > 1 else None,
                "zot.extension.version": valid_text(version) if version else None,
                "zot.extension.dialect": found.manifest.dialect,
                "zot.extension.is_restart": is_restart,
            },
        )
        self._contexts = {other: context for other, context in self._contexts.items() if other.is_running}
        self._starts[worker], self._contexts[worker] = (name, span), span.context
        return span.context.environment()

    def look(self) -> None:
        """Ends the spans of starts that are over."""
        for worker, (name, span) in list(self._starts.items()):
            if worker.state in STARTING:
                continue
            needed_since = getattr(worker, "needed_since", None)
            if needed_since is not None:
                self._wait(name, "start", needed_since, self._loop.clock(), len(worker.requests.pending))
            if worker.state is WorkerState.READY:
                tools = len(worker.registry.tools)
                span.set({"zot.extension.protocol": worker.spoken or None, "zot.extension.tools": tools})
                self._end_start(worker, worker.state_since)
            else:
                self._end_start(worker, worker.state_since, NEVER_READY)

    def _end_start(self, worker: Worker, when: float, error_type: str = "", message: str = "") -> None:
        _, span = self._starts.pop(worker, (None, None))
        if span is not None:
            span.set({PID: worker.pid})
            span.end(error_type, message, end_ns=self._ns(when))

    def fell(self, extension: Extension, worker: Worker, fall: Fall) -> None:
        """Takes each fall of an extension."""
        if fall.kind == "no_verdict":
            return  # its verdict has a span
        self._end_start(worker, self._loop.clock(), fall.kind, fall.cause)
        if fall.kind != "leak":
            place = extension.name, worker.index
            self._fallen[place] = worker, self._loop.clock()
            if fall.kind == "given_up":
                del self._fallen[place]
        if fall.pid is None:
            return  # there was no process
        started = self._contexts.get(worker)
        span = self._recorder.begin(
            f"{'leak' if fall.kind == 'leak' else 'exit'} extension {extension.name}",
            self._current(None),
            {NAME: valid_text(extension.name), PID: fall.pid, "zot.extension.requests_lost": fall.pending},
            links=() if started is None else (started,),
        )
        span.end(fall.kind, fall.cause)

    def _wait(self, name: str, reason: str, began: float, ended: float, requests: int | None = None) -> None:
        about = {NAME: valid_text(name), "zot.wait.for": reason, "zot.wait.requests": requests}
        span = self._recorder.begin(f"wait extension {name}", self._current(None), about, start_ns=self._ns(began))
        span.end(end_ns=self._ns(ended))

    # --- verdicts -------------------------------------------------------------------------------------------

    def judged(self, judged: Judged) -> None:
        """Takes each judged event."""
        for asked in judged.asked:
            self._record_verdict(judged, asked)

    def _record_verdict(self, judged: Judged, asked: Asked) -> None:
        event, guard, verdict = judged.event, asked.guard, asked.verdict
        missing = verdict.kind is VerdictKind.NO_VERDICT
        span = self._recorder.begin(
            f"verdict {event.event} {guard.name}",
            self._current(event.tool_id),
            {
                NAME: valid_text(guard.name),
                "zot.verdict.event": event.event,
                "zot.verdict.outcome": outcome_of(verdict),
                "zot.verdict.blocked": judged.judgement.blocked_by == guard.name,
                "gen_ai.tool.name": event.tool_name,
                "gen_ai.tool.call.id": event.tool_id,
                "zot.verdict.reason": self._content(verdict.reason),
            },
            start_ns=self._ns(asked.asked_at),
        )
        failure = Failure(verdict.failure) if verdict.failure else Failure.BAD_ANSWER
        span.end(ERRORS[failure] if missing else "", end_ns=self._ns(asked.answered_at))

    def _content(self, text: str) -> str | None:
        """A text that is only sent with `has_content`; None without it, or if there is none."""
        if not (text and self._has_content):
            return None
        return valid_text(text if len(text) <= CONTENT_LENGTH else f"{text[: CONTENT_LENGTH - 2]} …")

    # --- calls ----------------------------------------------------------------------------------------------

    def begin_call(
        self, owned: OwnedTool, args: bytes, tool_id: str, done: Callable[[ToolAnswer], None]
    ) -> tuple[TraceContext, Callable[[ToolAnswer], None]]:
        """Opens the span of a call. Returns its context, and the callback that ends it."""
        span = self._recorder.begin(
            f"execute_tool {owned.tool.name}",
            self._current(tool_id or None),
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": owned.tool.name,
                "gen_ai.tool.type": "extension",
                "gen_ai.tool.call.id": tool_id or None,
                NAME: valid_text(owned.owner.name),
                "gen_ai.tool.call.arguments": self._content(args.decode("utf-8", "replace")),
            },
        )

        def called(answer: ToolAnswer) -> None:
            result = answer.frame
            if result is None:
                failure = BAD_ANSWER if answer.failure is None else ERRORS[answer.failure]
                span.end(failure, one_line(answer.reason, 300) if self._has_content else "")
            else:
                said = "\n".join(block.text or "" for block in result.content or ())
                span.set({"gen_ai.tool.call.result": self._content(said)})
                span.end(TOOL_ERROR if result.is_error else "")
            done(answer)

        return span.context, called


def outcome_of(verdict: GuardVerdict) -> str:
    """One word for a verdict: allow, rewrite, deny, ask or none."""
    return OUTCOMES.get(verdict.kind) or ("rewrite" if verdict.is_rewrite else "allow")
