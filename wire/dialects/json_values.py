"""Describes decoded JSON values of another program, for messages about faulty members. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

_ENCODE_ERRORS = (TypeError, ValueError, OverflowError, RecursionError)


def kind_of(value: Any) -> str:
    """Returns the kind of a JSON value: `a number`, `an object`, `null`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    for kind, words in ((str, "a string"), (int | float, "a number"), (list, "a list"), (dict, "an object")):
        if isinstance(value, kind):
            return words
    return "no JSON"


def as_json(value: Any) -> bytes | None:
    """Returns the value as JSON text; None if its numbers or its nesting are too large for JSON."""
    try:
        return msgspec.json.encode(value)
    except _ENCODE_ERRORS:
        return None


def text_of(value: Any) -> str:
    """Returns a text unchanged, any other value as JSON."""
    if isinstance(value, str):
        return value
    written = as_json(value)
    return kind_of(value) if written is None else written.decode()


def string(value: Any) -> str:
    """Returns the value if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def objects(value: Any) -> list[dict[str, Any]]:
    """Returns the objects in a list; empty if the value is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
