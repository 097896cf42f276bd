"""Spans of OpenTelemetry, and the context that a span hands on to other programs. Pure.

The context is the `traceparent` of W3C Trace Context, level 1, in the environment as `TRACEPARENT` and `TRACESTATE`. A
host hands its spans to the process that exports them as one JSON object per line, see `Spans`.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

Value = bool | int | float | str | tuple[str, ...]
"""The value of an attribute."""
SpanKind = Literal["internal", "client"]

_HEADER = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
STATE_LIMIT = 512
"""Maximum length of a `tracestate`; a longer one is left out."""


class TraceContext(msgspec.Struct, frozen=True):
    """A span, as other programs name it."""

    trace_id: str
    """32 hex digits."""
    span_id: str
    """16 hex digits."""
    is_sampled: bool = True
    """Whether the spans of this trace are exported."""
    state: str = ""
    """The `tracestate` of other programs, handed on as it came."""

    @property
    def traceparent(self) -> str:
        """The text of the header, and of the variable `TRACEPARENT`."""
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.is_sampled else '00'}"

    def environment(self) -> dict[str, str]:
        """The variables for a program that this span starts."""
        state = {"TRACESTATE": self.state} if self.state else {}
        return {"TRACEPARENT": self.traceparent} | state

    def added_to(self, environment: dict[str, str]) -> dict[str, str]:
        """This environment with the variables, in place of those of another span."""
        others = {name: value for name, value in environment.items() if name != "TRACESTATE"}
        return others | self.environment()


def read_context(traceparent: str, tracestate: str = "") -> TraceContext | None:
    """Reads a `traceparent`; None if it is none, as the standard says: then a new trace begins."""
    match = _HEADER.fullmatch(traceparent.strip())
    if match is None:
        return None
    version, trace, span, flags, rest = match.groups()
    if version == "ff" or (version == "00" and rest) or set(trace) == {"0"} or set(span) == {"0"}:
        return None
    state = tracestate.strip()
    fits = len(state) <= STATE_LIMIT and state.isascii() and state.isprintable()
    return TraceContext(trace, span, bool(int(flags, 16) & 1), state if fits else "")


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
