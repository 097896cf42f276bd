"""Arguments that are made from a schema fit it, and the wrong ones do not."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.registry.registration import Tool
from supervisor.torture.arguments import text_argument, valid_arguments, wrong_arguments

STRING = {"type": "string"}
PLAIN = st.sampled_from(
    [
        STRING,
        {"type": "string", "minLength": 4},
        {"type": "string", "enum": ["red", "green"]},
        {"const": 7},
        {"type": "integer"},
        {"type": "integer", "minimum": 5},
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "number", "maximum": -2},
        {"type": "boolean"},
        {"type": "null"},
        {"type": ["integer", "null"]},
        {"anyOf": [{"type": "null"}, {"type": "string"}]},
        {"$ref": "#/$defs/point"},
        {},
        True,
    ]
)
NESTED = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.builds(lambda items, least: {"type": "array", "items": items, "minItems": least}, inner, st.integers(0, 3)),
        st.builds(lambda each: {"type": "object", "properties": {"in": each}, "required": ["in"]}, inner),
    ),
    max_leaves=4,
)


def tool(properties: dict[str, Any], *required: str, name: str = "draw") -> Tool:
    point = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    schema = {"type": "object", "properties": properties, "required": list(required), "$defs": {"point": point}}
    return Tool(name, "", schema)


@given(st.dictionaries(st.sampled_from("abcd"), NESTED))
def test_valid_arguments_fit_their_schema(properties):
    drawn = tool(properties, *properties)
    assert jsonschema_rs.is_valid(drawn.schema, valid_arguments(drawn))


@given(
    st.dictionaries(
        st.sampled_from("abcd"), st.sampled_from([{"type": kind} for kind in ("string", "integer", "array")])
    )
)
def test_wrong_arguments_do_not(properties):
    drawn = tool(properties, *properties)
    wrong = wrong_arguments(drawn)
    assert wrong
    assert not any(jsonschema_rs.is_valid(properties[name], wrong[name]) for name in properties)


def test_a_path_is_one_of_the_scratch_project():
    drawn = tool({"path": STRING, "directory": STRING, "text": STRING}, "path", "directory")
    assert valid_arguments(drawn) == {"path": "zot-torture.txt", "directory": "."}


@pytest.mark.parametrize(
    ("properties", "required", "expected"),
    [
        ({"path": STRING, "text": STRING}, ("path",), "text"),
        ({"text": STRING, "city": STRING}, ("city",), "city"),
        ({"colour": {"type": "string", "enum": ["red"]}, "count": {"type": "integer"}}, (), None),
        ({}, (), None),
    ],
)
def test_a_text_goes_into_an_argument_that_takes_any(properties, required, expected):
    assert text_argument(tool(properties, *required)) == expected
