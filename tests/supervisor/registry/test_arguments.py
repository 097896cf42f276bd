"""Arguments are checked against schemas: a fault is named by its path, and no schema can hold up the host."""

from __future__ import annotations

import json
import resource
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.registry.arguments import FAULTS_LIMIT, STEPS_LIMIT, Checker
from supervisor.registry.schema_cost import SchemaExtent, check_cost, schema_extent

if TYPE_CHECKING:
    from tests.support.host import Host

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "array", "items": {"type": "integer"}}},
    "required": ["city"],
    "additionalProperties": False,
}


def fault(schema: dict[str, Any], value: object) -> str | None:
    return Checker(schema).fault(json.dumps(value).encode())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"city": "Berlin", "days": [1]}, None),
        ({}, 'invalid args: /: "city" is a required property'),
        ({"city": 5}, 'invalid args: /city: 5 is not of type "string"'),
        ({"city": "x", "days": [1, "b"]}, 'invalid args: /days/1: "b" is not of type "integer"'),
        ({"city": 5, "town": 1}, "/: Additional properties are not allowed ('town' was unexpected)"),
    ],
)
def test_a_mismatch_is_named_by_its_path(value: object, expected: str | None):
    found = fault(CITY, value)
    assert found == expected if expected is None or expected.startswith("invalid") else expected in (found or "")


def test_of_many_faults_some_are_named_and_none_is_long():
    found = fault(CITY, {"city": "x", "days": ["y" * 1000] * 1000})
    assert found is not None
    assert found.count("/days/") == 5
    assert len(found) < 1500


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=8,
)
SCHEMAS = st.recursive(
    st.fixed_dictionaries({"type": st.sampled_from(["string", "integer", "object", "array", "null"])})
    | st.just({"$ref": "#"})
    | st.just({"$ref": "#/$defs/other"}),
    lambda inner: st.one_of(
        st.builds(lambda a, b: {"properties": {"a": a, "b": b}}, inner, inner),
        st.builds(lambda schema: {"items": schema}, inner),
        st.builds(lambda a, b: {"anyOf": [a, b]}, inner, inner),
    ),
    max_leaves=5,
)


@given(SCHEMAS, SCHEMAS, st.dictionaries(st.sampled_from("ab"), VALUES, max_size=2))
def test_what_is_judged_is_judged_as_the_validator_does(schema: dict, other: dict, value: dict):
    whole = {"type": "object", **schema, "$defs": {"other": other}}
    checker = Checker(whole)
    found = checker.fault(json.dumps(value).encode())
    if not checker.trouble:
        assert (found is None) == jsonschema_rs.is_valid(whole, value)


@given(SCHEMAS, SCHEMAS, VALUES, VALUES)
def test_larger_values_and_schemas_never_cost_less(schema: dict, other: dict, value: object, more: object):
    smaller = schema_extent({**schema, "$defs": {"other": other}})
    larger = smaller.plus(SchemaExtent(loops=1, patterns=1))
    assert smaller.size >= 1
    for less, more_of_it in (
        (check_cost(smaller, [value]), check_cost(smaller, [value, more])),
        (check_cost(smaller, value), check_cost(larger, value)),
        (check_cost(smaller, value), check_cost(smaller.times(3), value)),
    ):
        assert less.steps <= more_of_it.steps
        assert less.letters <= more_of_it.letters


def doubling(levels: int) -> dict[str, Any]:
    """A short schema of which each level costs twice the level below."""
    named = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {**named, f"d{levels}": {}}}


def unevaluated(levels: int) -> dict[str, Any]:
    """A schema of which each level is judged again for the level around it."""
    schema: dict[str, Any] = {"properties": {"a": True}}
    for _ in range(levels):
        schema = {"allOf": [schema], "unevaluatedProperties": False}
    return {"type": "object", **schema}


def with_patterns(pattern: str, times: int = 1) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": {"allOf": [{"pattern": f"{pattern}{n}"} for n in range(times)]}}}


