"""Tools that a provider would refuse are left out, with a line that says what would be right."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from supervisor.registry.checker_main import check
from supervisor.registry.plain_schema import fault_at_once
from supervisor.registry.registration import (
    DESCRIPTION_LIMIT,
    EMPTY_SCHEMA,
    SCHEMA_DEPTH,
    SCHEMA_LIMIT,
    SCHEMA_VALUES,
    RegistrationError,
    Tool,
    command_name_fault,
    judge_tool,
)
from tests.support.any_message import JSON
from tests.support.any_schema import ARGUMENTS, SCHEMAS
from wire.frames import RegisterTool
from wire.lenient_json import is_deeper

if TYPE_CHECKING:
    from tests.support.host import Host


def judge(schema: object, name: str = "tool") -> Tool:
    return judge_tool(RegisterTool(name, schema=Raw(json.dumps(schema).encode())))


def refusal(frame: RegisterTool) -> str:
    with pytest.raises(RegistrationError) as caught:
        judge_tool(frame)
    return str(caught.value)


def nested(levels: int) -> dict:
    schema: dict = {}
    for _ in range(levels - 1):
        schema = {"not": schema}
    return schema | {"type": "object"}


def test_no_schema_means_no_arguments():
    tool = Tool("a", "what it does", EMPTY_SCHEMA, plain_parts=1, tokens=12)
    assert judge_tool(RegisterTool("a", "what it does", UNSET)) == tool
    assert judge_tool(RegisterTool("a")).description == ""


@pytest.mark.parametrize(
    ("given_", "schema"),
    [
        ({}, {"type": "object"}),
        ({"type": "object"}, {"type": "object"}),
        ({"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"type": "string"}}, "type": "object"}),
        (
            {"$schema": "http://example.invalid/x", "type": "object"},
            {"$schema": "http://example.invalid/x", "type": "object"},
        ),
        (
            {"type": "object", "$ref": "http://example.invalid/x"},
            {"type": "object", "$ref": "http://example.invalid/x"},
        ),
    ],
    ids=str,
)
def test_good_schemas(given_: dict, schema: dict):
    assert judge(given_).schema == schema


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (None, "schema must be a JSON Schema object, not null"),
        ("object", "schema must be a JSON Schema object, not str"),
        (5, "schema must be a JSON Schema object, not int"),
        (True, "schema must be a JSON Schema object, not bool"),
        ([], "schema must be a JSON Schema object, not list"),
        ({"type": "string"}, "schema must have type \"object\", not 'string'"),
        ({"type": ["object", "null"]}, "schema must have type \"object\", not ['object', 'null']"),
        ({"type": None}, 'schema must have type "object", not None'),
        ({"type": 5}, 'schema must have type "object", not 5'),
        ({"properties": {"a": {"type": 5}}}, 'schema is not valid JSON Schema: 5 is not one of "array"'),
        ({"properties": []}, 'schema is not valid JSON Schema: [] is not of type "object" (at properties)'),
        ({"required": "a"}, "(at required)"),
        ({"anyOf": [{}]}, "schema must not have anyOf at the top: models take it only inside a property"),
        ({"oneOf": [{}]}, "schema must not have oneOf at the top"),
        ({"allOf": [{}], "properties": {}}, "schema must not have allOf at the top"),
        ({"properties": {"two words": {}}}, "the argument name 'two words' is not usable: 1 to 64 letters, digits"),
        ({"properties": {"": {}}}, "the argument name '' is not usable"),
        ({"properties": {"x" * 65: {}}}, "is not usable"),
        ({"properties": {"größe\x1b[2J": {}}}, "the argument name 'größe' is not usable"),
        (nested(SCHEMA_DEPTH + 1), "schema is nested deeper than 100 levels"),
        (nested(900), "schema is nested deeper than 100 levels"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_schemas(schema: object, reason: str):
    line = refusal(RegisterTool("tool", schema=Raw(json.dumps(schema).encode())))
    assert line.startswith("tool 'tool': ")
    assert reason in line


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"{", "schema is not JSON: Input data was truncated"),
        (b"{'a': 1}", "schema is not JSON: "),
        (b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}", "schema is not JSON: nested too deeply"),
        (b'{"description":"' + b"x" * SCHEMA_LIMIT + b'"}', "schema is larger than 262144 bytes"),
    ],
    ids=lambda value: str(value[:20]),
)
def test_schemas_that_cannot_be_used_as_text(text: bytes, reason: str):
    assert refusal(RegisterTool("tool", schema=Raw(text))).startswith(f"tool 'tool': {reason}")


def test_what_models_take_inside_a_property_is_fine():
    inside = {"properties": {"a.b-c_9": {"anyOf": [{"type": "string"}], "properties": {"two words": {}}}}}
    assert judge(inside).schema == {"type": "object", **inside}


def test_tuples_of_draft_07_are_translated():
    pair = {"type": "array", "items": [{"type": "string"}, {"items": [{}]}], "additionalItems": False}
    literal = {"items": [1], "additionalItems": 2}
    schema = judge({"properties": {"pair": pair, "items": {"const": literal, "items": {"type": "string"}}}}).schema
    assert schema["properties"] == {
        "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"prefixItems": [{}]}], "items": False},
        "items": {"const": literal, "items": {"type": "string"}},
    }


def test_a_translated_tuple_is_what_arguments_are_checked_against():
    tool = judge({"properties": {"pair": {"items": [{"type": "string"}, {"type": "integer"}]}}})
    assert fault_at_once(tool.schema, tool.plain_parts, b'{"pair": ["a", 1]}') == ""
    assert "/pair/1" in (fault_at_once(tool.schema, tool.plain_parts, b'{"pair": ["a", "b"]}') or "")


def test_a_schema_of_many_levels_is_fine():
    assert judge(nested(SCHEMA_DEPTH)).schema


NAMES = {"a": True, "A-b_9": True, "x" * 128: True, "x" * 129: False, "": False, "has spaces": False, "a.b": False,
         "a/b": False, "é": False, "a\n": False, "\x1b[31m": False, "a\x00": False}  # fmt: skip


@pytest.mark.parametrize(("name", "good"), NAMES.items(), ids=lambda value: repr(value)[:20])
def test_names(name: str, good: bool):
    if good:
        assert judge({}, name).name == name
    else:
        line = refusal(RegisterTool(name))
        assert line == f"tool name {name[:80]!r} is not usable: 1 to 128 letters, digits, '_' or '-' are needed"
        assert line.isprintable()


def test_a_description_is_not_a_book():
    assert judge_tool(RegisterTool("a", "d" * DESCRIPTION_LIMIT))
    assert "description is longer than 65536" in refusal(RegisterTool("a", "d" * (DESCRIPTION_LIMIT + 1)))


@given(
    JSON | st.dictionaries(st.sampled_from(["type", "properties", "required", "$ref", "enum", "items", "$id"]), JSON)
)
def test_any_schema_is_judged(schema: object):
    try:
        assert judge(schema).schema["type"] == "object"
        said = ""
    except RegistrationError as error:
        said = str(error)
    assert isinstance(said, str)


@given(SCHEMAS, ARGUMENTS)
@example({"$anchor": [], "$comment": [], "$schema": "#"}, {})
@example({"$schema": "http://none.invalid/a", "not": {"$schema": "#"}}, {})
@example({"$id": "no URL %%%", "properties": {"a": {"$ref": "b"}}}, {"a": 1})
@example({"properties": {"a": {"$ref": "#/properties/a"}}}, {"a": 1})
def test_a_schema_is_refused_in_words_or_arguments_are_held_against_it(schema: dict[str, Any], value: object):
    """Neither this process nor the checker's fails at one, whatever the validator thinks of it."""
    tool, said = None, ""
    try:
        tool = judge(schema)
    except RegistrationError as error:
        said = str(error)
    if tool is None:
        assert said.startswith("tool 'tool': ")
    else:
        answer = check(json.dumps(tool.schema).encode(), json.dumps(value).encode())
        assert [type(text) for text in answer.values()] == [str]
        assert answer.keys() <= {"fault", "trouble"}


