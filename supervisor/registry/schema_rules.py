"""The rules of the meta-schema of JSON Schema draft 2020-12, checked in one walk. Pure.

The walk takes time in proportion to the size of the schema, and needs no library in the host.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from supervisor.registry.plain_schema import NAMED_SCHEMAS, ONE_SCHEMA, SCHEMA_LISTS, TYPES, path_to, quote, shorten

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.registry.plain_schema import Location


def schema_fault(schema: dict[str, Any]) -> str | None:
    """Returns the first fault of a schema with its location, or None. The outermost `$schema` does not count."""
    waiting: list[tuple[Any, Location]] = [({word: rule for word, rule in schema.items() if word != "$schema"}, None)]
    for part, location in waiting:  # the list grows meanwhile
        if type(part) is bool:
            continue
        if type(part) is not dict:
            return _fault_at(_type_fault(part, "boolean", "object"), location)
        for word, rule in part.items():
            if word in RULES and (fault := RULES[word](rule)):
                return _fault_at(fault, (location, word))
            if word in ONE_SCHEMA:
                waiting.append((rule, (location, word)))
            elif word in SCHEMA_LISTS:
                around = location, word
                waiting += [(inner, (around, index)) for index, inner in enumerate(rule)]
            elif word in NAMED_SCHEMAS:
                around = location, word
                waiting += [(inner, (around, name)) for name, inner in rule.items()]
            elif word == "dependencies":
                around = location, word
                waiting += [(inner, (around, name)) for name, inner in rule.items() if type(inner) is not list]
    return None


def _fault_at(fault: str, location: Location) -> str:
    return f"{shorten(fault)} (at {shorten('/'.join(path_to(location))) or 'top level'})"


# --- the rule of each keyword: returns the fault of its value, "" without one ---------------------------------------


def _type_fault(value: Any, *types: str) -> str:
    return f"{quote(value)} is not of type{'s' * (len(types) > 1)} " + ", ".join(f'"{name}"' for name in types)


def _of_type(name: str) -> Callable[[Any], str]:
    fits = TYPES[name]
    return lambda value: "" if fits(value) else _type_fault(value, name)


_is_text, _is_flag, _is_number, _is_list, _is_object = map(_of_type, ("string", "boolean", "number", "array", "object"))


def _matching(pattern: str) -> Callable[[Any], str]:
    compiled = re.compile(pattern)

    def rule(value: Any) -> str:
        return _is_text(value) or ("" if compiled.fullmatch(value) else f'{quote(value)} does not match "^{pattern}$"')

    return rule


def _is_count(value: Any) -> str:
    if not TYPES["integer"](value):
        return _type_fault(value, "integer")
    return "" if value >= 0 else f"{value} is less than the minimum of 0"


def _is_above_zero(value: Any) -> str:
    return _is_number(value) or ("" if value > 0 else f"{value} is less than or equal to the minimum of 0")


def _are_names(value: Any) -> str:
    """A list of different texts."""
    if fault := _is_list(value) or next(filter(None, map(_is_text, value)), ""):
        return fault
    return "" if len(set(value)) == len(value) else f"{quote(value)} has non-unique elements"


def _are_types(value: Any) -> str:
    names = [value] if type(value) is str else value
    known = type(names) is list and all(type(name) is str and name in TYPES for name in names)
    if known and names and len(set(names)) == len(names):
        return ""
    return f"{quote(value)} is not one of {', '.join(map(quote, TYPES))}, or a list of them"


def _are_schemas(value: Any) -> str:
    return _is_list(value) or ("" if value else "[] has less than 1 item")


def _each(rule: Callable[[Any], str]) -> Callable[[Any], str]:
    """The rule for an object whose values must each keep this rule."""
    return lambda value: _is_object(value) or next(filter(None, map(rule, value.values())), "")


def _is_dependency(value: Any) -> str:
    return _are_names(value) if type(value) is list else ""


RULES: dict[str, Callable[[Any], str]] = {
    **dict.fromkeys(
        ("$comment", "$dynamicRef", "$recursiveRef", "$ref", "$schema", "contentEncoding", "contentMediaType",
         "description", "format", "pattern", "title"), _is_text),
    **dict.fromkeys(("deprecated", "readOnly", "uniqueItems", "writeOnly"), _is_flag),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"), _is_number),
    **dict.fromkeys(
        ("maxContains", "maxItems", "maxLength", "maxProperties", "minContains", "minItems", "minLength",
         "minProperties"), _is_count),
    **dict.fromkeys(("enum", "examples"), _is_list),
    **dict.fromkeys(SCHEMA_LISTS, _are_schemas),
    **dict.fromkeys(NAMED_SCHEMAS, _is_object),
    **dict.fromkeys(("$anchor", "$dynamicAnchor", "$recursiveAnchor"), _matching("[A-Za-z_][-A-Za-z0-9._]*")),
    "$id": _matching("[^#]*#?"),
    "$vocabulary": _each(_is_flag),
    "dependencies": _each(_is_dependency),
    "dependentRequired": _each(_are_names),
    "multipleOf": _is_above_zero,
    "required": _are_names,
    "type": _are_types,
}  # fmt: skip
