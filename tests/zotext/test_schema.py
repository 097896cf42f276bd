"""JSON Schema from type hints, and arguments read by them."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NewType, NotRequired, Optional, TypedDict

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zotext import Extension, RegistrationError, ToolContext
from zotext.errors import BadArgument
from zotext.schema import SchemaReader

NULL = {"type": "null"}
STRING = {"type": "string"}


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Address(TypedDict):
    """Where someone lives.

    Attributes:
        street: With the number.
    """

    street: str
    zip: NotRequired[int]


class Loose(TypedDict, total=False):
    a: int


@dataclass
class Point:
    """A place.

    Args:
        x: To the right.
    """

    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x is negative")


@dataclass
class Node:
    next: Optional[Node]  # noqa: UP045


UserId = NewType("UserId", int)


def shape(hint: Any):
    return SchemaReader("tool 'x'").shape(hint, "parameter 'p'")


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, STRING),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, NULL),
        (Any, {}),
        (list, {"type": "array"}),
        (list[str], {"type": "array", "items": STRING}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (set[str], {"type": "array", "items": STRING, "uniqueItems": True}),
        (dict, {"type": "object"}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a", 1], {"enum": ["a", 1]}),
        (Optional[int], {"anyOf": [{"type": "integer"}, NULL]}),  # noqa: UP045
        (str | None, {"anyOf": [STRING, NULL]}),
        (Colour, {"type": "string", "enum": ["red", "green"]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (UserId, {"type": "integer"}),
        (Annotated[int, "how many", {"minimum": 1}], {"type": "integer", "description": "how many", "minimum": 1}),
        (
            Address,
            {
                "type": "object",
                "properties": {
                    "street": {"type": "string", "description": "With the number."},
                    "zip": {"type": "integer"},
                },
                "required": ["street"],
                "additionalProperties": False,
            },
        ),
        (Loose, {"type": "object", "properties": {"a": {"type": "integer"}}, "required": []}),
        (
            Point,
            {
                "type": "object",
                "properties": {
                    "x": {"type": "integer", "description": "To the right."},
                    "y": {"type": "integer", "default": 0},
                    "tags": {"type": "array", "items": STRING},
                },
                "required": ["x"],
            },
        ),
    ],
    ids=str,
)
def test_a_hint_becomes_a_schema(hint: Any, schema: dict[str, Any]):
    found = shape(hint).schema
    if "properties" in schema:
        schema = {"additionalProperties": False, **schema}
    assert found == schema
    jsonschema_rs.validator_for(found)


@pytest.mark.parametrize(
    ("hint", "argument", "value"),
    [
        (int, 3.0, 3),
        (float, 3, 3.0),
        (Colour, "red", Colour.RED),
        (Level, 2, Level.HIGH),
        (tuple[int, ...], [1, 2], (1, 2)),
        (set[str], ["a", "a"], {"a"}),
        (Point, {"x": 1}, Point(1)),
        (list[Point], [{"x": 1, "y": 2}], [Point(1, 2)]),
        (dict[str, Point], {"a": {"x": 1}}, {"a": Point(1)}),
        (Address, {"street": "A"}, {"street": "A"}),
        (Optional[Point], None, None),  # noqa: UP045
        (int | str, "a", "a"),
        (Literal[1, True], True, True),
    ],
)
def test_an_argument_is_read_by_its_hint(hint: Any, argument: Any, value: Any):
    read = shape(hint).read(argument, "p")
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("hint", "argument", "fault"),
    [
        (str, 3, "p: expected a string, got 3"),
        (int, True, "p: expected an integer, got true"),
        (int, 3.5, "p: expected an integer, got 3.5"),
        (bool, 1, "p: expected true or false, got 1"),
        (list[int], [1, "x"], 'p[1]: expected an integer, got "x"'),
        (dict[str, int], {"a": None}, "p.a: expected an integer, got null"),
        (Colour, "blue", 'p: expected one of "red", "green", got "blue"'),
        (Literal[1], True, "p: expected one of 1, got true"),
        (str | None, 1, "p: expected a string or null, got 1"),
        (Optional[Point], {"x": "a"}, 'p.x: expected an integer, got "a"'),  # noqa: UP045
        (Point, {}, "p.x: is missing; expected an integer"),
        (Point, {"x": 1, "z": 1}, "p.z: there is no such argument; known are x, y, tags"),
        (Point, {"x": -1}, "p: x is negative"),
        (Address, [], "p: expected an object, got []"),
    ],
)
def test_an_argument_that_does_not_fit_is_named(hint: Any, argument: Any, fault: str):
    with pytest.raises(BadArgument) as error:
        shape(hint).read(argument, "p")
    assert str(error.value) == fault


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "y", "street", "a"]), inner),
    max_leaves=6,
)
HINTS = (str, int, float, bool, list[int], dict[str, str], Colour, Address, str | None, Literal["a", 1], list[Address])


@given(st.sampled_from(HINTS), JSON)
def test_schema_and_reader_accept_the_same_arguments(hint: Any, argument: Any):
    """The host checks arguments with the schema before a call, so both must agree."""
    made = shape(hint)
    valid = jsonschema_rs.validator_for(made.schema).is_valid(argument)
    try:
        made.read(argument, "p")
        read = True
    except BadArgument:
        read = False
    assert read == valid


def unhinted(a):
    """No hint."""


def starred(*words: str):
    """A star."""


def keywords(**words: str):
    """Two stars."""


def unfit(when: complex):
    """A type without a schema."""


def nested_unfit(when: list[dict[int, str]]):
    """Keys that JSON does not have."""


def recursive(node: Node):
    """Contains itself."""


def unknown(node: NoSuchName):  # noqa: F821
    """A hint that is not there."""


@pytest.mark.parametrize(
    ("handler", "parts"),
    [
        (unhinted, ("tool 'unhinted'", "parameter 'a'", "no type hint")),
        (starred, ("tool 'starred'", "*words")),
        (keywords, ("tool 'keywords'", "**words")),
        (unfit, ("parameter 'when'", "complex", "schema=")),
        (nested_unfit, ("parameter 'when'", "keys", "int")),
        (recursive, ("parameter 'node'", "Node contains itself")),
        (unknown, ("'node'", "NoSuchName")),
        (int, ("type", "wrap it in a function")),
    ],
)
def test_a_hint_that_cannot_be_expressed_names_the_parameter(handler: Any, parts: tuple[str, ...]):
    with pytest.raises(RegistrationError) as error:
        Extension("x").tool(handler)
    for part in parts:
        assert part in str(error.value)


def test_description_defaults_and_context_of_a_whole_tool():
    ext = Extension("x")

    class Unit(enum.Enum):
        """Local to this function, as in a test."""

        C = "c"

    @ext.tool(timeout_s=5, idempotent=True, read_only=True)
    def weather(city: str, days: Annotated[int, "Ahead."] = 1, unit: Unit = Unit.C, *, ctx: ToolContext) -> str:
        """Tell the weather
        of a city.

        In detail: today's.

        Args:
            city (str): Name of the city,
                in English.
            days: The annotation counts for more.

        Returns:
            A sentence.
        """
        return city

    assert ext.registry.tools["weather"].registration() == {
        "type": "register_tool",
        "name": "weather",
        "description": "Tell the weather of a city.\n\nIn detail: today's.",
        "schema": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Name of the city, in English."},
                "days": {"type": "integer", "description": "Ahead.", "default": 1},
                "unit": {"type": "string", "enum": ["c"], "default": "c"},
            },
            "required": ["city"],
            "additionalProperties": False,
        },
        "timeout_s": 5,
        "idempotent": True,
        "retry": True,
        "read_only": True,
    }
