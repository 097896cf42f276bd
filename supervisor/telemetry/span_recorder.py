"""Opens spans, and hands them over when they end."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from wire.text import valid_text
from wire.trace_context import TraceContext
from wire.traces.span import Span, SpanEvent, SpanKind, Value, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class SpanRecorder:
    """Opens the spans of one process. `send` gets a line with each span that has ended.

    `outside` is the context in which the process was started; None if it begins its own traces. `is_sampled` is the
    decision for traces that it begins itself.
    """

    def __init__(
        self,
        send: Callable[[bytes], None],
        outside: TraceContext | None = None,
        *,
        is_sampled: Callable[[str], bool] = lambda _trace_id: True,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.outside = outside
        self._send = send
        self._is_sampled = is_sampled
        self.clock_ns = clock_ns

    def begin(
        self,
        name: str,
        parent: TraceContext | None = None,
        attributes: Mapping[str, Value | None] | None = None,
        *,
        kind: SpanKind = "internal",
        start_ns: int | None = None,
        links: tuple[TraceContext, ...] = (),
        is_root: bool = False,
    ) -> OpenSpan:
        """Opens a span below `parent`; without one below `outside`, or with `is_root` in a new trace. Attributes with
        the value None are left out."""
        above = parent or (None if is_root else self.outside)
        if above is None:
            trace_id = os.urandom(16).hex()
            context = TraceContext(trace_id, os.urandom(8).hex(), self._is_sampled(trace_id))
        else:
            context = TraceContext(above.trace_id, os.urandom(8).hex(), above.is_sampled, above.state)
        span = OpenSpan(self, name, context, "" if above is None else above.span_id, kind, start_ns, links)
        span.set(attributes or {})
        return span

    def ended(self, span: Span) -> None:
        """Takes a span that has ended."""
        self._send(encode((span,)))


class OpenSpan:
    """A span that goes on."""

    def __init__(
        self,
        recorder: SpanRecorder,
        name: str,
        context: TraceContext,
        parent_id: str,
        kind: SpanKind,
        start_ns: int | None,
        links: tuple[TraceContext, ...],
    ) -> None:
        self.context = context
        self.name = name
        self._recorder = recorder
        self._parent_id, self._kind, self._links = parent_id, kind, links
        self._start_ns = recorder.clock_ns() if start_ns is None else start_ns
        self._attributes: dict[str, Value] = {}
        self._events: list[SpanEvent] = []
        self._has_ended = False

    def set(self, attributes: Mapping[str, Value | None]) -> None:
        """Adds attributes. A value None is left out."""
        self._attributes |= {name: _valid(value) for name, value in attributes.items() if value is not None}

    def tell(self, name: str, attributes: Mapping[str, Value | None] | None = None) -> None:
        """Adds a moment: now."""
        given = {key: _valid(value) for key, value in (attributes or {}).items() if value is not None}
        self._events.append(SpanEvent(name, self._recorder.clock_ns(), given))

    def end(self, error_type: str = "", message: str = "", *, end_ns: int | None = None) -> None:
        """Ends it, as a failure if there is an `error_type`. Later calls do nothing."""
        if self._has_ended:
            return
        self._has_ended = True
        if not self.context.is_sampled:
            return
        if error_type:
            self.set({"error.type": error_type})
        ended = self._recorder.clock_ns() if end_ns is None else end_ns
        self._recorder.ended(
            Span(
                trace_id=self.context.trace_id, span_id=self.context.span_id, parent_id=self._parent_id,
                name=valid_text(self.name), kind=self._kind, start_ns=self._start_ns,
                end_ns=max(ended, self._start_ns), attributes=self._attributes, events=tuple(self._events),
                links=self._links, is_error=bool(error_type), message=valid_text(message), state=self.context.state,
            )
        )  # fmt: skip


def _valid(value: Value) -> Value:
    return valid_text(value) if isinstance(value, str) else value
