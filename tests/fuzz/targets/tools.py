"""Tools: the arguments that a model writes, and the schemas that extensions register, with arguments for them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agent.tools import arguments, bash
from agent.tools.outcome import ToolError
from supervisor.registry.plain_schema import fault_at_once, unfit_reason
from supervisor.registry.registration import RegistrationError, judge_tool
from tests.fuzz import seeds
from tests.fuzz.stage import Stage, pretended_children
from tests.fuzz.target import Target, without_folder
from tests.fuzz.targets.frames import GREETING
from wire import frames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ARGUMENTS: tuple[dict[str, Any], ...] = (
    {"path": "a.txt", "offset": 3, "limit": 10},
    {"path": "a.txt", "content": "x"},
    {"path": "a.txt", "edits": [{"oldText": "a", "newText": "b"}]},
    {"command": "ls", "timeout": 5},
    {"text": "x", "count": 3, "tags": ["a", "b"], "where": {"line": 1, "deep": [{"x": None}]}, "kind": "b"},
)
SCHEMAS: tuple[dict[str, Any], ...] = (
    {
        "type": "object",
        "properties": {
            "text": {"type": "string", "minLength": 1, "maxLength": 40},
            "count": {"type": "integer", "minimum": 0, "maximum": 9},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
            "where": {"type": "object", "properties": {"line": {"type": "number"}}, "additionalProperties": True},
            "kind": {"enum": ["a", "b", 3, None]},
        },
        "required": ["text"],
        "additionalProperties": False,
    },
    {
        "type": "object",
        "properties": {"where": {"$ref": "#/$defs/place"}, "text": {"type": ["string", "null"]}},
        "$defs": {"place": {"type": "object", "properties": {"deep": {"items": {"$ref": "#/$defs/place"}}}}},
    },
    {
        "type": "object",
        "properties": {
            "text": {"pattern": "^[a-z]+$", "format": "date"},
            "count": {"multipleOf": 0.5, "exclusiveMinimum": 0},
            "tags": {"type": "array", "uniqueItems": True, "contains": {"const": "a"}, "prefixItems": [{}, {}]},
            "kind": {"anyOf": [{"const": "b"}, {"not": {"type": "string"}}]},
        },
        "patternProperties": {"^w": {"type": "object"}},
        "propertyNames": {"pattern": "^[a-z]+$"},
        "dependentRequired": {"text": ["count"]},
        "if": {"required": ["kind"]},
        "then": {"minProperties": 1},
    },
    {"type": "object", "properties": {"tags": {"items": [{"type": "string"}], "additionalItems": False}}},
)
SPLIT = b"\n"
"""An input for schemas is a schema and, behind the first line feed, arguments."""


@contextmanager
def call_arguments(folder: Path) -> Iterator[Callable[[bytes], None]]:
    """Arguments are refused with a reason, or the built-in tools and the tools of extensions read them."""
    stage = Stage.__new__(Stage)
    with pretended_children():
        stage.__init__(folder)  # type: ignore[misc]
        stage.child.write(GREETING)
        for number, schema in enumerate(SCHEMAS):
            frame = {"type": "register_tool", "name": f"tool{number}", "schema": schema}
            stage.child.write(seeds.as_line(frame))
        owned = list(stage.supervisor.registrations.tools().values())
        assert len(owned) == 1 + len(SCHEMAS)

        def take(data: bytes) -> None:
            if unfit_reason(data) is not None:
                return
            for tool in owned:
                fault_at_once(tool.tool.schema, tool.tool.plain_parts, data)
            read_by_builtins(data)

        try:
            yield take
        finally:
            stage.close()


def read_by_builtins(data: bytes) -> None:
    """Reads arguments as `read`, `write`, `edit` and `bash` do."""
    readers: tuple[Callable[[dict[str, object]], object], ...] = (
        bash.decode_call,
        lambda args: arguments.path(args, "/"),
        lambda args: arguments.integer(args, "offset"),
        lambda args: arguments.text(args, "content").encode(),
        arguments.replacements,
    )
    for read in readers:
        try:
            read(arguments.decode(data))
        except ToolError:
            pass


@without_folder
def schemas(data: bytes) -> None:
    """A schema is refused, or the host checks arguments against it, if it is plain. A process checks all others, with a
    limit of its own."""
    schema, _, args = data.partition(SPLIT)
    try:
        tool = judge_tool(frames.RegisterTool("t", schema=frames.Raw(schema)))
    except RegistrationError:
        return
    if unfit_reason(args) is None:
        fault_at_once(tool.schema, tool.plain_parts, args)


def some_schemas() -> list[bytes]:
    return [seeds.as_line(schema) + seeds.as_line(args) for schema in SCHEMAS for args in (ARGUMENTS[-1], ARGUMENTS[0])]


TARGETS = (
    Target("tool_arguments", lambda: [*map(seeds.as_line, ARGUMENTS), b"{}"], call_arguments, 500),
    Target("tool_schemas", some_schemas, schemas, 380),
)
