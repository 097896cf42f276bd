"""Says what is wrong with a field in words that name it and what would be right."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

import msgspec
from msgspec import inspect

_PLACE = re.compile(r"^(?P<what>.*?)(?: - at `\$\.?(?P<path>.*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`", re.DOTALL)
_CHOICE = re.compile(r"Invalid enum value (?P<value>.*)", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<name>.*)`", re.DOTALL)


def explain(struct: type[msgspec.Struct], fault: str) -> str:
    """A message of msgspec's about a `struct`, as `limits.rss: no such field; did you mean 'rss_mb'?`."""
    found = _PLACE.match(fault)
    assert found is not None
    what, path = found["what"], found["path"] or ""
    inside = f"{path}." if path else ""
    if unknown := _UNKNOWN.fullmatch(what):
        return f"{inside}{unknown['name']}: no such field; {_near(unknown['name'], _fields(struct, path))}"
    if missing := _MISSING.fullmatch(what):
        return f"{inside}{missing['name']} is required"
    where = f"{path}: " if path else ""
    if choice := _CHOICE.fullmatch(what):
        options = [str(option) for option in _options(struct, path)]
        return f"{where}{choice['value']} is not one of {', '.join(options)}"
    return where + what[:1].lower() + what[1:].replace("`", "")


def _near(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"it has {', '.join(known)}"


def _fields(struct: type[msgspec.Struct], path: str) -> list[str]:
    kind = _at(struct, path)
    return [field.name for field in kind.fields] if isinstance(kind, inspect.StructType) else []


def _options(struct: type[msgspec.Struct], path: str) -> tuple[Any, ...]:
    kind = _at(struct, path)
    return kind.values if isinstance(kind, inspect.LiteralType) else ()


def _at(struct: type[msgspec.Struct], path: str) -> inspect.Type | None:
    """The type of a field; None below lists and dicts."""
    kind: inspect.Type = inspect.type_info(struct)
    for name in path.split(".") if path else ():
        if not isinstance(kind, inspect.StructType):
            return None
        field = next((field for field in kind.fields if field.name == name), None)
        if field is None:
            return None
        kind = _without_null(field.type)
    return kind


def _without_null(kind: inspect.Type) -> inspect.Type:
    if isinstance(kind, inspect.UnionType):
        return next(one for one in kind.types if not isinstance(one, inspect.NoneType))
    return kind
