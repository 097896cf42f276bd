"""The schemas have only grown since the last release: what was written for it works with this version.

The schemas of the last release are in `released_schemas.json`. With each release,
`python -m tests.wire.test_schema_growth` writes them anew, and the difference is what is new in it. A break needs
another protocol version.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from cli.version import VERSION
from tests.support.schema_growth import breaks
from wire import events, frames, schema
from wire.rpc import responses

FILE = Path(__file__).with_name("released_schemas.json")
READ = {"manifest", "frame.from-extension", "control.request", "rpc.request"}
"""Schemas of what others write and we read. All others are of what we write."""
VERSIONS = {
    "rpc": responses.PROTOCOL_VERSION,
    "extensions": frames.PROTOCOL_VERSION,
    "events": events.SCHEMA_VERSION,
}


def whole() -> list[str]:
    """The names of the schemas that have all others within them: a single frame is part of a union."""
    unions = {"frame.from-extension", "frame.from-host", "event"}
    return [
        name
        for name in schema.definitions()
        if name in unions or not (name == "result" or name.startswith(("frame.", "event.")))
    ]


def way(name: str) -> str:
    return "input" if name in READ else "output"


RELEASED: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {"schemas": {}}
SCHEMAS: dict[str, Any] = RELEASED["schemas"]


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_schema_has_only_grown(name):
    assert breaks(SCHEMAS[name], schema.generate(name), way(name)) == []


def test_no_schema_is_gone():
    assert set(RELEASED["names"]) - set(schema.definitions()) == set()


def test_no_version_is_raised_in_silence():
    """With another version the schemas may break: they are to be written anew then."""
    assert RELEASED["versions"] == VERSIONS


# --- the comparison itself ------------------------------------------------------------------------------------

OLD = {
    "anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}],
    "$defs": {
        "A": {
            "type": "object",
            "properties": {
                "type": {"enum": ["a"]},
                "name": {"type": "string", "maxLength": 9},
                "count": {"type": "integer", "minimum": 1},
                "kind": {"enum": ["one", "two"]},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
                "list": {"type": "array", "items": {"$ref": "#/$defs/A"}, "maxItems": 5},
                "map": {"type": "object", "additionalProperties": {"type": "integer"}},
                "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
                "any": {},
            },
            "required": ["type", "name"],
        },
        "B": {"type": "object", "properties": {"type": {"enum": ["b"]}}, "required": ["type"]},
    },
}
"""Two records."""


def changed(path: str, value: Any = None) -> dict[str, Any]:
    """`OLD` with another value at `path`, from `$defs` on; with None it is removed."""
    new: Any = copy.deepcopy(OLD)
    *steps, last = path.split("/")
    place = new if steps == ["anyOf"] else new["$defs"]
    for step in steps:
        place = place[int(step) if isinstance(place, list) else step]
    key = int(last) if isinstance(place, list) else last
    if value is None:
        del place[key]
    else:
        place[key] = value
    return new


def record(tag: str) -> dict[str, Any]:
    return {"type": "object", "properties": {"type": {"enum": [tag]}}, "required": ["type"]}


STRING = {"type": "string"}
BREAKS = {
    "a record": (changed("anyOf/1"), "both", ": object b was removed"),
    "a member": (changed("A/properties/count"), "both", "<object a>.count: the member was removed"),
    "a value": (changed("A/properties/kind/enum/1"), "both", "<object a>.kind: the value 'two' was removed"),
    "null": (changed("A/properties/note", STRING), "both", "<object a>.note: null was removed"),
    "another type": (changed("A/properties/name/type", "integer"), "both", "<object a>.name: string was removed"),
    "an enum": (changed("A/properties/name", {"enum": ["x"]}), "both", "any value was allowed, and now only ['x']"),
    "no longer any": (changed("A/properties/any", STRING), "both", "<object a>.any: any was removed"),
    "items": (changed("A/properties/list/items", STRING), "both", "<object a>.list[]: object a was removed"),
    "fixed items": (changed("A/properties/pair/prefixItems/1"), "both", ".pair: it had 2 fixed items, and now 1"),
    "a fixed item": (changed("A/properties/pair/prefixItems/1", STRING), "both", ".pair[1]: integer was removed"),
    "values": (changed("A/properties/map/additionalProperties", STRING), "both", ".map.*: integer was removed"),
    "closed": (changed("B/additionalProperties", False), "both", "<object b>.*: any was removed"),
    "a required member": (changed("A/required", ["type", "name", "kind"]), "input", ".kind: it is required now"),
    "a new required member": (
        changed("A", {**OLD["$defs"]["A"], "required": ["type", "name", "new"]}), "input", ".new: it is required now",
    ),
    "a lower bound": (changed("A/properties/count/minimum", 2), "input", ".count: minimum is 2, which was 1"),
    "an upper bound": (changed("A/properties/list/maxItems", 4), "input", ".list: maxItems is 4, which was 5"),
    "a new bound": (changed("A/properties/note", {"anyOf": [{**STRING, "maxLength": 3}, {"type": "null"}]}), "input",
                    ".note<string>: maxLength is 3, which was free"),
    "a pattern": (changed("A/properties/name/pattern", "^x"), "input", ".name: the pattern is '^x', which was 'free'"),
    "an optional member": (changed("A/required", ["type"]), "output", "<object a>.name: it may be absent now"),
    "one more type": (
        changed("A/properties/name", {"type": ["string", "null"]}), "output",
        "<object a>.name: null was added, which old readers do not expect",
    ),
    "a wider type": (changed("A/properties/count", {"type": "number"}), "output", ".count: number was added"),
}  # fmt: skip


@pytest.mark.parametrize(("new", "ways", "said"), BREAKS.values(), ids=BREAKS)
def test_each_kind_of_break_is_found(new, ways, said):
    for each in ("input", "output"):
        found = breaks(OLD, new, each)
        assert any(said in line for line in found) == (ways in ("both", each)), found


GROWTH = {
    "nothing": (OLD, "both"),
    "a record": ({**OLD, "anyOf": [*OLD["anyOf"], record("c")]}, "both"),
    "a member": (changed("A/properties/new", STRING), "both"),
    "a value": (changed("A/properties/kind/enum", ["one", "two", "three"]), "both"),
    "any value": (changed("A/properties/kind", STRING), "both"),
    "another name of a definition": (json.loads(json.dumps(OLD).replace("/A", "/C").replace('"A"', '"C"')), "both"),
    "texts": (changed("A/properties/name", {**STRING, "maxLength": 9, "description": "x", "default": "y"}), "both"),
    "null": (changed("A/properties/name", {"type": ["string", "null"]}), "input"),
    "a wider type": (changed("A/properties/count", {"type": "number"}), "input"),
    "a wider bound": (changed("A/properties/list/maxItems", 6), "input"),
    "an optional member": (changed("A/required", ["type"]), "input"),
    "a required member": (changed("A/required", ["type", "name", "kind"]), "output"),
}  # fmt: skip


@pytest.mark.parametrize(("new", "ways"), GROWTH.values(), ids=GROWTH)
def test_growth_is_no_break(new, ways):
    for each in ("input", "output"):
        if ways in ("both", each):
            assert breaks(OLD, new, each) == []


def test_a_keyword_that_it_does_not_know_is_an_error():
    with pytest.raises(ValueError, match="multipleOf"):
        breaks(OLD, changed("A/properties/count/multipleOf", 2), "input")
    with pytest.raises(ValueError, match="two alternatives of one kind"):
        breaks({"anyOf": [STRING, STRING]}, STRING, "input")


def removals(now: dict[str, Any]):
    """The schema with one member or value less, for each in it."""
    for name, definition in now.get("$defs", {}).items():
        for member, described in definition.get("properties", {}).items():
            without = copy.deepcopy(now)
            del without["$defs"][name]["properties"][member]
            yield f"{name}.{member}", without
            for index, value in enumerate(described.get("enum", ())):
                without = copy.deepcopy(now)
                del without["$defs"][name]["properties"][member]["enum"][index]
                yield f"{name}.{member} {value}", without


@pytest.mark.parametrize("name", ["manifest", "rpc.request", "rpc.response.ext_stats", "frame.from-host"])
def test_each_removal_from_a_real_schema_is_found(name):
    now = schema.generate(name)
    for what, without in removals(now):
        assert breaks(now, without, way(name)), what


def main() -> None:
    head = {"release": VERSION, "versions": VERSIONS, "names": sorted(schema.definitions())}
    lines = [f"{json.dumps(name)}: {json.dumps(schema.generate(name), separators=(',', ':'))}" for name in whole()]
    body = ",\n".join(lines)
    FILE.write_text(f'{json.dumps(head)[:-1]}, "schemas": {{\n{body}\n}}}}\n')


if __name__ == "__main__":
    main()
