"""Arguments for a tool, valid and wrong ones, made from its schema. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from supervisor.harness.session_plan import path_arguments

if TYPE_CHECKING:
    from supervisor.registry.registration import Tool

FILE = "zot-torture.txt"
"""The file in the scratch project that arguments with paths name."""
DEEPEST = 8
"""Maximum depth of values that are made from a schema."""
WRONG: dict[str, Any] = {"string": 7, "integer": "seven", "number": [], "boolean": "maybe", "array": {}, "object": "x"}
"""A value of a wrong type, by the type of the schema."""


def valid_arguments(tool: Tool) -> dict[str, Any]:
    """All required arguments, as the schema wants them; paths name the scratch project and its file."""
    made = _object(tool.schema, tool.schema, DEEPEST)
    paths = path_arguments(tool)
    return {name: ("." if paths[name] else FILE) if name in paths else value for name, value in made.items()}


def text_argument(tool: Tool) -> str | None:
    """The argument that takes any text, a required one first; None without one."""
    properties = tool.schema.get("properties", {})
    paths = path_arguments(tool)
    free = [
        name
        for name, schema in properties.items()
        if isinstance(schema, dict)
        and schema.get("type") == "string"
        and name not in paths
        and not schema.keys() & {"enum", "const", "pattern", "format", "maxLength"}
    ]
    required = tool.schema.get("required", ())
    return min(free, key=lambda name: name not in required, default=None)


def wrong_arguments(tool: Tool) -> dict[str, Any]:
    """Every argument with a value of a wrong type."""
    properties = tool.schema.get("properties", {})
    return {name: _wrong(schema) for name, schema in properties.items()} or {"text": 7}


def _wrong(schema: Any) -> Any:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return WRONG.get(kind) if isinstance(kind, str) else {"unexpected": [None]}


def _value(schema: Any, root: dict[str, Any], depth: int) -> Any:
    if not isinstance(schema, dict) or depth == 0:
        return "x"
    for known in ("const", "default"):
        if known in schema:
            return schema[known]
    for several in ("enum", "examples"):
        if isinstance(schema.get(several), list) and schema[several]:
            return schema[several][0]
    if isinstance(target := schema.get("$ref"), str):
        return _value(_resolve(target, root), root, depth - 1)
    for choice in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(choice), list) and schema[choice]:
            return _value(schema[choice][0], root, depth - 1)
    return _value_of_type(schema, root, depth)


def _value_of_type(schema: dict[str, Any], root: dict[str, Any], depth: int) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    match kind[0] if isinstance(kind, list) and kind else kind:
        case "object":
            return _object(schema, root, depth)
        case "array":
            return [_value(schema.get("items"), root, depth - 1) for _ in range(schema.get("minItems", 0))]
        case "integer" | "number":
            return _number(schema)
        case "boolean":
            return False
        case "null":
            return None
        case _:
            return "x" * max(schema.get("minLength", 1), 1)


def _object(schema: dict[str, Any], root: dict[str, Any], depth: int) -> dict[str, Any]:
    properties = schema.get("properties", {})
    return {name: _value(properties.get(name), root, depth - 1) for name in schema.get("required", ())}


def _number(schema: dict[str, Any]) -> float:
    least: float | None = schema.get("minimum", schema.get("exclusiveMinimum"))
    most: float = schema.get("maximum", 1)
    if least is None:
        return min(1, most)
    return least + 1 if "exclusiveMinimum" in schema else least


def _resolve(target: str, root: dict[str, Any]) -> Any:
    """The schema that a reference within the schema names; None for any other reference."""
    found: Any = root
    for part in target.removeprefix("#/").split("/"):
        found = found.get(part) if isinstance(found, dict) else None
    return found