def test_the_first_fault_is_named_also_if_no_draft_is_known():
    said = refusal(RegisterTool("a", schema=Raw(b'{"$anchor": [], "$comment": [], "$schema": "#"}')))
    assert said == "tool 'a': schema is not valid JSON Schema: [] is not of type \"string\" (at $anchor)"


@given(JSON)
def test_depth_is_counted(value: object):
    def depth(value: object) -> int:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
        return 0 if inner is None else 1 + max(map(depth, inner), default=0)

    for levels in range(5):
        assert is_deeper(value, levels) is (depth(value) > levels)


def test_a_schema_has_only_so_many_values():
    """The time for a schema grows with its values, and all extensions wait meanwhile."""
    most = SCHEMA_VALUES - 4  # the schema, its type, the properties, and one of them
    assert judge({"properties": {"a": {"enum": [0] * (most - 1)}}}).plain_parts
    assert "more than 20000 values" in refusal(RegisterTool("a", schema=Raw(b'{"enum":[%s0]}' % (b"0," * most * 2))))


@pytest.mark.parametrize("name", ["a", "git:commit", "über", "-x", "a.b_c"])
def test_names_of_commands(name: str):
    assert command_name_fault(name) is None


@pytest.mark.parametrize(
    "name", ["", "x" * 129, "two words", "a/b", "/a", "a\x1b[2Jb", "a\u202eb", "notiz:", "a\n", "*"]
)
def test_a_command_name_that_cannot_be_typed_is_refused(name: str):
    assert command_name_fault(name) is not None


# --- flags, of a real extension -------------------------------------------------------------------------------


FLAGS = """
send(type="hello", name="x")
send(type="register_tool", name="a", schema={"type": "object"}, **%r)
send(type="ready")
for frame in frames(): pass
"""


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({}, (False, None, False)),
        ({"idempotent": True, "timeout_s": 7, "read_only": True}, (True, 7.0, True)),
        ({"retry": True}, (True, None, False)),
        ({"idempotent": None, "timeout_s": None, "read_only": None}, (False, None, False)),
    ],
)
def test_flags_of_a_tool(host: Host, flags: dict[str, Any], expected: tuple[Any, ...]):
    host.write("x", FLAGS % flags)
    host.start()
    tool = host.supervisor.registrations.tools()["a"].tool
    assert (tool.retry, tool.timeout_s, tool.read_only) == expected


@pytest.mark.parametrize("wrong", [{"timeout_s": 0}, {"timeout_s": "soon"}, {"read_only": "yes"}])
def test_a_flag_that_makes_no_sense_leaves_the_tool_out_and_is_told(host: Host, wrong: dict[str, Any]):
    host.write("x", FLAGS % wrong)
    host.start()
    assert host.tools() == set()
    ((kind, message),) = host.said_of("x")
    assert kind == "warning"
    assert next(iter(wrong)) in message
