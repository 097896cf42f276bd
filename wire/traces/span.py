"""Spans of OpenTelemetry. Pure. A host hands them to the process that exports them as one JSON object per line, see
`Spans`."""

from __future__ import annotations

from typing import Literal

import msgspec

from wire.trace_context import TraceContext  # noqa: TC001  (msgspec reads the annotations)

Value = bool | int | float | str | tuple[str, ...]
"""The value of an attribute."""
SpanKind = Literal["internal", "client"]


class SpanEvent(msgspec.Struct, frozen=True):
    """A moment of a span."""

    name: str
    time_ns: int
    """Nanoseconds since the epoch."""
    attributes: dict[str, Value] = {}


class Span(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A span that has ended."""

    trace_id: str
    span_id: str
    parent_id: str = ""
    """The id of its parent; empty for the root of a trace."""
    name: str
    kind: SpanKind = "internal"
    start_ns: int
    """Nanoseconds since the epoch, as `end_ns`."""
    end_ns: int
    attributes: dict[str, Value] = {}
    events: tuple[SpanEvent, ...] = ()
    links: tuple[TraceContext, ...] = ()
    is_error: bool = False
    message: str = ""
    """With `is_error`: what went wrong, in the host's own words."""
    state: str = ""
    """The `tracestate` of its trace."""


class Spans(msgspec.Struct, frozen=True, tag_field="type", tag="spans"):
    """A line with spans."""

    spans: tuple[Span, ...]


_encoder = msgspec.json.Encoder()


def encode(spans: tuple[Span, ...]) -> bytes:
    """One line with these spans, LF included."""
    return _encoder.encode(Spans(spans)) + b"\n"
