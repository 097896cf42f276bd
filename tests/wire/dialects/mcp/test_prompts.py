"""Prompts of MCP servers are slash commands with arguments."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.any_message import JSON, TEXT
from wire import frames
from wire.dialects.base import UnsendableError, Warned
from wire.dialects.mcp.prompts import ARGUMENTS_LIMIT, arguments, error_response, registration, response

PATH, LANGUAGE = {"name": "path", "description": "a file", "required": True}, {"name": "language"}
TWO = {"name": "review", "arguments": [PATH, LANGUAGE]}
ONE = {"name": "explain", "arguments": [PATH]}
NONE = {"name": "hello"}


# --- as commands ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "command"),
    [
        (NONE, frames.RegisterCommand("mcp__s__hello")),
        ({**NONE, "title": "Hello"}, frames.RegisterCommand("mcp__s__hello", "Hello")),
        ({**TWO, "description": "Review it:"}, frames.RegisterCommand("mcp__s__review", "Review it: PATH [LANGUAGE]")),
        ({"name": "a b", "arguments": 5}, frames.RegisterCommand("mcp__s__a_b")),
        ({**NONE, "arguments": [5, {}, {"name": 5}, {"name": "x", "required": "yes"}]},
         frames.RegisterCommand("mcp__s__hello", "[X]")),
    ],
    ids=str,
)  # fmt: skip
def test_a_prompt_is_a_command(prompt: dict, command: frames.RegisterCommand):
    assert registration("s", prompt) == (prompt["name"], command)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (5, "it is a number, not an object"),
        ({}, "it has no name"),
        ({"name": ""}, "it has no name"),
        ({"name": {}}, "its name is an object, not a string"),
    ],
)
def test_a_prompt_that_cannot_be_used_is_left_out(bad: Any, why: str):
    assert registration("s", bad) == Warned(f"prompt {why}", f"a prompt is skipped: {why}")


# --- arguments --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "text", "given_"),
    [
        (NONE, "", {}),
        (NONE, "  ", {}),
        (TWO, "a.py", {"path": "a.py"}),
        (TWO, "a.py German", {"path": "a.py", "language": "German"}),
        (TWO, "'my file.py' \"two words\"", {"path": "my file.py", "language": "two words"}),
        (TWO, "language=German a.py", {"path": "a.py", "language": "German"}),
        (TWO, "path=a=b language=", {"path": "a=b", "language": ""}),
        (TWO, "other=a.py", {"path": "other=a.py"}),
        (TWO, "''", {"path": ""}),
        (ONE, "how does\n this work", {"path": "how does this work"}),
        (ONE, "don't break", {"path": "don't break"}),
        (ONE, "path='a b'", {"path": "a b"}),
        ({"name": "x", "arguments": [LANGUAGE]}, "", {}),
    ],
    ids=str,
)
def test_arguments_by_position_and_by_name(prompt: dict, text: str, given_: dict[str, str]):
    assert arguments(prompt, text) == given_
    assert list(arguments(prompt, text)) == list(given_)


USAGE = "; usage: review PATH [LANGUAGE] (shell words, by position or as name=value)"


@pytest.mark.parametrize(
    ("prompt", "text", "said"),
    [
        (TWO, "", "the argument 'path' is missing" + USAGE),
        (TWO, "language=German", "the argument 'path' is missing" + USAGE),
        (TWO, "a b c d", "'c' is one argument too many" + USAGE),
        (TWO, "path=a b c", "'c' is one argument too many" + USAGE),
        (TWO, "path=a path=b", "the argument 'path' is given twice" + USAGE),
        (TWO, "don't", "the arguments are no shell words: no closing quotation" + USAGE),
        (TWO, "x" * (ARGUMENTS_LIMIT + 1), "the arguments have more than 262,144 characters" + USAGE),
        (ONE, "path=a b", "'b' is one argument too many; usage: explain PATH"),
        (NONE, "a", "it takes no arguments; usage: hello (shell words"),
        ({"name": "x", "arguments": [{**PATH, "name": "a"}, {**PATH, "name": "b"}]}, "",
         "the arguments 'a', 'b' are missing; usage: x A B"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_wrong_arguments_are_told_with_the_usage(prompt: dict, text: str, said: str):
    with pytest.raises(UnsendableError) as caught:
        arguments(prompt, text)
    assert str(caught.value).startswith(said)


@given(JSON | st.just(TWO), TEXT)
def test_any_prompt_takes_arguments_or_says_why_not(prompt: Any, text: str):
    try:
        given_, said = arguments(prompt, text), ""
    except UnsendableError as error:
        given_, said = {}, str(error)
    assert all(isinstance(value, str) for value in given_.values())
    assert not said or "; usage: " in said


# --- the text ---------------------------------------------------------------------------------------------------


def message(role: Any, *content: Any) -> dict[str, Any]:
    return {"role": role, "content": content[0] if len(content) == 1 else list(content)}


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


@pytest.mark.parametrize(
    ("messages", "prompt"),
    [
        ([message("user", text("Hello"))], "Hello"),
        ([message("user", text("a")), message("user", text("b"), text("c"))], "a\n\nb\nc"),
        ([message("user", text("a")), message("assistant", text("b"))], "User: a\n\nAssistant: b"),
        ([message("assistant", text("b"))], "Assistant: b"),
        ([message(5, text("a"))], "a"),
        ([message("system", text("a"))], "system: a"),
        ([message("user", {"type": "image", "mimeType": "image/png", "data": "AAAA"})],
         "[an image of type image/png, 3 bytes]"),
        ([message("user", {"type": "resource", "resource": {"uri": "a:b", "text": "x"}})], "a:b\nx"),
        ([message("user", {"type": "hologram"})], "[a block of the unknown type 'hologram']"),
        ([message("user", "a"), "b", 5], "a\n\nb\n\n[a message that is a number, not an object]"),
        ([message("user", {"text": "a"})], '[a content block without a type]\n{"text":"a"}'),
    ],
    ids=str,
)  # fmt: skip
def test_messages_are_the_text_of_a_prompt(messages: list, prompt: str):
    answer = response("7", {"description": "d", "messages": messages})
    assert answer == frames.CommandResponse("7", "prompt", prompt)


@pytest.mark.parametrize("messages", [[], [{}], [message("user", text(""))], [message("user", None)]])
def test_a_prompt_without_text_is_an_error(messages: list):
    answer = response("7", {"messages": messages})
    assert answer == frames.CommandResponse("7", error="the server's prompt has no text")


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (None, "the result of prompts/get is null, not an object"),
        ({}, "the messages of a prompt are null, not a list"),
        ({"messages": "hello"}, "the messages of a prompt are a string, not a list"),
        ({"resultType": "task"}, "the result of prompts/get has the type 'task', which zot does not know"),
    ],
)
def test_what_is_no_prompt_fails_the_command(result: Any, reason: str):
    assert response("7", result) == frames.Malformed(reason, "prompts/get", "7")


def test_a_question_of_the_server_fails_the_command_and_is_quoted():
    asked = {"a": {"method": "elicitation/create", "params": {"message": "Sure?"}}}
    answer = response("7", {"resultType": "input_required", "inputRequests": asked})
    assert isinstance(answer, frames.CommandResponse)
    assert (answer.error or "").endswith("elicitation/create: 'Sure?'")


def test_an_error_of_the_server_is_that_of_the_command():
    error = {"code": -32602, "message": "no"}
    assert error_response("7", error) == frames.CommandResponse("7", error="MCP error -32602: no")


MEMBERS = ("messages", "role", "content", "type", "text", "resource", "resultType", "name", "arguments")


@given(
    st.recursive(
        JSON | st.sampled_from(["text", "image", "user"]),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=4),
        max_leaves=10,
    )
)
def test_any_result_is_read(result: Any):
    assert response("7", result).id == "7"
    registration("s", result)
