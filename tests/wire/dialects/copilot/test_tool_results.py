"""Results of tools: every legal kind, and illegal ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from tests.support.any_json import json_values
from tests.support.copilot_talk import dumped, opened
from wire import frames
from wire.dialects.base import UnsendableError
from wire.dialects.long_lines import STRINGS_LIMIT
from wire.frames import BLOCKS_LIMIT, ContentBlock
from wire.framing.content_length import add_header

PIXEL = {"data": "aGk=", "mimeType": "image/png", "type": "image"}


def text(words: str) -> ContentBlock:
    return ContentBlock("text", words)


def returned(**params: object) -> Any:
    """The frame that a result becomes: the last of its messages."""
    talk = opened()
    talk.call("c1")
    return talk.result("c1", **params)[-1]


def result(words: object = "words", kind: object = "success", **more: object) -> dict[str, Any]:
    return {"textResultForLlm": words, "resultType": kind, **more}


@pytest.mark.parametrize(
    ("said", "content", "is_error"),
    [
        ("words", [text("words")], None),
        ("", [text("")], None),
        (result(), [text("words")], None),
        (result(kind=None), [text("words")], None),
        (result(kind=None, error="why"), [text("words")], True),
        (result("", error="ignored"), [text("")], None),
        (result(kind="failure"), [text("words")], True),
        (result("", "failure", error="why"), [text("why")], True),
        (result("", "failure"), [text("the tool failed")], True),
        (result("", "rejected"), [text("the call was rejected")], True),
        (result("", "denied"), [text("the call was denied: permission is missing")], True),
        (result("", "timeout"), [text("the tool ran out of time")], True),
        (result(toolTelemetry={"a": 1}, contents=[5]), [text("words")], None),
        (
            result(binaryResultsForLlm=[PIXEL]),
            [text("words"), ContentBlock("image", mime_type="image/png", data="aGk=")],
            None,
        ),
        (
            result("", binaryResultsForLlm=[{**PIXEL, "description": "a pixel"}]),
            [text("a pixel"), ContentBlock("image", mime_type="image/png", data="aGk=")],
            None,
        ),
        (
            result("", binaryResultsForLlm=[{**PIXEL, "type": "resource", "mimeType": "a/b", "description": "x"}]),
            [text("[a file of type a/b, 2 bytes] x")],
            None,
        ),
    ],
)
def test_every_legal_result(said: object, content: list[ContentBlock], is_error: bool | None):
    assert returned(result=said) == frames.ToolResult("c1", content, is_error)


def test_a_handler_that_throws_is_an_error_with_its_message():
    assert returned(error="boom") == frames.ToolResult("c1", [text("boom")], is_error=True)
    assert returned(error="") == frames.ToolResult("c1", [text("the tool failed")], is_error=True)
    assert returned(error={"message": "x"}).content == [text('{"message":"x"}')]


def test_a_line_for_the_log_comes_before_the_result():
    talk = opened()
    talk.call("c1")
    log, answer = talk.result("c1", result=result(sessionLog="one more"))
    assert log == frames.Log("one more")
    assert answer.content == [text("words")]


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({}, "it has neither a result nor an error"),
        ({"result": 5}, "it is a number, neither a string nor an object"),
        ({"result": None}, "it is null, neither a string nor an object"),
        ({"result": ["a"]}, "it is a list, neither a string nor an object"),
        ({"result": {"a": 1}}, "Object missing required field `textResultForLlm`"),
        ({"result": result(5)}, "Expected `str`, got `int` - at `$.textResultForLlm`"),
        ({"result": result(kind="perhaps")}, "its resultType is 'perhaps', not one of success, failure,"),
        ({"result": result(binaryResultsForLlm="x")}, "got `str` - at `$.binaryResultsForLlm`"),
        ({"result": result(binaryResultsForLlm=[{}])}, "missing required field `data`"),
    ],
)  # fmt: skip
def test_what_is_no_legal_result_fails_its_call_with_the_reason(params: dict[str, Any], why: str):
    answer = returned(**params)
    assert isinstance(answer, frames.Malformed)
    assert (answer.type, answer.id) == ("tool_result", "c1")
    assert why in answer.reason


def test_text_that_was_cut_between_surrogates_is_repaired():
    assert returned(result="a\ud83d").content == [text("a\ufffd")]
    talk = opened()
    talk.call("c1")
    request = {"jsonrpc": "2.0", "id": 9, "method": "session.tools.handlePendingToolCall"}
    body = dumped({**request, "params": {"requestId": "c1", "result": "X"}}).replace(b"X", b"\xff")
    (answer,) = talk.hear(add_header(body))
    assert answer.content == [text("\ufffd")]


def test_a_long_result_that_cannot_be_repaired_fails_its_call():
    talk = opened()
    talk.call("c1")
    (answer,) = talk.result("c1", result="x" * 2_000_000 + "\ud83d")
    assert (type(answer), answer.id) == (frames.Malformed, "c1")


def test_more_blocks_than_a_result_may_have_are_left_out():
    content = returned(result=result(binaryResultsForLlm=[PIXEL] * (BLOCKS_LIMIT + 5))).content
    assert len(content) == BLOCKS_LIMIT
    assert content[-1] == text("[7 more blocks left out]")


def test_a_result_of_very_many_strings_is_not_read():
    answer = returned(result="words", more=["x" * 10] * 2 * STRINGS_LIMIT)
    assert (type(answer), answer.id) == (frames.Malformed, "c1")
    assert "strings" in answer.reason


@given(json_values)
def test_any_result_ends_its_call(value: Any):
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return
    for params in ({"result": value}, {"error": value}, {"result": result(value)}, {"result": result(kind=value)}):
        answer = returned(**params)
        assert type(answer) in (frames.ToolResult, frames.Malformed)
        assert answer.id == "c1"


# --- questions to the user ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "params"),
    [
        (b'{"question":"Q?"}', {"question": "Q?", "allowFreeform": True}),
        (b'{"question":"Q?","choices":["a"],"allow_freeform":false}',
         {"question": "Q?", "choices": ["a"], "allowFreeform": False}),
    ],
)  # fmt: skip
def test_a_question_goes_to_the_handler_and_its_answer_is_the_result(args: bytes, params: dict[str, Any]):
    talk = opened(requestUserInput=True)
    asked = talk.call("c1", "ask_user", args)
    assert (asked["method"], asked["params"]) == ("userInput.request", {"sessionId": "s-1", **params})
    (answer,) = talk.hear({"id": asked["id"], "result": {"answer": "yes", "wasFreeform": True}})
    assert answer == frames.ToolResult("c1", [text("yes")])


@pytest.mark.parametrize("args", [b"{}", b'{"question":5}', b"[]", b'{"question":"a","choices":"b"}'])
def test_a_question_that_is_none_is_not_asked(args: bytes):
    with pytest.raises(UnsendableError, match="the arguments cannot be used"):
        opened(requestUserInput=True).call("c1", "ask_user", args)


def test_an_answer_to_a_question_may_be_an_error_or_none_at_all():
    talk = opened(requestUserInput=True)
    number = talk.call("c1", "ask_user", b'{"question":"Q?"}')["id"]
    assert talk.hear({"id": number, "error": {"code": -32603, "message": "nobody"}}) == [
        frames.ToolResult("c1", [text("nobody")], is_error=True)
    ]
    number = talk.call("c2", "ask_user", b'{"question":"Q?"}')["id"]
    (answer,) = talk.hear({"id": number, "result": {"answer": 5}})
    assert (type(answer), answer.id) == (frames.Malformed, "c2")
    assert talk.keep(talk.session.cancel("c2", "")) == []
    number = talk.call("c3", "ask_user", b'{"question":"Q?"}')["id"]
    assert talk.keep(talk.session.cancel("c3", "")) == []
    (late,) = talk.hear({"id": number, "result": {"answer": "late"}})
    assert "which is not open" in late.text
