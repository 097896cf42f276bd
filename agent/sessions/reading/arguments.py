"""The arguments of a tool call for a reader: name and value, texts without JSON quoting. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from wire.lenient_json import ARGUMENTS_DEPTH, UNREADABLE, is_deeper


def named_arguments(args: bytes) -> list[tuple[str, str]]:
    """The name and the value of each argument: a text unquoted, other values as JSON. Arguments that are no JSON
    object become one value with the name ""."""
    try:
        value = msgspec.json.decode(args)
    except UNREADABLE:
        return [("", args.decode("utf-8", "replace"))]
    if not isinstance(value, dict) or is_deeper(value, ARGUMENTS_DEPTH):
        return [("", args.decode("utf-8", "replace"))]
    return [(name, each if isinstance(each, str) else _json(each)) for name, each in value.items()]


def texts_in(args: bytes) -> str:
    """The arguments as text for searches, a line for each value."""
    try:
        value = msgspec.json.decode(args)
    except UNREADABLE:
        return args.decode("utf-8", "replace")
    if is_deeper(value, ARGUMENTS_DEPTH):
        return args.decode("utf-8", "replace")
    return "\n".join(_texts(value))


def _texts(value: Any, name: str = "") -> list[str]:
    if isinstance(value, dict):
        return [line for key, inner in value.items() for line in _texts(inner, key)]
    if isinstance(value, list):
        return [line for inner in value for line in _texts(inner, name)]
    text = value if isinstance(value, str) else _json(value)
    return [f"{name}: {text}" if name else text]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
