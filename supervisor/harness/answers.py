"""What answers what. Pure."""

from __future__ import annotations

from typing import Any, NamedTuple

ANSWERS = {
    "tool_call": "tool_result",
    "command_invoked": "command_response",
    "event_intercept": "event_intercept_response",
    "ping": "pong",
}
"""Requests of a host, and the frames that answer them, with the same id."""


class Answer(NamedTuple):
    type: str
    id: str | None

    def is_in(self, frame: dict[str, Any]) -> bool:
        return frame.get("type") == self.type and frame.get("id") == self.id


def answer_to(frame: dict[str, Any]) -> Answer | None:
    """What the extension is to say to this, or None if it may stay silent."""
    kind = ANSWERS.get(frame["type"])
    return None if kind is None else Answer(kind, frame.get("id"))
