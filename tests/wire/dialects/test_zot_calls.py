"""How zot's dialect reads the calls of tools that an extension makes, answers them, and cancels the host's own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.dialect_session import session_of
from wire import frames
from wire.dialects import host_calls
from wire.dialects.base import HostCallCancelled, HostCalled, Remarked, Warned
from wire.dialects.long_lines import LIMITS
from wire.frames.tool_results import RESULT_BYTES
from wire.framing import Oversize

CALL = {"type": "call_tool", "id": "1", "name": "read", "args": {"path": "a"}}
KEY = "call_tool 1"


def session(*capabilities: str) -> Any:
    made = session_of()
    hello = {"type": "hello", "name": "caller", "capabilities": capabilities}
    assert say(made, hello)[0] == [frames.Hello("caller", None, list(capabilities))]
    return made


def say(made: Any, frame: dict[str, Any]) -> tuple[list[Any], list[dict[str, Any]]]:
    """The messages of a frame, and the frames that the extension gets at once."""
    messages, reply = made.receive(json.dumps(frame).encode(), 0.0)
    return list(messages), [json.loads(line) for line in reply.splitlines()]


def refusal(name: str, why: str, call_id: str = "1") -> dict[str, Any]:
    block = {"type": "text", "text": why}
    return {"type": "tool_result", "id": call_id, "name": name, "content": [block], "is_error": True}


@pytest.mark.parametrize("frame", [CALL, {"type": "call_tool_cancel", "id": "1"}])
def test_before_its_hello_it_is_taken_for_one_that_speaks_out_of_turn(frame: dict[str, Any]):
    (message,), reply = say(session_of(), frame)
    assert (message.__struct_config__.tag, reply) == (frame["type"], [])


@pytest.mark.parametrize(
    ("more", "parent"), [({}, None), ({"parent_id": "7"}, "7"), ({"parent_id": ""}, None), ({"parent_id": None}, None)]
)
def test_a_call_becomes_one_for_the_host_and_its_answer_a_result(more: dict[str, Any], parent: str | None):
    made = session("call_tool")
    ((called,), reply) = say(made, CALL | more)
    assert reply == []
    assert called == HostCalled(KEY, host_calls.CallTool("read", b'{"path": "a"}', parent))
    block = frames.ContentBlock("text", text="hi")
    assert json.loads(made.answer(KEY, frames.ToolResult("x", [block]))) == {
        "type": "tool_result", "id": "1", "name": "read", "content": [{"type": "text", "text": "hi"}],
        "is_error": False,
    }  # fmt: skip
    assert say(made, CALL)[0] == [HostCalled(KEY, host_calls.CallTool("read", b'{"path": "a"}'))], "the id is free"
    assert json.loads(made.refuse(KEY, "no")) == refusal("read", "no")


def test_a_result_without_content_has_none_and_a_large_one_says_that_it_is_cut():
    made = session("call_tool")
    say(made, CALL)
    assert json.loads(made.answer(KEY, frames.ToolResult("x")))["content"] == []
    say(made, CALL)
    large = [frames.ContentBlock("text", text="é" * 5_000_000), frames.ContentBlock("image", "", "image/png", "aaaa")]
    said = json.loads(made.answer(KEY, frames.ToolResult("x", large)))
    assert said["truncated"] is True
    assert [block["text"] for block in said["content"]] == ["é" * (RESULT_BYTES // 2)]


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        ({"name": ""}, "call_tool has no name"),
        ({"args": ...}, "call_tool has no args; send a JSON object"),
        ({"name": 7}, "Expected `str`, got `int` - at `$.name`"),
        ({"name": ...}, "Object missing required field `name`"),
        ({"parent_id": 7}, "Expected `str | null`, got `int` - at `$.parent_id`"),
    ],
)
def test_a_faulty_call_is_answered_with_an_error_that_says_so(frame: dict[str, Any], why: str):
    made = session("call_tool")
    said = {name: value for name, value in (CALL | frame).items() if value is not ...}
    (message,), (reply,) = say(made, said)
    assert reply["is_error"] is True
    assert why in reply["content"][0]["text"]
    assert why in (message.text if isinstance(message, Warned) else message.reason)
    assert getattr(message, "id", None) is None, "no request of the host has failed"


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ({"id": ""}, Warned("call_tool", "sends a call_tool without an id; ignored")),
        (
            {"name": "write"},
            Warned("call_tool", "calls the tool 'write' with the id '1', which is in use; ignored"),
        ),
    ],
)
def test_a_call_that_cannot_be_answered_is_named(frame: dict[str, Any], said: Any):
    made = session("call_tool")
    say(made, CALL)
    assert say(made, CALL | frame) == ([said], [])


@pytest.mark.parametrize("frame", [{"id": 7}, {"id": ...}, {"id": None}])
def test_a_call_with_an_unreadable_id_is_malformed_and_fails_no_request(frame: dict[str, Any]):
    made = session("call_tool")
    said = {name: value for name, value in (CALL | frame).items() if value is not ...}
    (message,), reply = say(made, said)
    assert (message.type, message.id, reply) == ("call_tool", None, [])


def test_a_call_that_is_too_long_is_answered():
    made = session("call_tool")
    limit = LIMITS["call_tool"]
    line = Oversize(limit + 1, b'{"type":"call_tool","id":"1",', b"", limit)
    (message,), reply = made.receive_oversize(line, 0.0)
    assert message.type == "call_tool"
    assert message.id is None
    assert json.loads(reply) == refusal("", message.reason)


@pytest.mark.parametrize("capabilities", [(), ("tools", "Call_Tool")])
def test_without_the_capability_a_call_is_refused(capabilities: tuple[str, ...]):
    made = session(*capabilities)
    why = "its hello lacks the capability call_tool"
    assert say(made, CALL) == (
        [Warned("call_tool", f"its call of a tool is refused: {why}")],
        [refusal("read", why)],
    )
    assert say(made, CALL | {"args": ..., "name": 7} | {"args": 1})[1] == [], "nothing is promised to it"


def test_a_call_is_cancelled_by_its_id_and_an_unknown_one_is_a_remark():
    made = session("call_tool")
    say(made, CALL)
    cancel = {"type": "call_tool_cancel", "id": "1"}
    assert say(made, cancel) == ([HostCallCancelled(KEY)], [])
    assert say(made, cancel) == ([HostCallCancelled(KEY)], []), "it is open until it is answered"
    made.refuse(KEY, "aborted")
    assert say(made, cancel) == ([Remarked("cancels its call '1', which is not open; ignored")], [])


@pytest.mark.parametrize(
    ("capabilities", "frame"),
    [
        (("tool_cancel",), {"type": "tool_cancel", "id": "7"}),
        (("cancel",), {"type": "cancel", "id": "7", "reason": "enough"}),
        (("tool_cancel", "cancel"), {"type": "cancel", "id": "7", "reason": "enough"}),
    ],
)
def test_a_call_of_the_host_is_cancelled_in_the_words_of_the_hello(capabilities: tuple[str, ...], frame: Any):
    assert json.loads(session(*capabilities).cancel("7", "enough")) == frame
