"""A span for each request to the model: a provider around the provider of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.model.provider import TERMINAL, Stream
from agent.run import cost
from agent.telemetry import contents, genai
from supervisor.telemetry import error_types

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.model.provider import Line, Provider
    from agent.telemetry.run_spans import RunSpans
    from supervisor.process.teardown import Stoppable
    from supervisor.telemetry.span_recorder import OpenSpan


class SpanProvider:
    """Passes requests on to `inner`. A retry of the same request is an event of its span."""

    def __init__(self, inner: Provider, spans: RunSpans) -> None:
        self.name = inner.name
        self._inner = inner
        self._spans = spans
        self._server = genai.server(getattr(inner, "address", ""))  # a replayed run has no server
        self._open: _Request | None = None

    @property
    def error(self) -> str | None:
        return self._inner.error

    @error.setter
    def error(self, error: str | None) -> None:
        self._inner.error = error

    @property
    def is_ready(self) -> bool:
        return self._inner.is_ready

    def start(self) -> None:
        self._inner.start()

    def request(self, params: dict[str, Any]) -> Stream:
        spans = self._spans
        about = {genai.PROVIDER: self.name, genai.CONVERSATION: spans.session or None} | self._server
        span = spans.recorder.begin(
            f"chat {params['model']}", spans.context, genai.request(params) | about, kind="client"
        )
        if spans.with_content:
            span.set(contents.request(params))
        self._open = _Request(span, params["model"], spans, spans.recorder.clock_ns())
        return _SpanStream(self._inner.request(params), self._open)

    def cancel(self) -> None:
        self._inner.cancel()
        if self._open is not None:
            self._open.cancel()

    def warm_up(self) -> None:
        self._inner.warm_up()

    def stoppables(self) -> Sequence[Stoppable]:
        return self._inner.stoppables()


class _SpanStream(Stream):
    def __init__(self, inner: Stream, request: _Request) -> None:
        super().__init__()
        self._inner = inner
        self._request = request

    def has_line(self) -> bool:
        return self._inner.has_line()

    def take(self) -> Line:
        line = self._inner.take()
        self._request.take(line)
        return line


class _Request:
    """One request, from its start to the last line of its reply."""

    def __init__(self, span: OpenSpan, model: str, spans: RunSpans, began_ns: int) -> None:
        self._span = span
        self._model = model
        self._spans = spans
        self._began_ns = began_ns
        self._has_begun = self._has_ended = False

    def take(self, line: Line) -> None:
        kind = line["type"]
        if kind == "retry":
            tried = {"zot.retry.attempt": line["attempt"], "zot.retry.wait_s": line["wait_s"]}
            self._span.tell("zot.retry", tried | {genai.HTTP_STATUS: line["status"]})
            return
        if not self._has_begun and kind != "error":
            self._has_begun = True
            waited_s = (self._spans.recorder.clock_ns() - self._began_ns) / 1e9
            self._span.set({genai.FIRST_CHUNK_S: max(0.0, waited_s)})
        if kind == "message_start":
            self._span.set({genai.RESPONSE_ID: line.get("reply_id"), genai.RESPONSE_MODEL: line.get("model")})
        elif kind in TERMINAL:
            self._end(line)

    def _end(self, line: Line) -> None:
        self._has_ended = True
        is_error = line["type"] == "error"
        finish = "error" if is_error else genai.FINISHES.get(line["stop_reason"], line["stop_reason"])
        if self._has_begun or not is_error:
            self._span.set(genai.usage(cost.totals(self._model, line.get("usage") or {}, is_partial=is_error)))
        self._span.set({genai.FINISH_REASONS: (finish,), genai.HTTP_STATUS: line.get("status")})
        if self._spans.with_content and (content := line.get("content")):
            self._span.set(contents.reply(content, finish))
        self._span.end(str(line["kind"]) if is_error else "")

    def cancel(self) -> None:
        """The run gives the request up. Does nothing if it has ended."""
        if self._has_ended:
            return
        self._span.set({genai.FINISH_REASONS: ("error",)})
        self._span.end(error_types.CANCELLED)
