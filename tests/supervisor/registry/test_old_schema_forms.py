"""Schemas of older drafts mean the same in the form of draft 2020-12; the validator of each draft is the oracle."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import Raw

from supervisor.registry.old_schema_forms import renew_schema
from supervisor.registry.plain_schema import NAMED_SCHEMAS, ONE_SCHEMA, SCHEMA_LISTS
from supervisor.registry.registration import judge_tool
from supervisor.registry.schema_rules import RULES, schema_fault
from tests.support.any_message import JSON
from wire.frames import RegisterTool

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
OBJECT = {"type": "object"}


def inside(rule: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": rule}}


FORMS: tuple[tuple[str, Any, Any], ...] = (
    ("a tuple", {"items": [TEXT, NUMBER]}, {"prefixItems": [TEXT, NUMBER]}),
    ("a closed tuple", {"items": [TEXT], "additionalItems": False}, {"prefixItems": [TEXT], "items": False}),
    ("a tuple in one", {"items": [{"items": [{}]}]}, {"prefixItems": [{"prefixItems": [{}]}]}),
    ("an empty tuple", {"items": []}, {}),
    ("both forms", {"items": TEXT, "additionalItems": False}, {"items": TEXT, "additionalItems": False}),
    ("above", {"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
    ("below", {"maximum": 9.5, "exclusiveMaximum": True}, {"exclusiveMaximum": 9.5}),
    ("not above", {"minimum": 1, "exclusiveMinimum": False}, {"minimum": 1}),
    ("above nothing", {"exclusiveMinimum": True}, {}),
    ("the new limit", {"exclusiveMinimum": 1}, {"exclusiveMinimum": 1}),
    ("any type", {"type": "any"}, {}),
    ("any type of several", {"type": ["string", "any"]}, {}),
    ("names and schemas", {"dependencies": {"a": ["b"], "c": TEXT, "d": "e"}},
     {"dependentRequired": {"a": ["b"], "d": ["e"]}, "dependentSchemas": {"c": TEXT}}),
    ("a plain name", {"$id": "#there"}, {"$anchor": "there"}),
    ("a plain name of draft 4", {"id": "#there"}, {"$anchor": "there"}),
    ("a name and a place", {"$id": "http://example.invalid/x#there"},
     {"$id": "http://example.invalid/x", "$anchor": "there"}),
    ("an id that is none", {"id": "x"}, {"id": "x"}),
    ("a recursion", {"$recursiveRef": "#", "$recursiveAnchor": True}, {"$ref": "#"}),
    ("nullable", {"type": "string", "nullable": True}, {"type": ["string", "null"]}),
    ("nullable types", {"type": ["string", "integer"], "nullable": True}, {"type": ["string", "integer", "null"]}),
    ("nullable already", {"type": ["string", "null"], "nullable": True}, {"type": ["string", "null"]}),
    ("not nullable", {"type": "string", "nullable": False}, {"type": "string"}),
    ("a nullable choice", {"type": "string", "enum": ["a"], "nullable": True},
     {"type": ["string", "null"], "enum": ["a", None]}),
    ("a nullable reference", {"allOf": [{"$ref": "#/definitions/d"}], "nullable": True, "description": "x"},
     {"description": "x", "anyOf": [{"allOf": [{"$ref": "#/definitions/d"}]}, {"type": "null"}]}),
    ("null for a keyword", {"type": "array", "items": None, "enum": None, "default": None},
     {"type": "array", "default": None}),
    ("a literal", {"const": {"items": [1]}, "default": {"exclusiveMinimum": True}, "enum": [{"nullable": True}]},
     {"const": {"items": [1]}, "default": {"exclusiveMinimum": True}, "enum": [{"nullable": True}]}),
)  # fmt: skip


@pytest.mark.parametrize(("old", "new"), [form[1:] for form in FORMS], ids=[form[0] for form in FORMS])
def test_an_old_form_is_taken_in_the_new_one_wherever_it_stands(old: dict, new: dict):
    for around in (
        inside,
        lambda rule: inside({"anyOf": [TEXT, {"additionalProperties": rule}]}),
        lambda rule: {**OBJECT, "properties": {"items": rule, "default": rule, "enum": rule}},
        lambda rule: {**OBJECT, "definitions": {"const": rule}, "patternProperties": {"^x": {"not": rule}}},
    ):
        frame = RegisterTool("t", schema=Raw(json.dumps(around(old)).encode()))
        assert judge_tool(frame).schema == around(new)


def test_a_property_that_says_that_it_is_required():
    places = {"a": {"type": "string", "required": True}, "b": {"required": False}, "c": {"required": ["x"]}}
    assert renew_schema({**OBJECT, "properties": places}) == {
        **OBJECT,
        "properties": {"a": TEXT, "b": {}, "c": {"required": ["x"]}},
        "required": ["a"],
    }
    assert renew_schema({"required": ["z"], "properties": {"a": {"required": True}}})["required"] == ["z", "a"]
    assert renew_schema({"required": ["a"], "properties": {"a": {"required": True}}})["required"] == ["a"]
    assert renew_schema({"required": None, "properties": {"a": {"required": True}}})["required"] == ["a"]
    assert "required" not in renew_schema({**OBJECT, "required": True})


def test_the_top_is_an_object_also_if_it_is_said_to_be_nullable():
    assert renew_schema({**OBJECT, "nullable": True}) == OBJECT


def test_the_name_of_an_older_draft_goes_with_its_forms():
    old = {"$schema": "http://json-schema.org/draft-07/schema#", **inside({"items": [TEXT]})}
    assert renew_schema(old) == inside({"prefixItems": [TEXT]})
    unchanged = {"$schema": "http://json-schema.org/draft-07/schema#", **inside(TEXT)}
    assert renew_schema(unchanged) == unchanged
    new = {"$schema": "https://json-schema.org/draft/2020-12/schema", **inside({"items": [TEXT]})}
    assert renew_schema(new)["$schema"] == new["$schema"]


def test_a_reference_into_a_tuple_still_leads_there():
    pair = {"items": [TEXT, {"items": [NUMBER]}], "additionalItems": NUMBER}
    schema = {
        **OBJECT,
        "properties": {
            "a/b": pair,
            "first": {"$ref": "#/properties/a~1b/items/0"},
            "deep": {"$ref": "#/properties/a~1b/items/1/items/0"},
            "rest": {"$ref": "#/properties/a~1b/additionalItems"},
            "lost": {"$ref": "#/properties/none/items/0"},
            "whole": {"$ref": "#"},
            "name": {"$ref": "#/definitions/items"},
        },
        "definitions": {"items": TEXT},
    }
    places = renew_schema(schema)["properties"]
    assert [places[name]["$ref"] for name in ("first", "deep", "rest", "lost", "whole", "name")] == [
        "#/properties/a~1b/prefixItems/0",
        "#/properties/a~1b/prefixItems/1/prefixItems/0",
        "#/properties/a~1b/items",
        "#/properties/none/items/0",
        "#",
        "#/definitions/items",
    ]


def test_what_is_wrong_in_every_draft_is_still_refused():
    for wrong in ({"items": 5}, {"exclusiveMinimum": "1"}, {"required": "a"}, {"type": "text"}, {"dependencies": 5}):
        assert not jsonschema_rs.meta.is_valid(renew_schema(inside(wrong)))


# --- held against the validators of the old drafts --------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from(["", "a", "bc"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "items"]), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = st.sampled_from(["a", "b", "items"])


def schemas_with(**words: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas of these keywords and of those that all drafts have."""

    def level(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.fixed_dictionaries(
            {},
            optional={
                "properties": st.dictionaries(NAMES, inner, max_size=3),
                "additionalProperties": inner,
                "required": st.lists(NAMES, min_size=1, max_size=2, unique=True),
                "anyOf": st.lists(inner, min_size=1, max_size=2),
                "not": inner,
                "items": inner | st.lists(inner, min_size=1, max_size=2),
                "additionalItems": inner,
                "definitions": st.just({"d": {"type": "string"}}),
                "dependencies": st.dictionaries(
                    NAMES, inner | st.lists(NAMES, min_size=1, max_size=2, unique=True), max_size=2
                ),
                **words,
            },
        )

    types = st.sampled_from(["string", "integer", "object", "array", "null"])
    return st.recursive(st.fixed_dictionaries({"type": types}), level, max_leaves=8)


LIMITS_OF_4 = dict.fromkeys(("minimum", "maximum"), st.integers(-1, 2)) | dict.fromkeys(
    ("exclusiveMinimum", "exclusiveMaximum"), st.booleans()
)


def with_limits(schema: Any) -> Any:
    """Draft 4 has `exclusiveMinimum` only beside `minimum`."""
    if isinstance(schema, list):
        return [with_limits(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {word: with_limits(rule) for word, rule in schema.items()
            if not word.startswith("exclusive") or word.replace("exclusiveM", "m") in schema}  # fmt: skip


@given(schemas_with(**LIMITS_OF_4).map(with_limits), VALUES)
def test_a_schema_of_draft_4_takes_the_same_values(schema: dict, value: Any):
    assert jsonschema_rs.Draft4Validator(schema).is_valid(value) == new(schema).is_valid(value)


@given(schemas_with(exclusiveMinimum=st.integers(-1, 2), const=VALUES), VALUES)
def test_a_schema_of_draft_7_takes_the_same_values(schema: dict, value: Any):
    assert jsonschema_rs.Draft7Validator(schema).is_valid(value) == new(schema).is_valid(value)


@given(st.lists(schemas_with(), min_size=1, max_size=2), schemas_with(), VALUES)
def test_references_into_tuples_mean_the_same(items: list[dict], rest: dict, value: Any):
    tuple_ = {"items": items, "additionalItems": rest}
    for place in ("#/definitions/t/items/0", "#/definitions/t/additionalItems", "#/definitions/t"):
        schema = {"properties": {"a": {"$ref": place}}, "definitions": {"t": tuple_}}
        assert jsonschema_rs.Draft7Validator(schema).is_valid({"a": value}) == new(schema).is_valid({"a": value})


def new(schema: dict) -> jsonschema_rs.Draft202012Validator:
    """Raises `ValidationError` if the schema is not in the form of draft 2020-12."""
    return jsonschema_rs.Draft202012Validator(renew_schema(schema))


WORDS = sorted({*ONE_SCHEMA, *SCHEMA_LISTS, *NAMED_SCHEMAS, *RULES, "id", "nullable", "additionalItems", "type"})
ANYTHING = st.recursive(
    JSON | st.sampled_from([True, "#", "#a", "any", "#/items/0", "null"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(WORDS), ANYTHING, max_size=4))
@example({"$anchor": [], "$comment": [], "$schema": "#"})
def test_anything_has_a_new_form_and_it_is_the_last_one(schema: dict):
    before = json.dumps(schema)
    renewed = renew_schema(schema)
    assert json.dumps(schema) == before
    if schema_fault(renewed) is None:
        assert renew_schema(renewed) == renewed
