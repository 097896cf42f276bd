"""Decoded JSON values of another program in words, for members that are not what they should be. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

_ENCODE_ERRORS = (TypeError, ValueError, OverflowError, RecursionError)


def kind_of(value: Any) -> str:
    """`a number`, `an object`, `null`: what a JSON value is."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    for kind, words in ((str, "a string"), (int | float, "a number"), (list, "a list"), (dict, "an object")):
        if isinstance(value, kind):
            return words
    return "no JSON"


def as_json(value: Any) -> bytes | None:
    """The value as JSON text; None if it cannot be written: its numbers or its nesting are too large."""
    try:
        return msgspec.json.encode(value)
    except _ENCODE_ERRORS:
        return None


def text_of(value: Any) -> str:
    """A text as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    written = as_json(value)
    return kind_of(value) if written is None else written.decode()


def string(value: Any) -> str:
    """The value if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; none if the value is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
