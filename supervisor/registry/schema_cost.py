"""Computes an upper bound for the cost of a check of a value against a schema. Pure.

Strangers write the schemas: a few hundred bytes can ask for more steps than a host has time for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from wire.text import one_line

FAULT_LENGTH = 200
"""Characters that an error quotes."""
ROOT = "#"
DEEPEST = 64
"""Levels of a value that count for a recursive schema. More levels are beyond every limit anyway."""
UNEVALUATED = frozenset({"unevaluatedProperties", "unevaluatedItems"})
UNEVALUATED_FACTOR = 3
"""The validator checks everything beside one of these keywords a second time. Nested ones multiply: each level takes
2.5 times as long."""


class SchemaExtent(NamedTuple):
    """The size of a schema, or of a part of it, with its references unfolded."""

    size: int = 1
    """Number of parts."""
    loops: int = 0
    """Number of references back to a part that contains them."""
    patterns: int = 0
    """Number of regular expressions."""

    def plus(self, other: SchemaExtent) -> SchemaExtent:
        return SchemaExtent(self.size + other.size, self.loops + other.loops, self.patterns + other.patterns)

    def times(self, factor: int) -> SchemaExtent:
        return SchemaExtent(self.size * factor, self.loops * factor, self.patterns * factor)


def schema_extent(schema: dict[str, Any]) -> SchemaExtent:
    """Returns the extent of a schema. Raises `ValueError` for a reference that leads out of the schema or nowhere,
    `RecursionError` for a chain of hundreds of references."""
    return _Unfolding(schema).of(schema)


class _Unfolding:
    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        self._known: dict[str, SchemaExtent] = {}
        self._open = {ROOT}

    def of(self, part: Any) -> SchemaExtent:
        found = SchemaExtent()
        if isinstance(part, list):
            for inner in part:
                found = found.plus(self.of(inner))
        elif isinstance(part, dict):
            for inner in part.values():
                found = found.plus(self.of(inner))
            for target in (part.get("$ref"), part.get("$dynamicRef")):
                if isinstance(target, str):
                    found = found.plus(self._of_reference(target))
            found = found.plus(SchemaExtent(0, 0, _patterns(part)))
            if not UNEVALUATED.isdisjoint(part):
                found = found.times(UNEVALUATED_FACTOR)
        return found

    def _of_reference(self, target: str) -> SchemaExtent:
        if target in self._open:
            return SchemaExtent(loops=1)
        if target not in self._known:
            self._open.add(target)
            self._known[target] = self.of(resolve(self._schema, target))
            self._open.discard(target)
        return self._known[target]


def _patterns(part: dict[str, Any]) -> int:
    several = part.get("patternProperties")
    return int(isinstance(part.get("pattern"), str)) + (len(several) if isinstance(several, dict) else 0)


def patterns_written(value: Any) -> int:
    """Returns the number of regular expressions in a schema, without unfolding references."""
    if isinstance(value, dict):
        return _patterns(value) + sum(map(patterns_written, value.values()))
    return sum(map(patterns_written, value)) if isinstance(value, list) else 0


def resolve(schema: dict[str, Any], target: str) -> Any:
    """Returns the part that a reference names. Raises `ValueError` if the reference is not a JSON pointer into this
    schema."""
    if not target.startswith("#/"):
        raise ValueError(f"a reference leads out of it: {one_line(target, FAULT_LENGTH)}")
    part: Any = schema
    for name in target[2:].split("/"):
        key = name.replace("~1", "/").replace("~0", "~")
        if isinstance(part, dict) and key in part:
            part = part[key]
        elif isinstance(part, list) and key.isdecimal() and int(key) < len(part):
            part = part[int(key)]
        else:
            raise ValueError(f"a reference leads nowhere: {one_line(target, FAULT_LENGTH)}")
    return part


class CheckCost(NamedTuple):
    """An upper bound for the cost of one check."""

    steps: int
    """Parts of the schema times values."""
    letters: int
    """Regular expressions times the characters of texts and names."""


def check_cost(extent: SchemaExtent, value: Any) -> CheckCost:
    """Returns an upper bound for the check of a value against a schema of this extent. A recursive schema unfolds once
    more with each level of the value."""
    values, depth, letters, level = 0, 0, 0, [value]
    while level:
        values += len(level)
        depth += 1
        letters += sum(len(item) for item in level if isinstance(item, str))
        inside: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                letters += sum(map(len, item))
                inside += item.values()
            elif isinstance(item, list):
                inside += item
        level = inside
    unfolded = extent.loops ** min(depth, DEEPEST) if extent.loops else 1
    return CheckCost(extent.size * values * unfolded, extent.patterns * letters * unfolded)
