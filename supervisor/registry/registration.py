"""One registration of an extension (a tool or a command), and the check that accepts it."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from supervisor.registry.arguments import Checker
from wire.lenient_json import UNREADABLE, read, reason

if TYPE_CHECKING:
    from wire.frames import RegisterTool

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
TOOLS_LIMIT = 500
"""Tools of one extension. Each tool is part of every request to the model."""
COMMANDS_LIMIT = 500
COMMAND_NAME = re.compile(r"[\w-](?:[^\s/]*[\w-])?")
COMMAND_NAME_LIMIT = 128
DESCRIPTION_LIMIT = 64 * 1024
"""Characters."""
SCHEMA_LIMIT = 256 * 1024
"""Bytes."""
SCHEMA_DEPTH = 100
"""Levels of nesting. Encoders on the way to the model fail somewhat above twice this depth."""
EMPTY_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


class Tool(msgspec.Struct, frozen=True, dict=True):
    """A tool that the model may call."""

    name: str
    description: str
    schema: dict[str, Any]
    retry: bool = False
    """Whether a call is repeated after a crash has interrupted it."""
    timeout_s: float | None = None
    """Seconds that a call may take. If None, the manifest's value holds."""
    read_only: bool = False
    """Whether calls of this tool may overlap with calls of other read-only tools."""

    @cached_property
    def checker(self) -> Checker:
        """The checker of the tool's arguments. It is made at the first call of the tool."""
        return Checker(self.schema)


class Command(msgspec.Struct, frozen=True):
    """A slash command that a user may run."""

    name: str
    description: str


def command_name_fault(name: str) -> str | None:
    """Returns why a user could not type this name after a slash, before the arguments; None if the name is usable."""
    if not 0 < len(name) <= COMMAND_NAME_LIMIT:
        return f"its name must have 1 to {COMMAND_NAME_LIMIT} characters"
    if not COMMAND_NAME.fullmatch(name) or not name.isprintable():
        return "its name must begin and end with a letter, a digit, '_' or '-', and have no spaces and slashes"
    return None


class RefusedError(ValueError):
    """A registration cannot be used; the text has the reason and the rule."""


def judge_tool(frame: RegisterTool) -> Tool:
    """Checks a tool and returns it. Checks everything for which the provider would refuse every request of the run.
    Raises `RefusedError`."""
    if not TOOL_NAME.fullmatch(frame.name):
        raise RefusedError(
            f"tool name {frame.name[:80]!r} is not usable: 1 to 128 letters, digits, '_' or '-' are needed"
        )
    if frame.description is not None and len(frame.description) > DESCRIPTION_LIMIT:
        raise RefusedError(f"tool {frame.name!r}: description is longer than {DESCRIPTION_LIMIT} characters")
    if frame.schema is UNSET:
        return _tool(frame, EMPTY_SCHEMA)
    text = bytes(frame.schema)
    if len(text) > SCHEMA_LIMIT:
        raise RefusedError(f"tool {frame.name!r}: schema is larger than {SCHEMA_LIMIT} bytes")
    try:
        schema, _ = read(text)
    except UNREADABLE as error:
        raise RefusedError(f"tool {frame.name!r}: schema is not JSON: {reason(error)}") from None
    if is_deeper(schema, SCHEMA_DEPTH):
        raise RefusedError(f"tool {frame.name!r}: schema is nested deeper than {SCHEMA_DEPTH} levels")
    if not isinstance(schema, dict):
        kind = "null" if schema is None else type(schema).__name__
        raise RefusedError(f"tool {frame.name!r}: schema must be a JSON Schema object, not {kind}")
    if schema.setdefault("type", "object") != "object":
        raise RefusedError(f'tool {frame.name!r}: schema must have type "object", not {schema["type"]!r}')
    if fault := invalid_schema(schema):
        raise RefusedError(f"tool {frame.name!r}: schema is not valid JSON Schema: {fault}")
    return _tool(frame, schema)


def _tool(frame: RegisterTool, schema: dict[str, Any]) -> Tool:
    return Tool(
        frame.name,
        frame.description or "",
        schema,
        retry=bool(frame.idempotent or frame.retry),
        timeout_s=frame.timeout_s,
        read_only=bool(frame.read_only),
    )


def is_deeper(value: Any, levels: int) -> bool:
    """Whether the lists and dicts of a value are nested deeper than this many levels."""
    level = [value]
    for _ in range(levels + 1):
        containers = [item for item in level if isinstance(item, dict | list)]
        if not containers:
            return False
        level = [inner for outer in containers for inner in (outer.values() if isinstance(outer, dict) else outer)]
    return True


def invalid_schema(schema: dict[str, Any]) -> str | None:
    """Returns why this is not JSON Schema of draft 2020-12, which providers expect, with the place of the fault. None
    if it is.

    `$schema` is ignored: the validator would fetch an unknown schema from the network.
    """
    import jsonschema_rs  # 20 ms: only if a tool is registered

    try:
        jsonschema_rs.meta.validate({key: value for key, value in schema.items() if key != "$schema"})
    except jsonschema_rs.ValidationError as error:
        place = "/".join(str(part) for part in error.instance_path) or "top level"
        return f"{error.message} (at {place})"
    except jsonschema_rs.ReferencingError as error:
        return str(error)
    return None
