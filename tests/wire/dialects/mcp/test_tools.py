"""Tools of MCP servers: their names for the model, and what becomes of those that are not as they should be."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from tests.support.any_message import JSON, TEXT
from wire.dialects.base import Warned
from wire.dialects.mcp.tools import WARNINGS_LIMIT, ToolList, fits, public_name, registration, registrations
from wire.frames import RegisterTool

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


def tool(**members: Any) -> dict[str, Any]:
    return {"name": "t", "inputSchema": SCHEMA, **members}


def registered(**members: Any) -> RegisterTool:
    frame = registration("s", tool(**members))
    assert isinstance(frame, RegisterTool)
    return frame


def listed(*tools: Any, **options: Any) -> ToolList:
    return registrations("s", tools, options)


# --- names ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("server", "name", "public"),
    [
        ("everything", "echo", "mcp__everything__echo"),
        ("s", "get-sum_2", "mcp__s__get-sum_2"),
        ("my server", "files.read/all", "mcp__my_server__files_read_all"),
        ("s", "größe\n", "mcp__s__gr__e_"),
        ("s", "x" * 56, "mcp__s__" + "x" * 56),
    ],
)
def test_a_name_says_its_server(server: str, name: str, public: str):
    assert public_name(server, name) == public


def test_a_long_name_ends_in_a_hash_of_the_whole():
    name = "x" * 57
    digits = sha256(f"mcp__s__{name}".encode()).hexdigest()[:8]
    assert public_name("s", name) == "mcp__s__" + "x" * 47 + "_" + digits
    assert public_name("s", name + ".") != public_name("s", name + "_")


@given(TEXT, st.text(max_size=200))
def test_every_name_is_one_that_models_take(server: str, name: str):
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", public_name(server, name))


# --- one tool ---------------------------------------------------------------------------------------------------


def test_a_tool_is_registered_with_its_schema_as_it_is():
    frame = registered(description="d", outputSchema={"type": "object"}, icons=[], _meta={})
    assert (frame.name, frame.description, json.loads(bytes(frame.schema))) == ("mcp__s__t", "d", SCHEMA)
    assert (frame.read_only, frame.idempotent, frame.timeout_s) == (None, None, None)


@pytest.mark.parametrize("absent", [{"name": "t"}, {"name": "t", "inputSchema": None}])
def test_a_tool_without_a_schema_takes_no_arguments(absent: dict):
    frame = registration("s", absent)
    assert isinstance(frame, RegisterTool)
    assert frame.schema is UNSET


@pytest.mark.parametrize(
    ("annotations", "read_only", "idempotent"),
    [
        ({"readOnlyHint": True}, True, True),
        ({"readOnlyHint": True, "idempotentHint": False}, True, True),
        ({"idempotentHint": True}, None, True),
        ({"readOnlyHint": False, "destructiveHint": False}, None, None),
        ({"readOnlyHint": "true", "idempotentHint": 1, "other": {}}, None, None),
        ([{"readOnlyHint": True}], None, None),
        (None, None, None),
    ],
)
def test_hints_are_flags_if_they_are_true(annotations: Any, read_only: bool | None, idempotent: bool | None):
    frame = registered(annotations=annotations)
    assert (frame.read_only, frame.idempotent) == (read_only, idempotent)


@pytest.mark.parametrize(
    ("members", "description"),
    [
        ({"description": "d", "title": "t"}, "d"),
        ({"title": "t", "annotations": {"title": "a"}}, "t"),
        ({"annotations": {"title": "a"}}, "a"),
        ({"description": "", "title": "t"}, "t"),
        ({"description": ["d"], "title": 5}, None),
        ({}, None),
    ],
)
def test_a_title_stands_for_a_missing_description(members: dict, description: str | None):
    assert registered(**members).description == description


@pytest.mark.parametrize(
    ("bad", "key", "text"),
    [
        (5, "tool it is a number, not an object", "a tool is skipped: it is a number, not an object"),
        (None, "tool it is null, not an object", "a tool is skipped: it is null, not an object"),
        ({}, "tool it has no name", "a tool is skipped: it has no name"),
        ({"name": ["t"]}, "tool its name is a list, not a string",
         "a tool is skipped: its name is a list, not a string"),
        ({"name": ""}, "tool its name is empty", "a tool is skipped: its name is empty"),
        (tool(execution={"taskSupport": "required"}), "tool mcp__s__t",
         "tool 't' is skipped: it can only be called as a task (execution.taskSupport is \"required\"), "
         "which zot does not do"),
        (tool(inputSchema=[]), "tool mcp__s__t", "tool 't' is skipped: its inputSchema is a list, not an object"),
        (tool(inputSchema=True), "tool mcp__s__t", "tool 't' is skipped: its inputSchema is true, not an object"),
        (tool(name="a\x1b[2Jb", inputSchema=""), "tool mcp__s__a__2Jb",
         "tool 'ab' is skipped: its inputSchema is a string, not an object"),
    ],
)  # fmt: skip
def test_a_tool_that_cannot_be_used_is_named_with_the_reason(bad: Any, key: str, text: str):
    assert registration("s", bad) == Warned(key, text)


@pytest.mark.parametrize("execution", [{"taskSupport": "optional"}, {"taskSupport": ["required"]}, "required", None])
def test_a_tool_that_need_not_be_a_task_is_usable(execution: Any):
    assert registered(execution=execution)


# --- all tools --------------------------------------------------------------------------------------------------


def test_bad_tools_cost_only_themselves():
    found = listed(tool(name="a"), 5, tool(name="b", inputSchema=5), tool(name="c.d", description=5))
    assert {name: raw for name, (raw, _) in found.tools.items()} == {"mcp__s__a": "a", "mcp__s__c_d": "c.d"}
    assert found.tools["mcp__s__c_d"][1].name == "mcp__s__c_d"
    assert [warning.text for warning in found.warnings] == [
        "a tool is skipped: it is a number, not an object",
        "tool 'b' is skipped: its inputSchema is a number, not an object",
        "tool 'c.d': its description is a number, not a string; ignored",
    ]


def test_of_equal_names_the_first_stays():
    found = listed(tool(name="a.b", description="1"), tool(name="a_b"), tool(name="a.b", description="2"))
    ((raw, frame),) = found.tools.values()
    assert (raw, frame.description) == ("a.b", "1")
    assert [warning.text for warning in found.warnings] == [
        "tool 'a_b' is skipped: 'a.b' has the same name, mcp__s__a_b",
        "tool 'a.b' is skipped: the server lists it twice",
    ]


def test_a_list_of_faulty_tools_is_not_told_without_end():
    found = listed(*({"name": f"t{number}", "inputSchema": 5} for number in range(400)), tool())
    assert list(found.tools) == ["mcp__s__t"]
    assert len(found.warnings) == WARNINGS_LIMIT + 1
    assert found.warnings[-1] == Warned("tools", "380 more faults of its tools not named here")


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["read", "read_all", "write"]),
        ({"include_tools": ["read"]}, ["read"]),
        ({"include_tools": ("read*",)}, ["read", "read_all"]),
        ({"include_tools": "write"}, ["write"]),
        ({"include_tools": []}, []),
        ({"include_tools": None, "exclude_tools": ["*_all", "write"]}, ["read"]),
        ({"include_tools": ["read*"], "exclude_tools": ["read_all"]}, ["read"]),
        ({"exclude_tools": []}, ["read", "read_all", "write"]),
        ({"exclude_tools": ["*"]}, []),
    ],
)
def test_the_user_chooses_among_the_tools(options: dict, names: list[str]):
    found = listed(tool(name="read"), tool(name="read_all"), tool(name="write"), **options)
    assert ([raw for raw, _ in found.tools.values()], found.warnings) == (names, ())


def test_a_bad_tool_that_is_not_wanted_is_not_told():
    assert listed(tool(name="a", inputSchema=5), exclude_tools=["a"]) == ToolList({}, ())
    assert listed(tool(name="a"), tool(name="a"), include_tools=["b", "a"]).warnings == (
        Warned("tool mcp__s__a", "tool 'a' is skipped: the server lists it twice"),
        Warned("include_tools b", "include_tools names 'b', which the server does not have; it has a"),
    )
    (warning,) = listed(exclude_tools=["x*"]).warnings
    assert warning.text == "exclude_tools names 'x*', which the server does not have; it has no tools"


@pytest.mark.parametrize(
    ("pattern", "name", "fit"),
    [
        ("a", "a", True), ("a", "ab", False), ("", "", True), ("*", "", True), ("*", "x\ny", True), ("a*", "a", True),
        ("a*a", "a", False), ("a*a", "aa", True), ("*b*", "abc", True), ("*b*", "ac", False), ("a**c", "abc", True),
        ("*ab*ab", "ab", False), ("*ab*ab", "abab", True), ("a?", "ab", False), ("[ab]", "a", False),
        ("a.c", "abc", False), ("*" * 40 + "x", "a" * 1000, False), ("*a" * 40 + "x", "a" * 1000, False),
    ],
)  # fmt: skip
def test_only_the_star_is_special(pattern: str, name: str, fit: bool):
    assert fits(pattern, name) is fit


@given(st.text("ab*", max_size=6), st.text("ab", max_size=6))
def test_a_pattern_is_the_regular_expression_with_dot_star(pattern: str, name: str):
    assert fits(pattern, name) == bool(re.fullmatch(pattern.replace("*", ".*"), name))


# --- anything ---------------------------------------------------------------------------------------------------

MEMBERS = ("name", "title", "description", "inputSchema", "annotations", "execution", "readOnlyHint", "taskSupport")
ANY_TOOL = JSON | st.recursive(
    JSON | st.sampled_from(["t", True, "required"]),
    lambda inner: st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=6),
    max_leaves=8,
)


@given(st.lists(ANY_TOOL, max_size=4), st.dictionaries(st.sampled_from(["include_tools", "exclude_tools"]), JSON))
def test_any_list_of_tools_is_judged(tools: list, options: dict):
    found = registrations("s", tools, options)
    assert all(name == frame.name == public_name("s", raw) for name, (raw, frame) in found.tools.items())
    assert all(warning.key and warning.text.isprintable() for warning in found.warnings)
    alone = [registration("s", each) for each in tools]
    if not options:
        assert set(found.tools) == {frame.name for frame in alone if isinstance(frame, RegisterTool)}


def test_a_schema_that_cannot_be_written_leaves_its_tool_out():
    deep: dict = {}
    for _ in range(10_000):
        deep = {"not": deep}
    for schema in (deep, {"title": "\ud800"}):
        found = registration("s", tool(inputSchema=schema))
        assert isinstance(found, Warned)
        assert "too large, or is nested too deeply" in found.text
