"""Error texts for a wrong field: they name the field and the allowed values."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import inspect

from wire.suggestions import did_you_mean

SHOWN = 80
"""Maximum number of characters of a value that is not allowed."""

_PLACE = re.compile(r"(?P<what>.*) - at `\$\.?(?P<path>[^`]*)`", re.DOTALL)
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`", re.DOTALL)
_CHOICE = re.compile(r"Invalid enum value (?P<value>.*)", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<name>.*)`", re.DOTALL)


def explain(struct: type[msgspec.Struct], fault: str) -> str:
    """Explains msgspec's error about a `struct` on one line: `limits.rss: no such field; did you mean 'rss_mb'?`."""
    said = _explain(struct, fault)
    return said if said.isprintable() else "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in said)


def _explain(struct: type[msgspec.Struct], fault: str) -> str:
    what, path = _what_and_path(fault)
    inside = f"{path}." if path else ""
    if unknown := _UNKNOWN.fullmatch(what):
        known = _fields(struct, path)
        hint = did_you_mean(unknown["name"], known) or f"it has {', '.join(known)}"
        return f"{inside}{unknown['name']}: no such field; {hint}"
    if missing := _MISSING.fullmatch(what):
        return f"{inside}{missing['name']} is required"
    where = f"{path}: " if path else ""
    if choice := _CHOICE.fullmatch(what):
        options = [str(option) for option in _options(struct, path)]
        value = choice["value"] if len(choice["value"]) <= SHOWN else f"{choice['value'][:SHOWN]}…"
        hint = did_you_mean(value.strip("'"), options)
        return f"{where}{value} is not one of {', '.join(options)}" + (f"; {hint}" if hint else "")
    return where + what[:1].lower() + what[1:].replace("`", "")


def fault_path(fault: str) -> str:
    """Returns the path in msgspec's error, such as `limits.cpu_percent` or `args[0]`; for a missing or unknown field,
    the path of that field."""
    what, path = _what_and_path(fault)
    name = _UNKNOWN.fullmatch(what) or _MISSING.fullmatch(what)
    return path if name is None else f"{path}.{name['name']}" if path else name["name"]


def fault_steps(fault: str) -> tuple[str | int, ...]:
    """Returns the path in msgspec's error as keys and indices: a field may have any name, even `a.b[0]`."""
    what, path = _what_and_path(fault)
    steps = tuple(int(found[1]) if found[1] else found[2] for found in _STEP.finditer(path))
    name = _UNKNOWN.fullmatch(what) or _MISSING.fullmatch(what)
    return steps if name is None else (*steps, name["name"])


def _what_and_path(fault: str) -> tuple[str, str]:
    found = _PLACE.fullmatch(fault)
    return (fault, "") if found is None else (found["what"], found["path"])


def _fields(struct: type[msgspec.Struct], path: str) -> list[str]:
    kind = _at(struct, path)
    return [field.name for field in kind.fields] if isinstance(kind, inspect.StructType) else []


def _options(struct: type[msgspec.Struct], path: str) -> tuple[Any, ...]:
    kind = _at(struct, path)
    return kind.values if isinstance(kind, inspect.LiteralType) else ()


def _at(struct: type[msgspec.Struct], path: str) -> inspect.Type | None:
    """Returns the type of a field; None below dicts."""
    kind: inspect.Type = inspect.type_info(struct)
    for index, name in _STEP.findall(path):
        if index and isinstance(kind, inspect.VarTupleType):
            kind = kind.item_type
            continue
        if not isinstance(kind, inspect.StructType):
            return None
        field = next((field for field in kind.fields if field.name == name), None)
        if field is None:
            return None
        kind = _without_null(field.type)
    return kind


def _without_null(kind: inspect.Type) -> inspect.Type:
    if isinstance(kind, inspect.UnionType):
        return next(member for member in kind.types if not isinstance(member, inspect.NoneType))
    return kind
