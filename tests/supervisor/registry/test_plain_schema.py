"""Against plain schemas is checked as the validator of the checker processes does it; others are known as such."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.registry.plain_schema import TYPES, count_values, invalid_args, plain_faults, plain_parts
from tests.support.any_message import JSON

if TYPE_CHECKING:
    from collections.abc import Callable

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, -0.0, 1e20, 10**25, "", "a", "ü"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)
NAMES = st.lists(st.sampled_from("abc"), unique=True, max_size=3)
TYPE = st.sampled_from(sorted(TYPES))
SIMPLE = {
    "type": TYPE | st.lists(TYPE, min_size=1, max_size=3, unique=True),
    "enum": st.lists(SCALARS, max_size=4),
    "const": SCALARS,
    "required": NAMES,
    "description": st.text(max_size=2),
    "default": VALUES,
    "format": st.just("email"),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), st.integers(-3, 3) | st.just(0.5)),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
                    st.integers(0, 3) | st.just(1.0)),
}  # fmt: skip


def some_of(words: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Up to three keywords with their values."""
    pair = st.sampled_from(sorted(words)).flatmap(lambda word: st.tuples(st.just(word), words[word]))
    return st.lists(pair, max_size=3).map(dict)


def with_parts(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(inner, min_size=1, max_size=3)
    structure = {
        "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        "additionalProperties": inner,
        "items": inner,
        **dict.fromkeys(("prefixItems", "anyOf", "oneOf", "allOf"), lists),
    }
    return st.builds(lambda simple, more: simple | more, some_of(SIMPLE), some_of(structure))


PLAIN_SCHEMAS = with_parts(st.recursive(st.booleans() | some_of(SIMPLE), with_parts, max_leaves=5))


@given(PLAIN_SCHEMAS, VALUES)
def test_it_checks_as_the_validator_does(schema: dict[str, Any], value: object):
    assert plain_parts(schema)
    assert (plain_faults(schema, value) == []) == jsonschema_rs.is_valid(schema, value)


@given(PLAIN_SCHEMAS, VALUES)
def test_a_check_takes_no_more_steps_than_parts_times_values(schema: dict[str, Any], value: object):
    steps = 0

    class Counted(dict):  # type: ignore[type-arg]
        def items(self) -> Any:
            nonlocal steps
            steps += 1
            return super().items()

    def counted(part: Any) -> Any:
        """The schema whose parts count how often they are asked."""
        if isinstance(part, list):
            return [counted(inner) for inner in part]
        return Counted((key, counted(inner)) for key, inner in part.items()) if isinstance(part, dict) else part

    plain_faults(counted(schema), value)
    # The words of a `oneOf` that several parts fit need these parts once more.
    assert steps <= 3 * plain_parts(schema) * count_values(value, 10**6)


@given(JSON, st.integers(0, 20))
def test_values_are_counted_up_to_a_limit(value: Any, most: int):
    def count(value: Any) -> int:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return 1 + sum(map(count, inner))

    assert min(count_values(value, most), most + 1) == min(count(value), most + 1)


NOT_PLAIN: dict[str, Any] = {
    "$anchor": "a", "$defs": {}, "$dynamicAnchor": "a", "$dynamicRef": "#a", "$id": "http://x", "$ref": "#",
    "contains": {}, "const": {}, "dependentRequired": {}, "dependentSchemas": {}, "dependencies": {}, "enum": [[]],
    "if": {}, "multipleOf": 1, "not": {}, "pattern": "a", "patternProperties": {}, "propertyNames": {},
    "unevaluatedItems": {}, "unevaluatedProperties": {}, "uniqueItems": True, "$schema": "http://x", "x-unknown": 1,
}  # fmt: skip


@pytest.mark.parametrize("word", NOT_PLAIN)
@pytest.mark.parametrize("around", [
    lambda part: {"properties": {"a": part}}, lambda part: {"items": part}, lambda part: {"anyOf": [{}, part]},
    lambda part: {"additionalProperties": part}, lambda part: {"prefixItems": [part]},
])  # fmt: skip
def test_what_is_not_known_to_be_cheap_is_not_plain(around: Callable[[Any], Any], word: str):
    assert plain_parts(around({word: NOT_PLAIN[word]})) == 0
    assert plain_parts(around({"type": "string"})) > 0


def test_the_parts_of_lists_count():
    assert plain_parts({"$schema": "http://x"}) == 1
    assert plain_parts({"properties": {"a": {"enum": [1, 2]}, "b": True}, "required": ["a"]}) == 3 + 2 + 1


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, 1.5),
        ({"type": ["string", "null"]}, True),
        ({"enum": ["a", 1]}, 'say "ü"'),
        ({"enum": [None]}, [1, {"a": 1.0}]),
        ({"const": "a"}, 1),
        ({"minimum": 5}, 1),
        ({"maximum": 0.5}, 1),
        ({"exclusiveMinimum": 5}, 5),
        ({"exclusiveMaximum": 5}, 5),
        ({"minLength": 1}, ""),
        ({"minLength": 2}, "a"),
        ({"maxLength": 1}, "ab"),
        ({"maxLength": 2.0}, "abc"),
        ({"minItems": 1}, []),
        ({"maxItems": 2}, [1, 2, 3]),
        ({"minProperties": 2}, {"a": 1}),
        ({"maxProperties": 1}, {"a": 1, "b": 2}),
        ({"required": ["a"]}, {}),
        ({"properties": {"x": {}}, "additionalProperties": False}, {"a": 1}),
        ({"properties": {"x": {}}, "additionalProperties": False}, {"a": 1, "b": 1}),
        ({"additionalProperties": {"type": "null"}}, {"a": 1}),
        ({"items": {"type": "null"}}, [None, 1]),
        ({"prefixItems": [{}, {"type": "null"}]}, [1, 2, 3]),
        ({"prefixItems": [{}, {}], "items": False}, [1, 2, 3]),
        ({"properties": {"a": False}}, {"a": "x" * 500}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 5),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, 5),
        ({"oneOf": [{}, True]}, 5),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, 5),
    ],
    ids=str,
)
def test_the_words_are_those_of_the_validator(schema: dict[str, Any], value: object):
    errors = jsonschema_rs.Draft202012Validator(schema).iter_errors(value)
    expected = invalid_args((error.instance_path, error.message) for error in errors)
    assert invalid_args(plain_faults(schema, value)) == expected


def test_several_missing_names_are_one_fault():
    assert plain_faults({"required": ["a", "b"]}, {}) == [([], '"a", "b" are required properties')]
