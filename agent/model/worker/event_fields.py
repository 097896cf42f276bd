"""Reads fields of stream events. A wrong field is a `ModelError` that names it, with its path and its value. Pure.

The model worker imports this file and must start fast, so it imports the standard library only.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agent.model.failure import ErrorKind, ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME_LENGTH = 256
"""Maximum of an id, the name of a tool or a stop reason in characters."""
MOST_TOKENS = 10**12
"""The largest valid count of tokens."""
QUOTED = 60
"""Maximum of a quoted value in characters."""

Fields = dict[str, Any]


def invalid_reply(fault: str) -> ModelError:
    """The error for a reply that breaks the rules of the Messages API."""
    return ModelError(ErrorKind.PROTOCOL, f"the model's reply is not valid: {fault}")


def text(owner: Mapping[str, Any], name: str, path: str) -> str:
    """A text. `path`: the path of `owner`, with its dot."""
    value = owner.get(name)
    if not isinstance(value, str):
        raise _fault(owner, name, path, "text")
    return value


def text_or_nothing(owner: Mapping[str, Any], name: str, path: str) -> str:
    """A text; "" if the field is null or missing."""
    return "" if owner.get(name) is None else text(owner, name, path)


def short_name(owner: Mapping[str, Any], name: str, path: str) -> str:
    """An id, the name of a tool, or a stop reason."""
    value = text(owner, name, path)
    if not 1 <= len(value) <= NAME_LENGTH or not value.isprintable():
        raise _fault(owner, name, path, f"1 to {NAME_LENGTH} printable characters")
    return value


def fields(owner: Mapping[str, Any], name: str, path: str) -> Fields:
    """An object."""
    value = owner.get(name)
    if not isinstance(value, dict):
        raise _fault(owner, name, path, "an object")
    return value


def fields_or_nothing(owner: Mapping[str, Any], name: str, path: str) -> Fields:
    """An object; empty if the field is null or missing."""
    return {} if owner.get(name) is None else fields(owner, name, path)


def position(owner: Mapping[str, Any], name: str) -> int:
    """The index of a block."""
    value = owner.get(name)
    if type(value) is not int or value < 0:
        raise _fault(owner, name, "", "a whole number from 0")
    return value


def tokens(owner: Mapping[str, Any], name: str, path: str) -> int:
    """A count of tokens; 0 if the field is null or missing."""
    value = owner.get(name)
    if value is None:
        return 0
    is_whole = type(value) is int or (isinstance(value, float) and value.is_integer())
    if not is_whole or not 0 <= value <= MOST_TOKENS:
        raise _fault(owner, name, path, f"a whole number from 0 to {MOST_TOKENS}")
    return int(value)


def _fault(owner: Mapping[str, Any], name: str, path: str, wanted: str) -> ModelError:
    found = _quote(owner[name]) if name in owner else "missing"
    return invalid_reply(f"{path}{name} must be {wanted}, not {found}")


def _quote(value: object) -> str:
    """A value as JSON, cut; for a list or an object only its type."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    quoted = json.dumps(value[: QUOTED + 1] if isinstance(value, str) else value)
    return quoted if len(quoted) <= QUOTED else f"{quoted[:QUOTED]}…"
