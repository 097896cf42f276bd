"""What an extension has registered, and the judgement of each registration."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

if TYPE_CHECKING:
    from wire.frames import RegisterTool

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
EMPTY_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


@dataclass(frozen=True)
class Tool:
    """A tool that the model may call."""

    name: str
    description: str
    schema: dict[str, Any]


@dataclass(frozen=True)
class Command:
    """A slash command that a user may run."""

    name: str
    description: str


class RefusedError(ValueError):
    """A registration that cannot be used; the text says why and what would be right."""


def judge_tool(frame: RegisterTool) -> Tool:
    """Checks what the provider would refuse later, for every request of the run. Raises `RefusedError`."""
    if not TOOL_NAME.fullmatch(frame.name):
        raise RefusedError(
            f"tool name {frame.name[:80]!r} is not usable: 1 to 128 letters, digits, '_' or '-' are needed"
        )
    if frame.schema is UNSET:
        return Tool(frame.name, frame.description or "", EMPTY_SCHEMA)
    try:
        schema = msgspec.json.decode(frame.schema)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RefusedError(f"tool {frame.name!r}: schema is not JSON: {error}") from None
    if not isinstance(schema, dict):
        kind = "null" if schema is None else type(schema).__name__
        raise RefusedError(f"tool {frame.name!r}: schema must be a JSON Schema object, not {kind}")
    if schema.setdefault("type", "object") != "object":
        raise RefusedError(f'tool {frame.name!r}: schema must have type "object", not {schema["type"]!r}')
    if reason := invalid_schema(schema):
        raise RefusedError(f"tool {frame.name!r}: schema is not valid JSON Schema: {reason}")
    return Tool(frame.name, frame.description or "", schema)


def invalid_schema(schema: dict[str, Any]) -> str | None:
    """Why this is not JSON Schema of draft 2020-12, which providers expect, with the place; None if it is.

    `$schema` is not followed: the validator would fetch an unknown one from the network.
    """
    import jsonschema_rs  # 20 ms: only once there is a tool to judge

    try:
        jsonschema_rs.meta.validate({key: value for key, value in schema.items() if key != "$schema"})
    except jsonschema_rs.ValidationError as error:
        place = "/".join(str(part) for part in error.instance_path) or "top level"
        return f"{error.message} (at {place})"
    except jsonschema_rs.ReferencingError as error:
        return str(error)
    return None
