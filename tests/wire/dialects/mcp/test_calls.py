"""Calls and commands of a server: each ends once, with the first answer, and says how far it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.support.mcp_dialect_talk import Talk, dumped, opened, text_result, tool
from wire import frames
from wire.dialects.base import Remarked, RunSession, UnsendableError
from wire.dialects.mcp.call_answers import plain_answer
from wire.dialects.mcp.session import ARGS_LIMIT, ROUNDS
from wire.trace_context import TraceContext

DONE = frames.ToolResult("7", [frames.ContentBlock("text", "done")])


def answered(talk: Talk, sent: dict[str, Any], **members: object) -> list[Any]:
    return talk.hear({**members, "jsonrpc": "2.0", "id": sent["id"]})


def test_a_call_bears_the_servers_own_name_and_a_token():
    talk = opened(tool("read.file"))
    sent = talk.call("7", "mcp__desk__read_file", b'{\n"path": "a"}')
    assert sent["method"] == "tools/call"
    assert sent["params"] == {"name": "read.file", "arguments": {"path": "a"}, "_meta": {"progressToken": sent["id"]}}
    assert answered(talk, sent, result=text_result()) == [DONE]


@pytest.mark.parametrize("modern", [False, True])
def test_a_call_bears_its_span(modern: bool):
    context = TraceContext("a" * 32, "b" * 16, True, 'x="1"')
    meta = opened(modern=modern).call("7", context=context)["params"]["_meta"]
    assert (meta["traceparent"], meta["tracestate"]) == (context.traceparent, 'x="1"')
    meta = opened(modern=modern).call("7", run=RunSession("s", "/"), context=replace(context, state=""))["params"][
        "_meta"
    ]
    assert "tracestate" not in meta
    assert (meta["traceparent"], meta["zot/sessionId"]) == (context.traceparent, "s")


@pytest.mark.parametrize("args", [b"", b"null", b" \n", b" null "])
def test_arguments_are_always_an_object(args: bytes):
    assert opened().call("7", args=args)["params"]["arguments"] == {}


@pytest.mark.parametrize("args", [b"[]", b"5", b'"x"'])
def test_other_arguments_are_not_sent(args: bytes):
    with pytest.raises(UnsendableError, match="no JSON object"):
        opened().call("7", args=args)


def test_arguments_that_a_server_dies_of_are_not_sent():
    talk = opened()
    with pytest.raises(UnsendableError, match=f"over the limit of {ARGS_LIMIT} bytes"):
        talk.call("7", args=b'{"a":"%b"}' % (b"x" * ARGS_LIMIT))
    assert talk.session.ping("p"), "no call waits"


def test_a_tool_that_is_gone_is_not_called():
    with pytest.raises(UnsendableError, match="no longer has the tool mcp__desk__x"):
        opened().call("7", "mcp__desk__x")


@pytest.mark.parametrize("make", [str, float, int, lambda number: f"{number}"])
def test_the_id_of_an_answer_may_be_a_string_or_a_fraction(make: Any):
    talk = opened()
    sent = talk.call("7")
    assert talk.hear({"jsonrpc": "2.0", "id": make(sent["id"]), "result": text_result()}) == [DONE]


def test_a_line_with_a_method_is_never_an_answer():
    talk = opened()
    sent = talk.call("7")
    heard = talk.hear({"jsonrpc": "2.0", "id": sent["id"], "method": "ping", "result": text_result()})
    assert heard == []
    assert talk.sent[-1] == {"jsonrpc": "2.0", "id": sent["id"], "result": {}}
    assert answered(talk, sent, result=text_result()) == [DONE]


def test_the_first_answer_counts():
    talk = opened()
    sent = talk.call("7")
    assert answered(talk, sent, result=text_result()) == [DONE]
    (late,) = answered(talk, sent, result=text_result("other"))
    assert isinstance(late, Remarked)


def test_an_error_is_a_result_too():
    talk = opened()
    (result,) = answered(talk, talk.call("7"), error={"code": -32602, "message": "Tool t not found"})
    assert result.is_error
    assert result.content[0].text == "MCP error -32602: Tool t not found"


@pytest.mark.parametrize("error", [None, 5, "bad", [], {"code": "x"}])
def test_an_error_may_be_anything_and_null_is_none(error: object):
    talk = opened()
    (result,) = answered(talk, talk.call("7"), error=error, result=text_result())
    assert result.is_error == (None if error is None else True)


@pytest.mark.parametrize("members", [{}, {"error": None}, {"result": 5}, {"result": None}, {"result": []}])
def test_an_answer_that_is_none_fails_the_call_at_once(members: dict):
    talk = opened()
    (bad,) = answered(talk, talk.call("7"), **members)
    assert isinstance(bad, frames.Malformed)
    assert bad.id == "7"
    assert talk.session.ping("p"), "the call waits no more"


def test_an_error_without_an_id_is_the_answer_to_the_only_call():
    talk = opened()
    talk.call("7")
    said = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}
    (result,) = talk.hear(said)
    assert (result.id, result.is_error) == ("7", True)
    talk.call("8")
    talk.call("9")
    assert isinstance(talk.hear(said)[0], Remarked), "it may be meant for either"
    talk.session.cancel("8", "")
    said["error"] = {"code": -32600, "message": "Invalid request"}
    assert isinstance(talk.hear(said)[0], Remarked), "it may be meant for a notification"
    # A line of a log is no answer.
    talk.hear({"jsonrpc": "2.0", "id": talk.id_of("tools/call"), "result": {}})
    assert isinstance(talk.hear({"level": "error", "error": {"code": 5}})[0], frames.Malformed)


LETTERS = st.text(max_size=5)
BLOCK = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["text", "image", "audio", "resource", "x", 5]),
        "text": LETTERS | st.none() | st.integers(),
        "data": LETTERS,
        "mimeType": st.sampled_from(["image/png", 5]),
        "mime_type": LETTERS,
        "annotations": st.just({"priority": 1}),
    },
)
RESULT = st.fixed_dictionaries(
    {"content": st.lists(BLOCK, max_size=3) | st.none() | LETTERS},
    optional={
        "isError": st.booleans() | st.none() | st.just("no"),
        "structuredContent": st.none() | st.just({"a": [1]}),
        "resultType": st.sampled_from(["complete", "other", None]),
    },
)


@given(RESULT)
def test_a_plain_answer_means_what_it_means_when_it_is_read_in_two_passes(result: dict):
    talk = opened()
    first, second = talk.call("7"), talk.call("7")
    (quick,) = answered(talk, first, result=result)
    # With the content behind much else, the short way is not taken.
    answered_long = {"x": "." * 100, "result": result, "jsonrpc": "2.0", "id": second["id"]}
    assert plain_answer(dumped(answered_long)) is None
    assert talk.hear(answered_long) == [quick]


def test_most_answers_are_plain():
    for line in (
        {"result": text_result(), "jsonrpc": "2.0", "id": 3},
        {"jsonrpc": "2.0", "id": 3, "result": {**text_result(), "isError": False, "structuredContent": {"result": 1}}},
    ):
        assert plain_answer(dumped(line)) is not None


def test_structured_content_is_shown_if_there_is_no_other():
    talk = opened()
    (result,) = answered(talk, talk.call("7"), result={"content": [], "structuredContent": {"a": [1, None]}})
    assert json.loads(result.content[0].text) == {"a": [1, None]}
    (result,) = answered(talk, talk.call("7"), result={"content": [], "structuredContent": None})
    assert not result.content


# --- progress -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("report", "text"),
    [
        ({"progress": 3, "total": 10, "message": "half"}, "half"),
        ({"progress": 3, "total": 10}, "3/10"),
        ({"progress": 0.5, "total": 1.0}, "0.5/1"),
        ({"progress": 3}, "3"),
        ({"progress": 3, "message": ""}, "3"),
        ({"progress": "3", "total": None, "message": 5}, "3"),
        ({"progress": 1 / 3}, "0.333"),
    ],
)
def test_progress_of_a_call_is_passed_on(report: dict, text: str):
    talk = opened()
    number = talk.call("7")["id"]
    for token in (number, str(number)):
        said = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, **report}}
        assert talk.hear(said) == [frames.ToolProgress("7", text)]


@pytest.mark.parametrize("params", [None, 5, {}, {"progressToken": "x"}, {"progressToken": 1}, {"progressToken": [7]}])
def test_progress_of_anything_else_is_ignored(params: object):
    talk = opened()
    talk.call("7")
    assert talk.hear({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}) == []


def test_progress_may_go_on_after_the_end_and_is_ignored():
    talk = opened()
    sent = talk.call("7")
    answered(talk, sent, result=text_result())
    said = {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": sent["id"], "progress": 1},
    }
    assert talk.hear(said) == []


# --- cancel, ping, stop -------------------------------------------------------------------------------------


def test_a_call_is_taken_back_by_its_number():
    talk = opened()
    sent = talk.call("7")
    (cancelled,) = talk.keep(talk.session.cancel("7", "no answer within 60 s"))
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"] == {"requestId": sent["id"], "reason": "no answer within 60 s"}
    assert talk.session.cancel("7", "again") == b""
    assert isinstance(answered(talk, sent, error={"code": 0, "message": "Request cancelled"})[0], Remarked)


def test_nothing_else_is_ever_taken_back():
    for talk in (Talk(), opened()):
        for call_id in ("1", "2", "", "p"):
            assert talk.session.cancel(call_id, "stop") == b""


@pytest.mark.parametrize("modern", [False, True])
def test_a_ping_is_answered_by_anything(modern: bool):
    talk = opened(modern=modern)
    (ping,) = talk.keep(talk.session.ping("p"))
    assert ping["method"] == ("server/discover" if modern else "ping")
    assert answered(talk, ping, result={}) == [frames.Pong("p")]
    (ping,) = talk.keep(talk.session.ping("q"))
    assert answered(talk, ping, error={"code": -32601, "message": "no"}) == [frames.Pong("q")]


def test_a_server_is_not_pinged_while_it_works_nor_before_it_is_open():
    assert Talk().session.ping("p") == b""
    talk = opened()
    sent = talk.call("7")
    assert talk.session.ping("p") == b""
    answered(talk, sent, result=text_result())
    assert talk.session.ping("p")


def test_the_end_of_its_input_stops_a_server():
    assert opened().session.stop() == b""


def test_events_and_panels_are_not_for_servers():
    session = opened().session
    event = frames.Event("turn_start")
    assert session.tell(event) == session.ask("7", event) == session.panel(frames.PanelClosed("p")) == b""


# --- sessions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("modern", [False, True])
def test_a_call_of_one_of_several_runs_names_its_session_and_folder(modern: bool):
    talk = opened(modern=modern)
    about = {"zot/sessionId": 's"1', "zot/cwd": "/of/ü"}
    run = RunSession('s"1', "/of/ü")
    called = talk.call("7", run=run)
    assert called["params"]["_meta"].items() >= {**about, "progressToken": called["id"]}.items()
    (asked,) = talk.keep(talk.session.invoke("8", "mcp__desk__p", "who=me", run))
    assert asked["params"]["_meta"].items() >= {**about, "progressToken": asked["id"]}.items()
    for sent in (talk.call("9"), *talk.keep(talk.session.invoke("10", "mcp__desk__p", "who=me"))):
        assert not about.keys() & sent["params"]["_meta"].keys(), "a server of one run is told nothing of it"


def test_each_round_of_a_call_names_its_session():
    talk = opened(modern=True)
    sent = talk.call("7", run=RunSession("s1", "/of/1"))
    assert answered(talk, sent, result=again("x")) == []
    assert talk.sent[-1]["params"]["requestState"] == "x"
    assert talk.sent[-1]["params"]["_meta"].items() >= {"zot/sessionId": "s1", "zot/cwd": "/of/1"}.items()


# --- rounds -------------------------------------------------------------------------------------------------


def again(state: object) -> dict[str, Any]:
    return {"resultType": "input_required", "requestState": state}


def test_a_call_is_sent_again_with_the_state_until_it_has_a_result():
    talk = opened(modern=True)
    first = talk.call("7", args=b'{"text":"x"}')
    for round_ in range(ROUNDS):
        assert talk.answer("tools/call", again(f"s{round_}")) == []
        sent = talk.asked("tools/call")
        assert sent["id"] == first["id"] + round_ + 1, "a new id"
        assert sent["params"]["requestState"] == f"s{round_}"
        assert sent["params"]["arguments"] == {"text": "x"}
        assert sent["params"]["_meta"]["progressToken"] == sent["id"]
    assert talk.answer("tools/call", text_result()) == [DONE]


def test_it_is_taken_back_under_its_last_number():
    talk = opened(modern=True)
    talk.call("7")
    talk.answer("tools/call", again("s"))
    (cancelled,) = talk.keep(talk.session.cancel("7", ""))
    assert cancelled["params"] == {"requestId": talk.id_of("tools/call")}


def test_a_server_that_never_finishes_fails_the_call():
    talk = opened(modern=True)
    talk.call("7")
    for _ in range(ROUNDS):
        assert talk.answer("tools/call", again("s")) == []
    (result,) = talk.answer("tools/call", again("s"))
    assert (result.id, result.is_error) == ("7", True)
    assert "never finished" in result.content[0].text
    assert talk.session.ping("p")


def test_a_question_to_the_user_fails_the_call_and_is_quoted():
    talk = opened(modern=True)
    talk.call("7")
    asked = {"q": {"method": "elicitation/create", "params": {"message": "Which account?"}}}
    (result,) = talk.answer("tools/call", {**again("s"), "inputRequests": asked})
    assert result.is_error
    assert "Which account?" in result.content[0].text


# --- commands -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("modern", [False, True])
def test_a_prompt_is_a_command(modern: bool):
    talk = opened(modern=modern)
    (sent,) = talk.keep(talk.session.invoke("9", "mcp__desk__p", "Bob"))
    assert sent["method"] == "prompts/get"
    assert {name: sent["params"][name] for name in ("name", "arguments")} == {"name": "p", "arguments": {"who": "Bob"}}
    result = {"messages": [{"role": "user", "content": {"type": "text", "text": "Hi Bob"}}]}
    assert answered(talk, sent, result=result) == [frames.CommandResponse("9", "prompt", "Hi Bob")]


def test_a_command_fails_by_error_and_by_a_bad_answer():
    talk = opened()
    (sent,) = talk.keep(talk.session.invoke("9", "mcp__desk__p", "who=Bob"))
    (response,) = answered(talk, sent, error={"code": -32602, "message": "no"})
    assert response == frames.CommandResponse("9", error="MCP error -32602: no")
    (sent,) = talk.keep(talk.session.invoke("9", "mcp__desk__p", "Bob"))
    (bad,) = answered(talk, sent, result=[])
    assert (type(bad), bad.id) == (frames.Malformed, "9")
    with pytest.raises(UnsendableError, match="who"):
        talk.session.invoke("9", "mcp__desk__p", "")
    with pytest.raises(UnsendableError, match="no longer has a prompt"):
        talk.session.invoke("9", "mcp__desk__gone", "")
