"""Parameters with which an extension joins, and what of them is registered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from msgspec import Raw

from tests.support.any_json import json_values
from tests.support.copilot_talk import SCHEMA, dumped, tool
from wire import frames
from wire.dialects.base import Instructions, Remarked, Warned
from wire.dialects.copilot.join import PARTS_LIMIT, REMARKS_LIMIT, Join, JoinError, read_join


def read(**params: object) -> Join:
    return read_join(Raw(dumped({"sessionId": "s-1", **params})))


def texts(found: Join) -> list[str]:
    return [message.text for message in found.remarks if isinstance(message, Warned | Remarked)]


def test_tools_have_their_schemas_and_flags():
    found = read(tools=[tool("a", skipPermission=True), tool("b", overridesBuiltInTool=True), {"name": "c"}])
    assert [(each.name, each.skip_permission, each.overrides_builtin) for each in found.tools.values()] == [
        ("a", True, False),
        ("b", False, True),
        ("c", False, False),
    ]
    assert found.claimed == ("a", "c")
    first, _, last = found.tool_frames()
    assert (first.name, first.description, json.loads(bytes(first.schema))) == ("a", "tool a", SCHEMA)  # type: ignore[arg-type]
    assert (last.description, last.schema) == (None, frames.RegisterTool("c").schema)


@pytest.mark.parametrize("parameters", [None, {}])
def test_a_tool_without_parameters_takes_an_empty_object(parameters: object):
    assert read(tools=[tool("a", parameters=parameters)]).tool_frames()[0].schema == frames.RegisterTool("c").schema


def test_of_two_tools_with_one_name_the_last_is_used_as_the_sdk_does():
    found = read(tools=[tool("a"), tool("a", description="newer")])
    assert [each.description for each in found.tools.values()] == ["newer"]
    assert texts(found) == ["it has two tools called 'a'; the last one is used"]


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ([{"description": "x"}], "a tool is skipped: it has no name"),
        ([tool("a", parameters=5)], "tool 'a' is skipped: its parameters are no JSON Schema"),
        ({"name": "a"}, "its tools are an object, not a list; none is registered"),
        ([tool("a", isTerminal=True)], "tool 'a' has isTerminal, which has no effect here"),
    ],
)
def test_what_is_wrong_with_a_tool_is_said(tools: object, said: str):
    assert texts(read(tools=tools)) == [said]


def test_not_more_is_said_than_anybody_reads():
    assert len(read(tools=[{}] * 500).remarks) == REMARKS_LIMIT


def test_a_user_input_handler_is_a_tool_that_nobody_must_not_have():
    found = read(requestUserInput=True)
    (ask_user,) = found.tool_frames()
    assert (ask_user.name, found.claimed) == ("ask_user", ())
    assert json.loads(bytes(ask_user.schema))["required"] == ["question"]  # type: ignore[arg-type]
    own = read(requestUserInput=True, tools=[tool("ask_user")])
    assert [(each.name, each.description) for each in own.tool_frames()] == [("ask_user", "tool ask_user")]


@pytest.mark.parametrize(
    ("params", "hooks", "intercept"),
    [
        ({}, frozenset(), []),
        ({"hooks": False}, frozenset(), []),
        (
            {"hooks": True},
            None,
            ["tool_call", "tool_result", "user_prompt", "session_start", "session_end", "error"],
        ),
        ({"hooks": True, "extensionInfo": {"zot": {"hooks": ["preToolUse"]}}}, {"preToolUse"}, ["tool_call"]),
        ({"hooks": True, "extensionInfo": {"zot": {"hooks": ["postToolUseFailure", "later"]}}},
         {"postToolUseFailure", "later"}, ["tool_result"]),
        ({"hooks": True, "extensionInfo": {"zot": {"hooks": []}}, "requestPermission": True}, frozenset(),
         ["tool_call"]),
        ({"requestPermission": True}, frozenset(), ["tool_call"]),
    ],
)  # fmt: skip
def test_it_guards_what_its_hooks_are_for(params: dict[str, Any], hooks: object, intercept: list[str]):
    found = read(**params)
    assert (found.hooks, found.intercept) == (hooks, intercept)


def test_hooks_that_nobody_asks_are_told():
    """A misspelt guard guards nothing."""

    def told(*hooks: str) -> list[str]:
        return texts(read(hooks=True, extensionInfo={"zot": {"hooks": list(hooks)}}))

    assert told("preToolUse", "sessionEnd") == []
    (misspelt,) = told("preToolUze", "sessionEnd")
    assert misspelt == "it has hooks that are never asked here: onPreToolUze; did you mean 'onPreToolUse'?"
    (others,) = told("agentStop", "preMcpToolCall", "userPromptTransformed")
    assert others.endswith("; there are onPreToolUse, onPostToolUse, onPostToolUseFailure, onUserPromptSubmitted, "
                           "onSessionStart, onSessionEnd, onErrorOccurred")  # fmt: skip
    assert len(told("x" * 5000, "y" * 5000)[0]) < 500


def test_it_observes_everything_and_registers_in_order():
    found = read(tools=[tool("a")], commands=[{"name": "go", "description": "d"}, {"name": "on"}])
    tools, go, on, subscribe, ready = found.registrations()
    assert (go, on) == (frames.RegisterCommand("go", "d"), frames.RegisterCommand("on"))
    assert isinstance(tools, frames.RegisterTool)
    assert isinstance(subscribe, frames.Subscribe)
    assert subscribe.events is not None
    assert {"idle", "user_prompt", "session_end"} <= set(subscribe.events)
    assert ready == frames.Ready()


def test_variables_that_are_missing_are_named_with_the_cure():
    found = read(
        requestedEnvironmentVariables=["A", "B", "A", 5], extensionInfo={"name": "x", "zot": {"missing": ["B", "C"]}}
    )
    assert found.variables == ("A", "B")
    (said,) = texts(found)
    assert "environment variables that are missing: B;" in said
    assert '"env" in its extension.json' in said
    # The oldest SDK leaves the names out of the join.
    (said,) = texts(read(extensionInfo={"zot": {"missing": ["B", 5]}}))
    assert "environment variables that are missing: B;" in said


def test_options_without_effect_are_named():
    found = read(
        model="m", mcpServers={}, requestElicitation=True, streaming=True, canvases=[], skillDirectories=["/s"],
        memory=None, includeSubAgentStreamingEvents=True, envValueMode="direct", disableResume=True,
    )  # fmt: skip
    assert texts(found) == [
        "joinSession() has options that have no effect here: model, onElicitationRequest, skillDirectories, streaming"
    ], "and none that the SDK sends of its own accord"


def test_a_text_that_was_cut_between_surrogates_is_repaired():
    said = b'{"sessionId":"s-1","tools":[{"name":"a","description":"laughs \\ud83d"}],"model":"\\ude00"}'
    found = read_join(Raw(said))
    assert found.tools["a"].description == "laughs \ufffd"
    assert texts(found) == ["joinSession() has options that have no effect here: model"]


# --- the system prompt --------------------------------------------------------------------------------------


def told(found: Join) -> list[str]:
    return [each.text for each in found.registrations() if isinstance(each, Instructions)]


@pytest.mark.parametrize(
    ("message", "instructions"),
    [
        ({"content": "Be kind."}, ["Be kind."]),
        ({"mode": "append", "content": " Be kind.\n\n- Be brief.\n"}, ["Be kind.\n\n- Be brief."]),
        ({"mode": None, "content": "\x1b[31mBe kind.\x07"}, ["Be kind."]),
        ({"mode": "append", "content": ""}, []), ({"mode": "append", "content": " \n"}, []),
        ({"mode": "append"}, []), ({}, []), (None, []),
    ],
)  # fmt: skip
def test_what_is_appended_to_the_system_prompt(message: object, instructions: list[str]):
    found = read(systemMessage=message)
    assert (told(found), texts(found)) == (instructions, [])


def test_what_is_appended_comes_before_it_is_ready():
    *_, instructions, ready = read(systemMessage={"content": " " * 9000 + "Be kind."}).registrations()
    assert (instructions, ready) == (Instructions("Be kind."), frames.Ready())


def test_what_is_appended_is_cut_and_the_log_says_so():
    found = read(systemMessage={"content": "é" * 1500 + "\n"})
    (text,) = told(found)
    assert (2040 < len(text.encode()) <= 2048, text[-3:]) == (True, "é …")
    assert texts(found) == ["its systemMessage has 3000 bytes; the model gets the first 2048"]
    assert texts(read(systemMessage={"content": "é" * 1024})) == []


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"mode": "replace", "content": "You are a pirate."}, 'its systemMessage has the mode "replace", which'),
        (
            {"mode": "customize", "sections": {"tone": {"action": "remove"}}},
            'its systemMessage has the mode "customize"',
        ),
        ({"mode": "customize", "content": "Be kind."}, 'the mode "customize", which has no effect here; "append" has'),
        ({"mode": "Append", "content": "Be kind."}, 'the mode "Append", which has no effect'),
        ({"mode": 5, "content": "Be kind."}, "the mode a number, which has no effect"),
        ({"content": ["Be kind."]}, "the content of its systemMessage is a list, not a string; it has no effect"),
        ("Be kind.", "its systemMessage is a string, not an object; it has no effect"),
    ],
)
def test_an_extension_cannot_change_what_the_agent_is_told_otherwise(message: object, said: str):
    found = read(systemMessage=message)
    assert told(found) == []
    assert len(texts(found)) == 1
    assert said in texts(found)[0]


def read_any(name: str, value: object) -> Join | None:
    """With this member. None if it may not join, which only what is no JSON keeps it from."""
    try:
        return read(**{name: value})
    except JoinError:
        with pytest.raises(ValueError, match=r"not JSON compliant|surrogates not allowed"):
            json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
        return None


@given(json_values)
@example(float("inf"))
def test_any_system_message_is_read(message: object):
    found = read_any("systemMessage", message)
    assert found is None or all(len(text.encode()) <= 2048 for text in told(found))


@pytest.mark.parametrize(
    ("params", "said"),
    [
        (b"{}", "sessionId is null, not the id of a session"),
        (b'{"sessionId":7}', "sessionId is a number, not the id of a session"),
        (b'{"sessionId":""}', "sessionId is a string, not the id of a session"),
        (b"[]", "cannot be read"),
        (b'{"sessionId":"s","tools":' + b"[" * 3000 + b"]" * 3000 + b"}", "nested too deeply"),
        (b'{"sessionId":"s","x":[' + b"0," * 2 * PARTS_LIMIT + b"0]}", "more than 200000 parts"),
    ],
)
def test_parameters_that_cannot_be_used_are_refused(params: bytes, said: str):
    with pytest.raises(JoinError, match=said):
        read_join(Raw(params))


@given(json_values)
def test_any_members_join_or_are_refused(value: Any):
    names = ("tools", "commands", "hooks", "requestPermission", "requestedEnvironmentVariables", "extensionInfo")
    for name in (*names, "requestUserInput", "model"):
        found = read_any(name, value)
        assert found is None or isinstance(found.registrations()[-1], frames.Ready)
