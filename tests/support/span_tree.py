"""Spans as trees, for tests that compare them whole."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tests.support.otlp_receiver import ReceivedSpan

CLIENT = 3
"""The kind of a span of a client, in the protocol."""
VOLATILE = (
    "gen_ai.response.time_to_first_chunk", "gen_ai.agent.version", "gen_ai.conversation.id", "process.pid",
)  # fmt: skip
"""Attributes that are new in each run: only that they are there is shown."""


class Node(NamedTuple):
    """A span and those below it, in the order of their starts."""

    name: str
    kind: str
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    message: str
    below: list[Node]

    def names(self) -> list[Any]:
        """Its name, and those below it: a list of its own for a span that has any."""
        return [self.name, *(each.names() if each.below else each.name for each in self.below)]

    def find(self, name: str) -> Node:
        """The first span with this name, itself or below it."""
        found = next((each for each in self.all() if each.name == name), None)
        assert found is not None, (name, self.names())
        return found

    def all(self) -> list[Node]:
        return [self, *(each for child in self.below for each in child.all())]


def spans_of(lines: list[bytes]) -> list[dict[str, Any]]:
    """The spans of lines of `wire.traces.span`."""
    return [span for line in lines for span in json.loads(line)["spans"]]


def trees(spans: list[dict[str, Any]]) -> list[Node]:
    """The spans without a parent among them, with all below, in the order of their starts."""
    ids = {span["span_id"] for span in spans}
    assert len(ids) == len(spans), "each id is new"
    for span in spans:
        assert span["start_ns"] <= span["end_ns"]
    below: dict[str, list[dict[str, Any]]] = {}
    for span in sorted(spans, key=lambda span: int(span["start_ns"])):
        parent = span.get("parent_id", "")
        below.setdefault(parent if parent in ids else "", []).append(span)
    for span in spans:
        for child in below.get(span["span_id"], ()):
            assert child["trace_id"] == span["trace_id"], "a trace is one"
    return [_node(span, below) for span in below.get("", ())]


def _node(span: dict[str, Any], below: dict[str, list[dict[str, Any]]]) -> Node:
    attributes = {name: "…" if name in VOLATILE else value for name, value in span.get("attributes", {}).items()}
    told = [(event["name"], event.get("attributes", {})) for event in span.get("events", ())]
    return Node(
        span["name"], span.get("kind", "internal"), attributes, told, span.get("message", ""),
        [_node(each, below) for each in below.get(span["span_id"], ())],
    )  # fmt: skip


def received(spans: list[ReceivedSpan]) -> list[Node]:
    """The trees of spans that a collector has got."""
    return trees(
        [
            {
                "name": span.name, "trace_id": span.trace_id, "span_id": span.span_id, "parent_id": span.parent_id,
                "kind": "client" if span.kind == CLIENT else "internal", "start_ns": span.start_ns,
                "end_ns": span.end_ns, "attributes": span.attributes, "message": span.error or "",
                "events": [{"name": name, "attributes": attributes} for name, attributes in span.events],
            }
            for span in spans
        ]
    )  # fmt: skip