HOSTILE = {
    "what is unevaluated is asked for again and again": (unevaluated(20), {"a": 1}),
    "a thousand expressions that look ahead": (with_patterns(r"(?=\w{100})", 1000), {"a": "x"}),
    "one that looks ahead at each place of a long text": (with_patterns("(?=(a*)*b)c"), {"a": "a" * 1_000_000}),
    "one of many states on a long text": (with_patterns("[ab]*a[ab]{2000}c"), {"a": "ab" * 100_000}),
    "each of many expressions on each of many names": (
        {"type": "object", "patternProperties": {f"(a|b|ab)*{n}c": {} for n in range(200)}},
        {"ab" * 50 + str(n): 1 for n in range(1000)},
    ),
    "it doubles forty times": (doubling(40), {"a": 1}),
    "it doubles with each level": (
        {"type": "object", "anyOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]},
        json.loads('{"a":' * 60 + "1" + "}" * 60),
    ),
    "a chain of a thousand": (
        {"type": "object", "$ref": "#/$defs/c0", "$defs": {f"c{n}": {"$ref": f"#/$defs/c{n + 1}"} for n in range(1000)}
         | {"c1000": {}}},
        {},
    ),
    "it wants a page": ({"type": "object", "$ref": "http://127.0.0.1:9/schema"}, {}),
    "a reference to nowhere": ({"type": "object", "$ref": "#/$defs/none"}, {}),
    "it is a circle": ({"type": "object", "$ref": "#"}, {}),
}  # fmt: skip


@pytest.mark.parametrize("which", HOSTILE)
def test_what_would_take_too_long_or_cannot_be_known_is_not_judged(which: str):
    schema, value = HOSTILE[which]
    checker = Checker(schema)
    assert checker.fault(json.dumps(value).encode()) is None
    assert bool(checker.trouble) == (which != "it is a circle")


def test_expressions_of_common_size_are_judged_on_long_texts():
    email = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$"
    schema = {"type": "object", "properties": {"to": {"pattern": email}, "path": {"pattern": "^/"}, "text": {}}}
    long = "x" * 100_000
    assert fault(schema, {"to": "a@b.de", "path": "/x", "text": long}) is None
    assert (fault(schema, {"to": "a@b", "path": "/x", "text": long}) or "").startswith('invalid args: /to: "a@b" does')
    assert fault(with_patterns(r"^\p{L}{1,64}"), {"a": "5"}) is not None


def test_a_fault_of_a_long_value_says_what_is_wrong():
    found = fault({"type": "object", "properties": {"a": {"maxLength": 9}}}, {"a": "x" * 5000})
    assert found is not None
    assert found.startswith('invalid args: /a: "xxx')
    assert found.endswith("is longer than 9 characters")


def test_faults_do_not_take_the_memory_of_the_host():
    """Ten thousand faults, each with a copy of a text of 100 KB, would be four gigabytes."""
    schema = {"type": "object", "properties": {"a": {"allOf": [{"maxLength": 0}] * 10_000}}}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "too large to name the place" in (fault(schema, {"a": "x" * 100_000}) or "")
    assert fault(schema, {"a": ""}) is None
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4 * FAULTS_LIMIT / 1024


def test_a_pattern_that_backtracks_without_end_is_no_mismatch():
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": r"^(a|aa)+\1$"}}}
    assert fault(schema, {"a": "a" * 4000 + "b"}) is None
    assert fault(schema, {"a": 5}) == 'invalid args: /a: 5 is not of type "string"'


def test_schemas_of_common_size_are_far_below_the_limit():
    assert check_cost(schema_extent(CITY), {"city": "x", "days": list(range(1000))}).steps < STEPS_LIMIT / 100
    tree = {"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}
    assert fault(tree, {"left": {"left": {"right": 5}}}) == 'invalid args: /left/left/right: 5 is not of type "object"'


# --- with a real extension ---------------------------------------------------------------------------------------

TOOL = """
send(type="hello", name="x")
send(type="register_tool", name="weather", schema=%r)
send(type="ready")
for frame in frames():
    result(frame, "args " + json.dumps(frame["args"]))
"""


def test_the_extension_is_not_called_with_what_does_not_fit(host: Host):
    host.write("x", TOOL % CITY)
    host.start()
    answer = host.call("weather", city=5)
    assert (answer.frame, answer.reason) == (None, 'invalid args: /city: 5 is not of type "string"')
    assert (host.cost("x").calls, host.cost("x").errors) == (0, 0), "it has done nothing wrong"
    assert host.text("weather", city="Berlin") == 'args {"city": "Berlin"}'
    assert host.said_of("x") == []


def test_an_extension_whose_schema_cannot_be_judged_is_called_and_its_user_told(host: Host):
    host.write("x", TOOL % doubling(40))
    host.start()
    assert host.text("weather", a=1) == 'args {"a": 1}'
    assert host.text("weather", a=2) == 'args {"a": 2}'
    assert host.said_of("x") == [
        ("warning", "calls of its tool 'weather' are not checked: its schema unfolds to too many parts")
    ]
