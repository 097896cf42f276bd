"""Results of MCP tools: every kind of content, and those that are not as they should be."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.any_message import JSON
from wire import frames
from wire.dialects.mcp.results import (
    NextRound,
    content_block,
    error_result,
    error_text,
    next_round,
    size_of,
    tool_result,
)
from wire.frames import BLOCKS_LIMIT, ContentBlock


def texts(result: Any) -> list[str | None]:
    answer = tool_result("1", result)
    assert isinstance(answer, frames.ToolResult)
    return [block.text for block in answer.content or ()]


def resource(**members: Any) -> dict[str, Any]:
    return {"type": "resource", "resource": members}


CONTENT: tuple[tuple[str, Any, str], ...] = (
    ("a text", {"type": "text", "text": "hello", "annotations": {"audience": ["user"]}}, "hello"),
    ("audio", {"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="}, "[audio of type audio/wav, 4 bytes]"),
    ("audio without a type", {"type": "audio", "data": ""}, "[audio of no named type, 0 bytes]"),
    ("audio without data", {"type": "audio", "mimeType": "audio/wav"},
     "[audio of type audio/wav, whose data is null, not a string]"),
    ("a resource", resource(uri="file:///a.txt", mimeType="text/plain", text="in it"), "file:///a.txt\nin it"),
    ("a blob", resource(uri="file:///a.bin", mimeType="application/x-tar", blob="AAAA"),
     "file:///a.bin\n[bytes of type application/x-tar, 3 bytes]"),
    ("a resource without a uri", resource(text="in it"), "[a resource without a uri]\nin it"),
    ("a resource without content", resource(uri="a:b"), "a:b\n[its text is null]"),
    ("a resource with another text", resource(uri="a:b", text={"x": 1}), 'a:b\n[its text is an object]\n{"x":1}'),
    ("a resource that is none", {"type": "resource", "resource": "a:b"},
     "[a resource that is a string, not an object]"),
    ("a link", {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain"},
     "file:///a (a, text/plain)"),
    ("a link with a name", {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": 5}, "file:///a (a)"),
    ("a link alone", {"type": "resource_link", "uri": "file:///a"}, "file:///a"),
    ("a link to nothing", {"type": "resource_link", "uri": 5}, "[a link to a resource without a uri]"),
    ("a text that is an object", {"type": "text", "text": {"a": [1]}},
     '[a text block whose text is an object]\n{"a":[1]}'),
    ("a text without text", {"type": "text"}, "[a text block whose text is null]"),
    ("an image without data", {"type": "image", "mimeType": "image/png"},
     "[an image whose data is null, not a string]"),
    ("no type", {"text": "hello"}, "[a content block without a type]\nhello"),
    ("a type that is none", {"type": 5}, "[a content block whose type is a number, not a string]"),
    ("a string", "hello", "hello"),
    ("a number", 5, "[a content block that is a number, not an object]"),
)  # fmt: skip


@pytest.mark.parametrize(("block", "said"), [row[1:] for row in CONTENT], ids=[row[0] for row in CONTENT])
def test_content_in_words(block: Any, said: str):
    assert content_block(block) == ContentBlock("text", text=said)
    assert texts({"content": [block, {"type": "text", "text": "kept"}]}) == [said, "kept"]


def test_an_image_is_passed_on_to_be_judged():
    assert content_block({"type": "image", "mimeType": "image/png", "data": "aGk="}) == ContentBlock(
        "image", mime_type="image/png", data="aGk="
    )
    assert content_block({"type": "image", "mimeType": [], "data": "aGk="}).mime_type is None


def test_an_unknown_kind_is_passed_on_to_be_named():
    assert content_block({"type": "hologram", "text": "x"}) == ContentBlock("hologram")


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({}, []),
        ({"content": []}, []),
        ({"content": None}, []),
        ({"content": "hello"}, ["hello"]),
        ({"content": {"type": "text", "text": "hello"}}, ["hello"]),
        ({"content": 5}, ["[the content of the result is a number, not a list]"]),
        ({"content": [], "structuredContent": {"a": 1}}, ['{"a":1}']),
        ({"structuredContent": [1, "é"]}, ['[1,"é"]']),
        ({"structuredContent": None}, []),
        ({"content": [{"type": "text", "text": ""}], "structuredContent": {"a": 1}}, ["", '{"a":1}']),
        ({"content": [{"type": "text", "text": "a is 1"}], "structuredContent": {"a": 1}}, ["a is 1"]),
        ({"content": [], "resultType": "complete"}, []),
        ({"content": [], "isError": "yes"},
         ["[isError is a string, not true or false; the result counts as no error]"]),
    ],
    ids=str,
)  # fmt: skip
def test_a_result(result: Any, said: list[str]):
    assert texts(result) == said


@pytest.mark.parametrize(("said", "is_error"), [(True, True), (False, None), (None, None), ("true", None), (1, None)])
def test_only_true_is_an_error(said: Any, is_error: bool | None):
    answer = tool_result("7", {"content": [{"type": "text", "text": "x"}], "isError": said})
    assert isinstance(answer, frames.ToolResult)
    assert (answer.id, answer.is_error) == ("7", is_error)


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (None, "the result of tools/call is null, not an object"),
        ([], "the result of tools/call is a list, not an object"),
        ({"resultType": "task", "task": {}}, "the result of tools/call has the type 'task', which zot does not know"),
        ({"resultType": 5}, "the result of tools/call has the type '5', which zot does not know"),
        ({"resultType": "input_required"}, "the result of tools/call asks for input, but does not say for which"),
        ({"resultType": "input_required", "inputRequests": {}, "requestState": 5},
         "the result of tools/call asks for input, but does not say for which"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_result_fails_its_call(result: Any, reason: str):
    assert tool_result("7", result) == frames.Malformed(reason, "tools/call", "7")
    assert next_round(result) is None


def test_a_result_that_only_has_a_state_is_another_round():
    again = {"resultType": "input_required", "requestState": "s"}
    assert next_round(again) == next_round({**again, "inputRequests": {}}) == NextRound("s")
    assert next_round({**again, "inputRequests": {"a": {"method": "roots/list"}}}) is None
    assert next_round({"requestState": "s", "content": []}) is None
    assert texts(again) == ["the server asked again and again for another round, and never finished"]


def test_a_question_to_the_user_fails_the_call_and_is_quoted():
    questions = {
        "name": {"method": "elicitation/create", "params": {"message": "Your\nname?", "requestedSchema": {}}},
        "page": {"method": "elicitation/create", "params": {"mode": "url", "message": "Log in", "url": "https://x"}},
        "model": {"method": "sampling/createMessage", "params": {"messages": []}},
        "roots": {"method": "roots/list"},
        "odd": 5,
        "more": {},
    }
    answer = tool_result("7", {"resultType": "input_required", "inputRequests": questions, "requestState": "s"})
    assert isinstance(answer, frames.ToolResult)
    assert answer.is_error
    assert texts({"resultType": "input_required", "inputRequests": questions}) == [
        "the server asks before it goes on, and no user can answer it here: elicitation/create: 'Your name?'; "
        "elicitation/create: 'Log in https://x'; sampling/createMessage: '{\"messages\":[]}'; roots/list; "
        "a number, not a request; and 1 more"
    ]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        ({"code": -32602, "message": "Unknown tool: x"}, "MCP error -32602: Unknown tool: x"),
        ({"code": -32602, "message": "MCP error -32602: Unknown tool: x"}, "MCP error -32602: Unknown tool: x"),
        ({"code": -32000, "message": "Refused", "data": {"why": ["late"]}},
         'MCP error -32000: Refused\n{"why":["late"]}'),
        ({"code": -1, "message": "x", "data": {}}, "MCP error -1: x"),
        ({"code": "E1", "message": {"a": 1}}, 'MCP error E1: {"a":1}'),
        ({"message": "x"}, "MCP error: x"),
        ({"code": 0, "message": ""}, "MCP error 0: without a message"),
        ({}, "MCP error: without a message"),
        ("oops", "MCP error: oops"),
        (None, "MCP error: null"),
    ],
    ids=str,
)  # fmt: skip
def test_an_error_is_a_result_that_says_so(error: Any, text: str):
    assert error_text(error) == text
    assert error_result("7", error) == frames.ToolResult("7", [ContentBlock("text", text=text)], is_error=True)


def test_what_an_error_holds_besides_is_short():
    assert len(error_text({"code": 1, "message": "x", "data": ["y" * 100_000]})) < 2_100


def test_only_so_many_blocks_are_kept():
    block = {"type": "text", "text": "x"}
    assert texts({"content": [block] * BLOCKS_LIMIT}) == ["x"] * BLOCKS_LIMIT
    said = texts({"content": [block] * (BLOCKS_LIMIT + 5), "isError": 5})
    assert len(said) == BLOCKS_LIMIT
    said = texts({"content": [block] * (BLOCKS_LIMIT + 5)})
    assert len(said) == BLOCKS_LIMIT
    assert said[-2:] == ["x", "[6 more blocks left out]"]


@given(st.binary(max_size=50))
def test_the_size_of_bytes_is_told_without_decoding_them(data: bytes):
    assert size_of(base64.b64encode(data).decode()) == len(data)


MEMBERS = ("content", "type", "text", "data", "mimeType", "resource", "uri", "blob", "name", "isError", "resultType",
           "structuredContent", "inputRequests", "requestState", "method", "params", "message", "code")  # fmt: skip
WORDS = ("text", "image", "audio", "resource", "resource_link", "input_required", True, [])
ANY_RESULT = st.recursive(
    JSON | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=5),
    max_leaves=10,
)


@given(ANY_RESULT)
def test_any_result_is_read(result: Any):
    answer = tool_result("7", result)
    assert answer.id == "7"
    if isinstance(answer, frames.ToolResult):
        assert isinstance(frames.decode_from_extension(frames.encode(answer)), frames.ToolResult)
    assert error_text(result).startswith("MCP error")
    next_round(result)
    json.dumps(result)
