"""Judges the arguments of a tool call: the model's text, before guards and tools see it, and the values against the
schema of the tool if that is plainly cheap. Pure.

A plain schema has only keywords that take one short step for each value, and no references. So no part of it checks a
value twice, and a check takes at most the number of the schema's parts, times the number of values, in steps. A schema
with a keyword that is unknown here is not plain.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sized
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from wire.lenient_json import ARGUMENTS_DEPTH, UNREADABLE, is_deeper, read
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

FAULTS_NAMED = 5
FAULT_LENGTH = 200
"""Maximum number of characters of one fault. A longer one loses its middle: the value comes first, the fault last."""

Location = tuple["Location", str | int] | None
"""The place of a value in another one: the location of the value that contains it, and its name or index there. None
for the outermost value."""
ONE_SCHEMA = frozenset({
    "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then",
    "unevaluatedItems", "unevaluatedProperties",
})  # fmt: skip
"""Keywords whose value is a schema."""
SCHEMA_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
"""Keywords whose value is a list of schemas."""
NAMED_SCHEMAS = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
"""Keywords whose value is an object that contains schemas."""


def is_number(value: Any) -> bool:
    return type(value) is int or type(value) is float


TYPES: dict[str, Callable[[Any], bool]] = {
    "array": lambda value: type(value) is list,
    "boolean": lambda value: type(value) is bool,
    "integer": lambda value: type(value) is int or (type(value) is float and value.is_integer()),
    "null": lambda value: value is None,
    "number": is_number,
    "object": lambda value: type(value) is dict,
    "string": lambda value: type(value) is str,
}
"""The types of JSON Schema. True and false are no numbers; 1.0 is an integer."""
ANNOTATIONS = frozenset({
    "$comment", "default", "deprecated", "description", "examples", "format", "readOnly", "title", "writeOnly",
})  # fmt: skip
"""Keywords that draft 2020-12 does not check."""


def plain_parts(schema: dict[str, Any]) -> int:
    """Returns the number of parts of a valid schema, each value of an `enum` and each required name included; 0 if the
    schema is not plain. The outermost `$schema` does not count."""
    count = 0
    waiting: list[Any] = [{word: rule for word, rule in schema.items() if word != "$schema"}]
    for part in waiting:  # the list grows meanwhile
        count += 1
        if type(part) is bool:
            continue
        for word, rule in part.items():
            if word not in PLAIN or (word == "enum" and not all(map(_is_short, rule))):
                return 0
            if word == "const" and not _is_short(rule):
                return 0
            if word in ("enum", "required"):
                count += len(rule)
            elif word in ONE_SCHEMA:
                waiting.append(rule)
            elif word in SCHEMA_LISTS:
                waiting += rule
            elif word in NAMED_SCHEMAS:
                waiting += rule.values()
    return count


def _is_short(value: Any) -> bool:
    """Whether a comparison with the value takes one step."""
    return type(value) is not dict and type(value) is not list


def count_values(value: Any, most: int) -> int:
    """The number of values in a value, itself included; any number above `most` if there are more."""
    waiting = [value]
    for item in waiting:  # the list grows meanwhile
        if type(item) is dict:
            waiting += item.values()
        elif type(item) is list:
            waiting += item
        if len(waiting) > most:
            break
    return len(waiting)


def plain_faults(schema: dict[str, Any], value: Any) -> list[tuple[list[str], str]]:
    """The first faults of a value, each with its path. The schema must be valid and plain."""
    faults = islice(_faults(schema, value, None), FAULTS_NAMED)
    return [(path_to(location), say(rule, wrong)) for location, say, rule, wrong in faults]


# --- the check ----------------------------------------------------------------------------------------------------

_Faults = Iterator[tuple["Location", Callable[[Any, Any], str], Any, Any]]
"""For each fault: its location, the function that puts it into words, and the arguments of that function: the keyword's
value and the value that does not fit. Only reported faults are put into words: a long value takes time."""


def _faults(schema: Any, value: Any, location: Location) -> _Faults:
    if schema is False:
        yield location, _say_nothing_fits, schema, value
    if type(schema) is bool:
        return
    for word, rule in schema.items():
        if word in SIMPLE:
            fits, say = SIMPLE[word]
            if not fits(rule, value):
                yield location, say, rule, value
        elif rule is False and word == "additionalProperties":
            yield from _faults_of_others(schema, value, location)
        elif word in INNER:
            for inner, item, step in INNER[word](schema, rule, value):
                yield from _faults(inner, item, (location, step) if step is not None else location)


def _faults_of_others(schema: dict[str, Any], value: Any, location: Location) -> _Faults:
    if others := _others(schema, value):
        yield location, _say_additional, others, value


def _others(schema: dict[str, Any], value: Any) -> list[str]:
    """The names in a value that are not in `properties`."""
    known = schema.get("properties", ())
    return [name for name in value if name not in known] if type(value) is dict else []


def _fits(schema: Any, value: Any) -> bool:
    return next(_faults(schema, value, None), None) is None


def _has_type(rule: Any, value: Any) -> bool:
    return TYPES[rule](value) if type(rule) is str else any(TYPES[name](value) for name in rule)


def _is_equal(value: Any, other: Any) -> bool:
    """Whether two values are the same in JSON: 1 is 1.0, but not true. No list or object is equal to another value of
    a plain schema."""
    return value == other and (type(value) is type(other) or (is_number(value) and is_number(other)))


def _at_least(kind: type[Sized]) -> Callable[[Any, Any], bool]:
    return lambda limit, value: type(value) is not kind or len(value) >= limit


def _at_most(kind: type[Sized]) -> Callable[[Any, Any], bool]:
    return lambda limit, value: type(value) is not kind or len(value) <= limit


# --- the words of each fault --------------------------------------------------------------------------------------


def _say_type(rule: Any, value: Any) -> str:
    several = type(rule) is list and len(rule) > 1
    names = ", ".join(f'"{name}"' for name in ([rule] if type(rule) is str else sorted(rule)))
    return f"{quote(value)} is not of type{'s' * several} {names}"


def _say_enum(rule: list[Any], value: Any) -> str:
    *most, last = map(quote, rule) if rule else [""]
    return f"{quote(value)} is not one of {', '.join(most)}{' or ' if most else ''}{last}"


def _say_additional(names: list[str], _value: Any) -> str:
    told = ", ".join(f"'{name}'" for name in names) + (" was" if len(names) == 1 else " were")
    return f"Additional properties are not allowed ({told} unexpected)"


def _say_required(rule: list[str], value: dict[str, Any]) -> str:
    missing = [quote(name) for name in rule if name not in value]
    return ", ".join(missing) + (" is a required property" if len(missing) == 1 else " are required properties")


def _say_nothing_fits(_rule: bool, value: Any) -> str:
    return f"False schema does not allow {quote(value)}"


def _say_none_of(word: str) -> Callable[[Any, Any], str]:
    return lambda _, value: f"{quote(value)} is not valid under any of the schemas listed in the '{word}' keyword"


def _say_one_of(rule: list[Any], value: Any) -> str:
    if any(_fits(inner, value) for inner in rule):
        return f"{quote(value)} is valid under more than one of the schemas listed in the 'oneOf' keyword"
    return _say_none_of("oneOf")(rule, value)


def _says(words: str, noun: str = "", nouns: str = "") -> Callable[[Any, Any], str]:
    """The words between the value and the limit, and the noun for the counted things."""

    def say(limit: Any, value: Any) -> str:
        counted = f" {noun if limit == 1 else nouns}" if noun else ""
        return f"{quote(value)} {words} {quote(int(limit) if noun else limit)}{counted}"

    return say


SIMPLE: dict[str, tuple[Callable[[Any, Any], bool], Callable[[Any, Any], str]]] = {
    "type": (_has_type, _say_type),
    "enum": (lambda rule, value: any(_is_equal(value, entry) for entry in rule), _say_enum),
    "const": (lambda rule, value: _is_equal(value, rule), lambda rule, _: f"{quote(rule)} was expected"),
    "anyOf": (lambda rule, value: any(_fits(inner, value) for inner in rule), _say_none_of("anyOf")),
    "oneOf": (lambda rule, value: sum(_fits(inner, value) for inner in rule) == 1, _say_one_of),
    "required": (lambda rule, value: type(value) is not dict or all(name in value for name in rule), _say_required),
    "minimum": (lambda limit, n: not is_number(n) or n >= limit, _says("is less than the minimum of")),
    "maximum": (lambda limit, n: not is_number(n) or n <= limit, _says("is greater than the maximum of")),
    "exclusiveMinimum": (
        lambda limit, n: not is_number(n) or n > limit,
        _says("is less than or equal to the minimum of"),
    ),
    "exclusiveMaximum": (
        lambda limit, n: not is_number(n) or n < limit,
        _says("is greater than or equal to the maximum of"),
    ),
    "minLength": (_at_least(str), _says("is shorter than", "character", "characters")),
    "maxLength": (_at_most(str), _says("is longer than", "character", "characters")),
    "minItems": (_at_least(list), _says("has less than", "item", "items")),
    "maxItems": (_at_most(list), _says("has more than", "item", "items")),
    "minProperties": (_at_least(dict), _says("has less than", "property", "properties")),
    "maxProperties": (_at_most(dict), _says("has more than", "property", "properties")),
}
"""Keywords about a value itself: each with the test of the value, and the words for a value that does not fit."""

_Inner = list[tuple[Any, Any, "str | int | None"]]


def _in_object(_schema: Any, rule: dict[str, Any], value: Any) -> _Inner:
    if type(value) is not dict:
        return []
    return [(inner, value[name], name) for name, inner in rule.items() if name in value]


def _in_others(schema: Any, rule: Any, value: Any) -> _Inner:
    return [(rule, value[name], name) for name in _others(schema, value)]


def _in_tuple(_schema: Any, rule: list[Any], value: Any) -> _Inner:
    return list(zip(rule, value, range(len(rule)), strict=False)) if type(value) is list else []


def _in_list(schema: Any, rule: Any, value: Any) -> _Inner:
    first = len(schema.get("prefixItems", ()))
    return [(rule, item, index) for index, item in enumerate(value[first:], first)] if type(value) is list else []


INNER: dict[str, Callable[[Any, Any, Any], _Inner]] = {
    "properties": _in_object,
    "additionalProperties": _in_others,
    "prefixItems": _in_tuple,
    "items": _in_list,
    "allOf": lambda _schema, rule, value: [(inner, value, None) for inner in rule],
}
"""Keywords about the parts of a value. Each yields schemas, the value that must fit each, and the step to that value;
None for the value itself."""
PLAIN = ANNOTATIONS | SIMPLE.keys() | INNER.keys()


# --- faults in words ----------------------------------------------------------------------------------------


def path_to(location: Location) -> list[str]:
    """The names and indexes that lead to a location."""
    found: list[str] = []
    while location is not None:
        location, step = location
        found.append(str(step))
    return found[::-1]


def quote(value: Any) -> str:
    """The value as JSON."""
    return msgspec.json.encode(value).decode()


def shorten(message: str) -> str:
    if len(message) > FAULT_LENGTH:
        message = f"{message[: FAULT_LENGTH // 2]} … {message[-FAULT_LENGTH // 2 :]}"
    return one_line(message, FAULT_LENGTH + 3)


def invalid_args(faults: Iterable[tuple[Iterable[str | int], str]]) -> str:
    """The faults of some arguments, each with its path, in one line; "" without faults."""
    told = [f"{shorten(''.join(f'/{step}' for step in path)) or '/'}: {shorten(message)}" for path, message in faults]
    return "invalid args: " + "; ".join(told) if told else ""


# --- a call -------------------------------------------------------------------------------------------------

STEPS_LIMIT = 100_000
"""Maximum of parts of the schema times values in the arguments: at worst about a twentieth of a second."""
BYTES_LIMIT = 1024 * 1024
"""Maximum of arguments that are checked in the loop, in bytes."""
QUOTED = 80
"""Maximum of bytes or characters that a reason quotes."""


def unfit_reason(args: bytes) -> str | None:
    """Why no tool can take these arguments; None if they are one JSON object with one meaning for all readers.

    A repeated name is refused, because some readers take the first value and others the last: a guard would judge
    another command than the shell runs.
    """
    try:
        value = orjson.loads(args)
    except orjson.JSONDecodeError as error:
        return f"invalid args: not valid JSON: {error}"
    if not isinstance(value, dict):
        return f"invalid args: must be a JSON object, not {args[:QUOTED].decode('utf-8', 'replace')}"
    try:
        if is_deeper(value, ARGUMENTS_DEPTH):
            raise RecursionError
        json.loads(args, object_pairs_hook=_unique)
    except RecursionError:  # also in a value that `value` does not have, since its name occurs again
        return f"invalid args: nested deeper than {ARGUMENTS_DEPTH} levels"
    except _RepeatedNameError as repeated:
        return f"invalid args: the name {repeated.name} occurs twice in one object"
    return None


class _RepeatedNameError(Exception):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = json.dumps(one_line(name, QUOTED), ensure_ascii=False)


def _unique(pairs: list[tuple[str, object]]) -> None:
    names = {name for name, _ in pairs}
    if len(names) == len(pairs):
        return
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise _RepeatedNameError(name)
        seen.add(name)


def fault_at_once(schema: dict[str, Any], parts: int, args: bytes) -> str | None:
    """Returns the faults of the arguments, each with its path; "" without faults. `parts` are the `plain_parts` of the
    schema. None if this is not plainly cheap: then a checker process (`checkers`) must check them. Extensions write the
    schemas, all others wait during a check in the loop, and a few hundred bytes of schema can take millions of steps.
    """
    if not parts or len(args) > BYTES_LIMIT:
        return None
    try:
        value, _ = read(args)
    except UNREADABLE:
        return ""  # the caller reports invalid JSON
    most = STEPS_LIMIT // parts
    if count_values(value, most) > most:
        return None
    return invalid_args(plain_faults(schema, value))
