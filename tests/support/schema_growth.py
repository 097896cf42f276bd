"""Whether a JSON Schema has only grown: what was written for the old one works with the new one. Pure.

Knows the keywords of our schemas, and raises ValueError for others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]
Way = Literal["input", "output"]
"""input: others write it and we read it; output: we write it and others read it."""

TEXTS = {"title", "description", "default", "examples", "$schema", "$defs", "discriminator"}
"""Keywords that allow and forbid nothing."""
LOWEST = ("minimum", "exclusiveMinimum", "minLength", "minItems")
HIGHEST = ("maximum", "maxLength", "maxItems")
SHAPE = {"type", "enum", "properties", "required", "additionalProperties", "items", "prefixItems", "pattern"}
KNOWN = {*SHAPE, *LOWEST, *HIGHEST}


def breaks(old: Json, new: Json, way: Way) -> list[str]:
    """The promises that the new schema breaks, each with its place; empty if the schema has only grown.

    In both ways no record, member, type or value of an enum may go. An input may get no narrower bounds and no new
    required member. In an output no required member may become optional, and no member may get another type: readers
    count on both. New records, new members and new values of an enum are growth."""
    return sorted(set(_Comparison(old, new, way).of(old, new, "", ())))


class _Comparison:
    def __init__(self, old: Json, new: Json, way: Way) -> None:
        self._old_defs = old.get("$defs", {})
        self._new_defs = new.get("$defs", {})
        self._way = way

    def of(self, old: Json, new: Json, where: str, open_: tuple[tuple[str, str], ...]) -> Iterator[str]:
        """`open_` are the definitions that are being compared: a schema may contain itself."""
        pair = (old.get("$ref", ""), new.get("$ref", ""))
        if all(pair):
            if pair in open_:
                return
            open_ = (*open_, pair)
        olds, news = _alternatives(old, self._old_defs), _alternatives(new, self._new_defs)
        for kind, shape in olds.items():
            if (match := _match(kind, news)) is None:
                yield f"{where}: {kind} was removed"
            elif kind != "any":
                yield from self._shape(shape, news[match], where if len(olds) == 1 else f"{where}<{kind}>", open_)
        if self._way == "output" and "any" not in olds:
            known = {kind.split(" ")[0] for kind in olds}
            for kind in news:
                if kind not in olds and not (kind.startswith("object ") and "object" in known):
                    yield f"{where}: {kind} was added, which old readers do not expect"

    def _shape(self, old: Json, new: Json, where: str, open_: tuple[tuple[str, str], ...]) -> Iterator[str]:
        if "enum" in new:
            gone = [value for value in old.get("enum", ()) if value not in new["enum"]]
            yield from (f"{where}: the value {value!r} was removed" for value in gone)
            if "enum" not in old:
                yield f"{where}: any value was allowed, and now only {new['enum']}"
        for member, schema in old.get("properties", {}).items():
            if member not in new.get("properties", {}):
                yield f"{where}.{member}: the member was removed"
            else:
                yield from self.of(schema, new["properties"][member], f"{where}.{member}", open_)
        before, after = set(old.get("required", ())), set(new.get("required", ()))
        if self._way == "input":
            yield from (f"{where}.{member}: it is required now" for member in after - before)
            yield from (f"{where}: {said}" for said in _narrower(old, new))
        else:
            yield from (f"{where}.{member}: it may be absent now" for member in before - after)
        yield from self._contents(old, new, where, open_)

    def _contents(self, old: Json, new: Json, where: str, open_: tuple[tuple[str, str], ...]) -> Iterator[str]:
        """The items of an array, and the members of an object whose names are free."""
        for keyword, inside in (("items", "[]"), ("additionalProperties", ".*")):
            yield from self.of(_schema(old.get(keyword)), _schema(new.get(keyword)), where + inside, open_)
        olds, news = old.get("prefixItems", []), new.get("prefixItems", [])
        if len(olds) != len(news):
            yield f"{where}: it had {len(olds)} fixed items, and now {len(news)}"
        for number, (one, other) in enumerate(zip(olds, news, strict=False)):
            yield from self.of(one, other, f"{where}[{number}]", open_)


def _alternatives(schema: Json, definitions: Json) -> dict[str, Json]:
    """The kinds of values that a schema allows, each with its keywords: `string`, `null`, `object`, and for records
    `object TAG`; `any` if all are allowed."""
    if "$ref" in schema:
        return _alternatives(definitions[schema["$ref"].removeprefix("#/$defs/")], definitions)
    if "anyOf" in schema:
        found: dict[str, Json] = {}
        for each in schema["anyOf"]:
            kinds = _alternatives(each, definitions)
            if twice := kinds.keys() & found.keys():
                raise ValueError(f"two alternatives of one kind: {sorted(twice)}")
            found |= kinds
        return found
    shape = {keyword: value for keyword, value in schema.items() if keyword not in TEXTS}
    if unknown := shape.keys() - KNOWN:
        raise ValueError(f"keywords that the comparison does not know: {sorted(unknown)}")
    if "type" in shape:
        types = shape["type"] if isinstance(shape["type"], list) else [shape["type"]]
    elif "enum" in shape:
        types = sorted({_type_of(value) for value in shape["enum"]})
    else:
        types = ["any"]
    return {_kind(each, shape): shape for each in types}


def _kind(type_: str, shape: Json) -> str:
    for member in shape.get("required", ()):
        values = shape.get("properties", {}).get(member, {}).get("enum", ())
        if len(values) == 1:
            return f"{type_} {values[0]}"
    return type_


def _match(kind: str, news: Json) -> str | None:
    """The kind among the new ones that allows the values of this one."""
    wider = {"integer": ("number", "any")}.get(kind, ("any",))
    return next((each for each in (kind, *wider) if each in news), None)


def _narrower(old: Json, new: Json) -> Iterator[str]:
    for keyword in LOWEST:
        if keyword in new and new[keyword] > old.get(keyword, float("-inf")):
            yield f"{keyword} is {new[keyword]}, which was {old.get(keyword, 'free')}"
    for keyword in HIGHEST:
        if keyword in new and new[keyword] < old.get(keyword, float("inf")):
            yield f"{keyword} is {new[keyword]}, which was {old.get(keyword, 'free')}"
    if "pattern" in new and new["pattern"] != old.get("pattern"):
        yield f"the pattern is {new['pattern']!r}, which was {old.get('pattern', 'free')!r}"


def _schema(value: Any) -> Json:
    """The schema of contents: those of which nothing is said may be anything, and with false there are none."""
    if value is None or value is True:
        return {}
    return {"enum": []} if value is False else value


def _type_of(value: Any) -> str:
    names = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    return names[type(value)]
