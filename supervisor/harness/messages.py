"""What an extension is told at the start of a rehearsal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from wire import frames

if TYPE_CHECKING:
    from supervisor.harness.matching import Places

HOST = "rehearsal"
"""Stands for the host's version and the provider."""
MODEL = "none"


def hello_ack(places: Places, given: dict[str, Any] | None = None) -> dict[str, Any]:
    """The whole frame; what is `given` counts more."""
    return {
        "type": "hello_ack",
        "protocol_version": frames.PROTOCOL_VERSION,
        "zot_version": HOST,
        "provider": HOST,
        "model": MODEL,
        "cwd": places.cwd,
        "extension_dir": places.extension_dir,
        "data_dir": places.data_dir,
        "features": list(frames.FEATURES),
        **(given or {}),
    }


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
