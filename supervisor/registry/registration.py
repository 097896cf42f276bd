"""One registration of an extension (a tool or a command), and the check that accepts it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from supervisor.registry.definition_size import definition_bytes, tokens_of
from supervisor.registry.old_schema_forms import renew_schema
from supervisor.registry.plain_schema import count_values, plain_parts
from supervisor.registry.schema_rules import schema_fault
from wire.lenient_json import UNREADABLE, is_deeper, read, reason
from wire.suggestions import not_one_of
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from msgspec import Raw

    from wire.frames import RegisterTool

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
TOOLS_LIMIT = 500
"""Maximum number of tools of one extension. Each tool is part of every request to the model."""
COMMANDS_LIMIT = 500
COMMAND_NAME = re.compile(r"[\w-](?:[^\s/]*[\w-])?")
COMMAND_NAME_LIMIT = 128
DESCRIPTION_LIMIT = 64 * 1024
"""Maximum number of characters of a description."""
SCHEMA_LIMIT = 256 * 1024
"""Maximum of a schema in bytes."""
SCHEMA_VALUES = 20_000
"""Maximum number of values in a schema, lists and objects included. Each takes a few µs, while all others wait."""
SCHEMA_DEPTH = 100
"""Maximum depth of nesting. Encoders on the way to the model fail somewhat above twice this depth."""
PROPERTY_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""The names of arguments that the Messages API accepts."""
CHOICES = ("anyOf", "oneOf", "allOf")
"""Keywords that the Messages API refuses at the top of a schema."""
EXPOSURES = ("direct", "deferred", "codemode", "model-only")
"""The values of `exposure`. codemode: for scripts, which no host of ours runs: the model is offered the tool."""
INTERACTIVE_S = 86_400.0
"""Maximum of seconds that a call waits for a person."""
EMPTY_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


class Tool(msgspec.Struct, frozen=True):
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
    plain_parts: int = 0
    """Parts of the schema, if arguments are checked against it in the loop; 0 if a checker process does it."""
    tokens: int = 0
    """Estimated tokens of its definition in each request to the model."""
    is_deferred: bool = False
    """Whether the model is offered it only once a result has activated it."""
    is_interactive: bool = False
    """Whether a call waits for a person."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema of the structured content of its results; None if unknown."""


class Command(msgspec.Struct, frozen=True):
    """A slash command that a user may run."""

    name: str
    description: str


def command_name_fault(name: str) -> str | None:
    """Returns why a user cannot type this name after a slash, before the arguments; None if the name is usable."""
    if not 0 < len(name) <= COMMAND_NAME_LIMIT:
        return f"its name must have 1 to {COMMAND_NAME_LIMIT} characters"
    if not COMMAND_NAME.fullmatch(name) or not name.isprintable():
        return "its name must begin and end with a letter, a digit, '_' or '-', and have no spaces and slashes"
    return None


class RegistrationError(ValueError):
    """A registration cannot be used; the text has the reason and the rule."""


def judge_tool(frame: RegisterTool) -> Tool:
    """Checks a tool and returns it. Checks everything for which the provider would refuse every request of the run.
    Raises `RegistrationError`."""
    if not TOOL_NAME.fullmatch(frame.name):
        raise RegistrationError(
            f"tool name {frame.name[:80]!r} is not usable: 1 to 128 letters, digits, '_' or '-' are needed"
        )
    if frame.description is not None and len(frame.description) > DESCRIPTION_LIMIT:
        raise RegistrationError(f"tool {frame.name!r}: description is longer than {DESCRIPTION_LIMIT} characters")
    if frame.exposure and frame.exposure not in EXPOSURES:
        raise RegistrationError(f"tool {frame.name!r}: exposure {not_one_of(frame.exposure[:80], EXPOSURES)}")
    if frame.schema is UNSET:
        return _tool(frame, EMPTY_SCHEMA)
    return _tool(frame, _read_schema(f"tool {frame.name!r}: schema", frame.schema, _unfit_for_providers))


def judge_output_schema(frame: RegisterTool) -> dict[str, Any] | None:
    """Checks the schema of a tool's results and returns it; None if the tool has none. Raises `RegistrationError`."""
    if frame.output_schema is UNSET or bytes(frame.output_schema) == b"null":
        return None
    return _read_schema(f"tool {frame.name!r}: output_schema", frame.output_schema, lambda _schema: "")


def _read_schema(what: str, written: Raw, unfit: Callable[[dict[str, Any]], str]) -> dict[str, Any]:
    """Reads and checks a schema; `unfit` returns a further fault of it, in words. Raises `RegistrationError`."""
    text = bytes(written)
    if len(text) > SCHEMA_LIMIT:
        raise RegistrationError(f"{what} is larger than {SCHEMA_LIMIT} bytes")
    try:
        schema, _ = read(text)
    except UNREADABLE as error:
        raise RegistrationError(f"{what} is not JSON: {reason(error)}") from None
    if count_values(schema, SCHEMA_VALUES) > SCHEMA_VALUES:
        raise RegistrationError(f"{what} has more than {SCHEMA_VALUES} values")
    if is_deeper(schema, SCHEMA_DEPTH):
        raise RegistrationError(f"{what} is nested deeper than {SCHEMA_DEPTH} levels")
    if not isinstance(schema, dict):
        kind = "null" if schema is None else type(schema).__name__
        raise RegistrationError(f"{what} must be a JSON Schema object, not {kind}")
    if why := unfit(schema):
        raise RegistrationError(f"{what.removesuffix('schema')}{why}")
    schema = renew_schema(schema)
    if fault := schema_fault(schema):
        raise RegistrationError(f"{what} is not valid JSON Schema: {fault}")
    return schema


def _unfit_for_providers(schema: dict[str, Any]) -> str:
    """Why the model's API would refuse every request that offers a tool with this schema; "" if it would not. Sets the
    type of the schema if it has none."""
    if schema.setdefault("type", "object") != "object":
        return f'schema must have type "object", not {schema["type"]!r}'
    if choices := [word for word in CHOICES if word in schema]:
        return f"schema must not have {choices[0]} at the top: models take it only inside a property"
    properties = schema.get("properties")
    for name in properties if isinstance(properties, dict) else ():
        if not PROPERTY_NAME.fullmatch(name):
            rule = "1 to 64 letters, digits, '_', '.' or '-' are needed"
            return f"the argument name {one_line(name, 80)!r} is not usable: {rule}"
    return ""


def _tool(frame: RegisterTool, schema: dict[str, Any]) -> Tool:
    description = frame.description or ""
    return Tool(
        frame.name,
        description,
        schema,
        retry=bool(frame.idempotent or frame.retry or frame.replay == "safe"),
        timeout_s=frame.timeout_s,
        read_only=bool(frame.read_only),
        plain_parts=plain_parts(schema),
        tokens=tokens_of(definition_bytes(frame.name, description, schema)),
        is_deferred=frame.exposure == "deferred" if frame.exposure else bool(frame.deferred),
        is_interactive=bool(frame.interactive),
    )
