"""Reads the lines of an engine."""

from __future__ import annotations

import json

from ..errors import ProtocolError
from ..events import EVENTS
from ..record import UnknownEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..events import AnyEvent
    from ..record import Event

_decode = json.JSONDecoder().decode


def members_of(line: bytes) -> dict[str, Any]:
    """Returns the JSON object in a line, which must have a type. Raises `ProtocolError`."""
    found = object_of(line)
    if not isinstance(found.get("type"), str):
        raise ProtocolError(f"not a line of an engine: {line[:200]!r}")
    return found


def object_of(line: bytes) -> dict[str, Any]:
    """Returns the JSON object in a line. Raises `ProtocolError`."""
    try:
        found = _decode(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ProtocolError(f"not a line of an engine: {line[:200]!r}")
    return found


def event(members: dict[str, Any], line: bytes) -> AnyEvent:
    """Returns the event in a line with these members. An event that does not fit its class is an `UnknownEvent`."""
    kind = members["type"]
    try:
        found: Event = EVENTS[kind].read(members)
    except (KeyError, TypeError, AttributeError):
        found = UnknownEvent.read({"type": kind, "members": members})
    held = found.__dict__
    held["raw"] = line
    if "prompt" in members:
        held["prompt"] = members["prompt"]
    return found  # type: ignore[return-value]  # one of the events
