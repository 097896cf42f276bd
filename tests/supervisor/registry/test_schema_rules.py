"""The rules for a schema itself are those of the meta-schema of draft 2020-12."""

from __future__ import annotations

from itertools import product
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from supervisor.registry.plain_schema import NAMED_SCHEMAS, ONE_SCHEMA, SCHEMA_LISTS
from supervisor.registry.schema_rules import RULES, schema_fault
from tests.support.any_message import JSON

WORDS = sorted(ONE_SCHEMA | SCHEMA_LISTS | NAMED_SCHEMAS | RULES.keys())
TEXTS = st.sampled_from(["string", "integer", "#", "a", "a#b", "1", "", "http://example.invalid/x", "#/$defs/a"])
LEAVES = st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from([0.0, 1.0, 1.5]) | TEXTS
ANY_SCHEMA = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.lists(st.tuples(st.sampled_from(WORDS), inner), max_size=3).map(dict)
    ),
    max_leaves=8,
)


@given(st.lists(st.tuples(st.sampled_from(WORDS), ANY_SCHEMA | JSON), max_size=3).map(dict))
@example({"dependencies": {"a": ["b", "b"]}})
@example({"dependencies": {"a": 5}})
@example({"$vocabulary": {"a": 5}})
@example({"properties": {"x": {"$schema": 5}}})
@example({"$schema": 5})
def test_a_schema_is_valid_if_the_meta_schema_says_so(schema: dict[str, Any]):
    without = {word: rule for word, rule in schema.items() if word != "$schema"}
    assert (schema_fault(schema) is None) == jsonschema_rs.meta.is_valid(without), schema_fault(schema)


VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1.0, 1.5, "", "a", "1", "a#b", "null", [], ["a"], ["a", "a"], [5], ["null"], ["null", "null"],
    {}, {"a": 5}, {"a": ["b"]}, {"a": ["b", "b"]}, {"a": {}}, {"a": True}, [{}], [{"type": 5}], {"type": 5},
)  # fmt: skip


def test_each_keyword_takes_what_the_meta_schema_takes():
    for word, value in product(WORDS, VALUES):
        for schema in ({"properties": {"a": {word: value}}}, {"not": {"anyOf": [{word: value}]}}):
            assert (schema_fault(schema) is None) == jsonschema_rs.meta.is_valid(schema), schema


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({"properties": []}, '[] is not of type "object" (at properties)'),
        ({"properties": {"a": 5}}, '5 is not of types "boolean", "object" (at properties/a)'),
        ({"items": {"anyOf": [{}, {"required": [5]}]}}, '5 is not of type "string" (at items/anyOf/1/required)'),
        ({"type": "text"}, '"text" is not one of "array", "boolean", "integer", "null", "number", "object", "string", '
                           "or a list of them (at type)"),
        ({"minLength": -1}, "-1 is less than the minimum of 0 (at minLength)"),
        ({"$anchor": "1"}, '"1" does not match "^[A-Za-z_][-A-Za-z0-9._]*$" (at $anchor)'),
    ],
    ids=str,
)  # fmt: skip
def test_a_fault_has_its_place(schema: dict[str, Any], fault: str):
    assert schema_fault(schema) == fault


def test_a_fault_is_short():
    assert len(schema_fault({"properties": {"x" * 5000: {"type": "y" * 5000}}}) or "") < 500
