"""The context that a span hands on to other programs: the `traceparent` of W3C Trace Context, level 1. Pure.

In the environment its names are `TRACEPARENT` and `TRACESTATE`.
"""

from __future__ import annotations

import re

import msgspec

_HEADER = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_encode = msgspec.json.Encoder().encode
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


def json_members(context: TraceContext) -> bytes:
    """The members of a JSON object that name this span in other protocols, as text."""
    text = b'"traceparent":%b' % _encode(context.traceparent)
    return text + b',"tracestate":%b' % _encode(context.state) if context.state else text


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
