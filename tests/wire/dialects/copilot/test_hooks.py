"""The inputs of hooks: every field of the guide's tables."""

from __future__ import annotations

import pytest

from tests.support.copilot_verdicts import HOST, MS, SESSION, Talk, tool_call, tool_result
from wire import frames
from wire.dialects.base import GuardAnswer, HostInfo
from wire.dialects.copilot.hooks import question
from wire.dialects.verdict import ALLOW

BASE = {"sessionId": SESSION, "timestamp": MS, "cwd": "/repo"}


@pytest.mark.parametrize(
    ("event", "hook", "extra"),
    [
        (frames.Event("user_prompt", text="hi"), "userPromptSubmitted", {"prompt": "hi"}),
        (frames.Event("user_prompt"), "userPromptSubmitted", {"prompt": ""}),
        (tool_call(command="ls"), "preToolUse", {"toolName": "bash", "toolArgs": {"command": "ls"}}),
        (
            tool_call("write", path="a", content="x"),
            "preToolUse",
            {"toolName": "create", "toolArgs": {"path": "/repo/a", "file_text": "x"}},
        ),
        (
            tool_call("read", path="a", offset=2),
            "preToolUse",
            {"toolName": "view", "toolArgs": {"path": "/repo/a", "view_range": [2, -1]}},
        ),
        (
            tool_result("one", "two"),
            "postToolUse",
            {
                "toolName": "bash",
                "toolArgs": {},
                "toolResult": {"textResultForLlm": "one\ntwo", "resultType": "success"},
            },
        ),
        (
            tool_result("no such file", is_error=True),
            "postToolUseFailure",
            {"toolName": "bash", "toolArgs": {}, "error": "no such file"},
        ),
        (
            tool_result(is_error=True),
            "postToolUseFailure",
            {"toolName": "bash", "toolArgs": {}, "error": "the tool failed"},
        ),
        (frames.Event("session_start", source="startup"), "sessionStart", {"source": "startup"}),
        (frames.Event("session_start", source="resume"), "sessionStart", {"source": "resume"}),
        (
            frames.Event("session_start", source="new", text="go"),
            "sessionStart",
            {"source": "new", "initialPrompt": "go"},
        ),
        (frames.Event("session_end", reason="complete"), "sessionEnd", {"reason": "complete"}),
        (
            frames.Event("session_end", reason="abort", text="bye"),
            "sessionEnd",
            {"reason": "abort", "finalMessage": "bye"},
        ),
        (
            frames.Event("session_end", reason="error", error="boom"),
            "sessionEnd",
            {"reason": "error", "error": "boom"},
        ),
        (
            frames.Event("error", error="429", error_context="model_call", recoverable=True),
            "errorOccurred",
            {"error": "429", "errorContext": "model_call", "recoverable": True},
        ),
        (
            frames.Event("error", error="x", error_context="tool_execution", recoverable=False, tool_name="t"),
            "errorOccurred",
            {"error": "x", "errorContext": "tool_execution", "recoverable": False},
        ),
    ],
)
def test_the_input_of_a_hook(event: frames.Event, hook: str, extra: dict):
    sent = Talk().ask(event)
    assert sent["method"] == "hooks.invoke"
    assert sent["params"] == {"sessionId": SESSION, "hookType": hook, "input": {**BASE, **extra}}


def test_a_command_that_fails_is_no_error():
    failed = frames.Event("error", error="exit 3", error_context="tool_execution", recoverable=True, tool_name="bash")
    talk = Talk({"errorOccurred"})
    question = talk.ask(failed)
    assert question["params"]["hookType"] == "error", "a hook that no extension has"
    assert talk.answer(question, {"result": {}})[0] == [GuardAnswer("c1", ALLOW)]


@pytest.mark.parametrize("reason", ["complete", "error", "abort", "timeout", "user_exit"])
def test_every_end_of_a_session_is_told(reason: str):
    assert Talk().ask(frames.Event("session_end", reason=reason))["params"]["input"]["reason"] == reason


@pytest.mark.parametrize("context", ["model_call", "tool_execution", "system", "user_input"])
def test_every_context_of_an_error_is_told(context: str):
    sent = Talk().ask(frames.Event("error", error="x", error_context=context, recoverable=True))
    assert sent["params"]["input"]["errorContext"] == context


def test_images_of_a_result_are_binary_results():
    event = frames.Event(
        "tool_result",
        tool_name="read",
        content=[
            frames.ContentBlock("image", mime_type="image/png", data="AAAA"),
            frames.ContentBlock("text", text="x"),
        ],
    )
    assert Talk().ask(event)["params"]["input"]["toolResult"] == {
        "textResultForLlm": "x",
        "resultType": "success",
        "binaryResultsForLlm": [{"type": "image", "mimeType": "image/png", "data": "AAAA"}],
    }


def test_a_result_comes_with_the_arguments_that_the_extension_was_asked_about():
    talk = Talk()
    talk.verdicts.note(tool_call(command="told"))
    talk.ask(tool_call(command="asked"))
    assert talk.ask(tool_result("x"))["params"]["input"]["toolArgs"] == {"command": "asked"}


def test_a_result_comes_with_the_arguments_as_the_extension_has_rewritten_them():
    talk = Talk()
    talk.judge(tool_call(command="ls"), {"modifiedArgs": {"command": "pwd"}})
    assert talk.ask(tool_result("x"))["params"]["input"]["toolArgs"] == {"command": "pwd"}
    assert talk.ask(tool_result("x", is_error=True))["params"]["input"]["toolArgs"] == {"command": "pwd"}


def test_a_result_comes_with_the_arguments_of_a_call_that_was_only_told():
    talk = Talk({"postToolUse"})
    talk.verdicts.note(tool_call("write", path="a", content="x"))
    asked = talk.ask(tool_result("ok", tool="write"))["params"]["input"]
    assert (asked["toolName"], asked["toolArgs"]) == ("create", {"path": "/repo/a", "file_text": "x"})


def test_arguments_of_old_calls_are_not_kept_for_ever():
    talk = Talk({"postToolUse"})
    for number in range(1_500):
        talk.verdicts.note(tool_call(tool_id=f"t{number}", command="x"))
    assert talk.ask(tool_result("ok", tool_id="t1"))["params"]["input"]["toolArgs"] == {}
    assert talk.ask(tool_result("ok", tool_id="t1499"))["params"]["input"]["toolArgs"] == {"command": "x"}


@pytest.mark.parametrize(
    ("hooks", "event", "hook"),
    [
        ({"postToolUse"}, tool_result("x", is_error=True), "postToolUseFailure"),
        ({"postToolUseFailure"}, tool_result("x"), "postToolUse"),
        (set(), tool_call(command="ls"), "preToolUse"),
        (set(), frames.Event("turn_start"), "turn_start"),
    ],
)
def test_a_hook_that_is_not_there_is_asked_and_its_empty_answer_allows(hooks: set, event: frames.Event, hook: str):
    talk = Talk(hooks)
    sent = talk.ask(event)
    assert sent["params"]["hookType"] == hook
    assert talk.answer(sent, {"result": {}}) == ([GuardAnswer("c1", ALLOW)], b"")


def test_an_event_without_a_hook_has_no_question():
    assert question(frames.Event("turn_start"), HOST, SESSION, MS) is None


def test_a_folder_whose_name_is_no_unicode_can_be_told():
    asked = question(frames.Event("user_prompt", text="x"), HostInfo("1", "p", "m", "/a\udcff"), SESSION, MS)
    assert asked is not None
    assert '"cwd":"/a\ufffd"'.encode() in asked[1]
