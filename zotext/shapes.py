"""Shapes: for each type hint its JSON Schema, and how an argument is checked and read."""

from __future__ import annotations

from .errors import BadArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    Read = Callable[[Any, str], Any]

_NAMES = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    dict: "an object",
    list: "an array",
}


class Shape:
    """`read(value, path)` returns the argument as the handler gets it, or raises `BadArgument`, which names the path.
    `what` completes "expected …"."""

    def __init__(self, what: str, schema: dict[str, Any], read: Read) -> None:
        self.what = what
        self.schema = schema
        self.read = read


def fault(path: str, what: str, value: object) -> BadArgument:
    return BadArgument(f"{path}: expected {what}, got {_shown(value)}")


def anything() -> Shape:
    return Shape("anything", {}, lambda value, _path: value)


def null() -> Shape:
    return Shape("null", {"type": "null"}, lambda value, path: _only(value, path, "null", value is None))


def plain(kind: type) -> Shape:
    """Returns the shape of str, int, float, bool, dict or list. As in JSON Schema, True is no number, 3.0 an
    integer."""
    names = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object", list: "array"}
    what = _NAMES[kind]

    def read(value: Any, path: str) -> Any:
        if isinstance(value, bool) and kind is not bool:
            raise fault(path, what, value)
        if kind is int and isinstance(value, float) and value.is_integer():
            return int(value)
        if kind is float and isinstance(value, int):
            return float(value)
        return _only(value, path, what, isinstance(value, kind))

    return Shape(what, {"type": names[kind]}, read)


def listing(item: Shape, make: Callable[[Iterable[Any]], Any]) -> Shape:
    """Returns the shape of an array with items of one shape. `make` is list, tuple, set or frozenset."""
    schema: dict[str, Any] = {"type": "array"}
    if item.schema:
        schema["items"] = item.schema
    if make in (set, frozenset):
        schema["uniqueItems"] = True

    def read(value: Any, path: str) -> Any:
        _only(value, path, "an array", isinstance(value, list))
        return make([item.read(element, f"{path}[{position}]") for position, element in enumerate(value)])

    return Shape("an array", schema, read)


def mapping(item: Shape) -> Shape:
    schema: dict[str, Any] = {"type": "object"}
    if item.schema:
        schema["additionalProperties"] = item.schema

    def read(value: Any, path: str) -> Any:
        _only(value, path, "an object", isinstance(value, dict))
        return {name: item.read(member, f"{path}.{name}") for name, member in value.items()}

    return Shape("an object", schema, read)


def choice(values: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> Shape:
    """Returns the shape of a choice of JSON values. Each comes with the value that the handler gets."""
    pairs = list(values.items() if hasattr(values, "items") else values)
    options = [given for given, _ in pairs]
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
    types = sorted({kinds[type(option)] for option in options})
    what = f"one of {', '.join(_shown(option) for option in options)}"
    schema: dict[str, Any] = {"enum": options}
    if len(types) == 1:
        schema = {"type": types[0], **schema}

    def read(value: Any, path: str) -> Any:
        for given, meant in pairs:
            if value == given and isinstance(value, bool) == isinstance(given, bool):
                return meant
        raise fault(path, what, value)

    return Shape(what, schema, read)


def either(shapes: list[Shape]) -> Shape:
    """Returns the shape of a union: the first shape that fits is used."""
    what = " or ".join(shape.what for shape in shapes)

    def read(value: Any, path: str) -> Any:
        deeper = None
        for shape in shapes:
            try:
                return shape.read(value, path)
            except BadArgument as error:
                if not str(error).startswith(f"{path}: expected {shape.what},"):
                    deeper = error  # the kind fits, and the fault is inside
        raise deeper or fault(path, what, value)

    return Shape(what, {"anyOf": [shape.schema for shape in shapes]}, read)


class Field:
    """One member of an object. A `required` one has no default."""

    def __init__(self, shape: Shape, *, required: bool, schema: dict[str, Any] | None = None) -> None:
        self.shape = shape
        self.required = required
        self.schema = shape.schema if schema is None else schema
        """The shape's schema with the description and the default."""


def record(fields: Mapping[str, Field], make: Callable[[dict[str, Any]], Any]) -> Shape:
    """Returns the shape of an object with these members and no others. `make` gets the given members."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: field.schema for name, field in fields.items()},
        "required": [name for name, field in fields.items() if field.required],
        "additionalProperties": False,
    }

    def read(value: Any, path: str) -> Any:
        _only(value, path or "the arguments", "an object", isinstance(value, dict))
        prefix = f"{path}." if path else ""
        for name in value:
            if name not in fields:
                raise BadArgument(f"{prefix}{name}: there is no such argument; known are {', '.join(fields) or 'none'}")
        for name, field in fields.items():
            if field.required and name not in value:
                raise BadArgument(f"{prefix}{name}: is missing; expected {field.shape.what}")
        given = {name: fields[name].shape.read(member, f"{prefix}{name}") for name, member in value.items()}
        try:
            return make(given)
        except ValueError as error:
            raise BadArgument(f"{path or 'the arguments'}: {error}") from error

    return Shape("an object", schema, read)


def _only(value: Any, path: str, what: str, fits: bool) -> Any:
    if not fits:
        raise fault(path, what, value)
    return value


def _shown(value: object) -> str:
    import json

    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
