"""The conversation with an extension: joining, calls and commands, unknown ids, junk, and bounds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.any_json import json_values
from tests.support.copilot_talk import HOST, UNIX_MS, Talk, dumped, opened, tool
from wire import frames
from wire.dialects.base import HostInfo, Remarked, UnsendableError, Unusable
from wire.dialects.copilot.calls import ARGS_LIMIT
from wire.dialects.copilot.requests import WAITING_LIMIT, Purpose, SentRequest, SentRequests
from wire.dialects.copilot.session import JOINS_LIMIT
from wire.dialects.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, SERVER_ERROR
from wire.framing.content_length import add_header
from wire.trace_context import TraceContext

TOOL_ANSWER = "session.tools.handlePendingToolCall"
COMMAND_ANSWER = "session.commands.handlePendingCommand"


# --- joining ------------------------------------------------------------------------------------------------


def test_it_connects_joins_and_is_ready_at_once():
    talk = Talk()
    assert "joinSession" in talk.session.trouble
    assert talk.session.spoken == ""
    heard, answer = talk.request("connect", supportedTaskKinds=["agent"])
    assert (heard, answer["result"]) == ([], {"ok": True, "protocolVersion": 3, "version": "1.2"})
    heard, answer = talk.join(tool("a"), commands=[{"name": "go"}], hooks=True)
    assert [type(message) for message in heard] == [
        frames.Hello, frames.RegisterTool, frames.RegisterCommand, frames.Subscribe, frames.Ready,
    ]  # fmt: skip
    assert heard[0] == frames.Hello("desk", capabilities=["ping", "cancel"])
    assert answer["result"] == {
        "sessionId": "s-1", "capabilities": {"ui": {"elicitation": False}}, "workspacePath": "/work/s-1",
    }  # fmt: skip
    assert (talk.session.claimed, talk.session.trouble) == (("a",), "")
    assert talk.session.spoken == "Copilot SDK protocol 3"


def test_what_it_claims_is_known_at_its_hello():
    session = Talk().session
    params = {"sessionId": "s-1", "tools": [tool("a"), tool("bash", overridesBuiltInTool=True)]}
    session.receive(dumped({"id": 1, "method": "session.resume", "params": params}), 0.0)
    assert session.claimed == ("a",)


def test_an_older_sdk_asks_by_ping():
    heard, answer = Talk().request("ping", message="hi")
    assert (heard, answer["result"]) == ([], {"message": "hi", "timestamp": UNIX_MS, "protocolVersion": 3})


def test_a_host_without_a_workspace_names_none_and_grants_are_answered():
    talk = Talk(host=HOST.__class__("1.2", "p", "m", "/project", "s-1"))
    _, answer = talk.join(requestedEnvironmentVariables=["A"])
    assert "workspacePath" not in answer["result"]
    assert answer["result"]["grantedEnvironmentVariables"] == {}


def test_a_hello_that_is_refused_is_answered_with_the_reason():
    talk = Talk(rejected="tool 'a' is already that of extension desk")
    _, answer = talk.join(tool("a"))
    assert answer["error"] == {"code": SERVER_ERROR, "message": "tool 'a' is already that of extension desk"}
    with pytest.raises(UnsendableError):
        talk.call("c1", "a")
    _, again = talk.join()
    assert again["error"]["code"] == INVALID_REQUEST
    assert talk.session.ping("1") == b""


def test_another_session_than_the_hosts_cannot_be_joined():
    talk = Talk()
    _, answer = talk.request("session.resume", sessionId="other")
    assert answer["error"]["message"] == "it joins the session 'other', but this one is 's-1'"
    assert talk.session.due_at == 5.0
    messages, _ = talk.session.on_time(5.0)
    assert messages == (Unusable(answer["error"]["message"], may_pass=False),)
    assert talk.session.due_at is None


def test_a_host_that_names_no_session_takes_any():
    talk = Talk(host=HOST.__class__("1.2", "p", "m", "/project"))
    _, answer = talk.request("session.resume", sessionId="other")
    assert answer["result"]["sessionId"] == "other"


def test_parameters_that_cannot_be_used_are_refused_and_it_may_join_again():
    talk = Talk()
    heard, answer = talk.request("session.resume")
    assert answer["error"]["code"] == INVALID_PARAMS
    assert isinstance(heard[0], Remarked)
    assert isinstance(talk.join()[0][-1], frames.Ready)


def test_one_that_says_when_its_module_has_run_is_ready_then():
    talk = Talk()
    heard, _ = talk.join(tool("t"), extensionInfo={"zot": {"starts": True}})
    assert isinstance(heard[-1], frames.Subscribe)
    assert talk.request("session.log", message="loading")[0][0] == frames.Notify("info", "loading")
    assert talk.hear({"jsonrpc": "2.0", "method": "zot.started"}) == [frames.Ready()]
    assert talk.request("zot.started")[1]["error"]["code"] == -32601


@pytest.mark.parametrize("method", [TOOL_ANSWER, "session.log", "anything"])
def test_before_it_joins_it_is_told_to_join(method: str):
    heard, answer = Talk().request(method)
    assert answer["error"]["code"] == INVALID_REQUEST
    assert "join the session first" in answer["error"]["message"]
    assert method in heard[0].text


def test_a_second_join_is_refused():
    """The SDK answers each hook once for each join, the first of them for hooks that it has not: a guard of the second
    would be one in name only."""
    talk = opened(tool("a"))
    (remark,), answer = talk.join(tool("b"), hooks=True)
    assert answer["error"]["code"] == INVALID_REQUEST
    assert answer["error"]["message"].startswith("joinSession() was called before")
    assert remark == Remarked(answer["error"]["message"])
    assert talk.session.claimed == ("a",)
    assert talk.call("c1", "a")


def test_a_second_join_before_the_first_is_answered_is_refused_too():
    session = Talk().session
    first, second = (
        {"id": number, "method": "session.resume", "params": {"sessionId": "s-1", "tools": [tool(name)]}}
        for number, name in ((1, "a"), (2, "b"))
    )
    session.receive(dumped(first), 0.0)
    (remark,), refusal = session.receive(dumped(second), 0.0)
    assert remark.text.startswith("joinSession() was called before")
    assert remark.text.encode() in refusal
    assert session.claimed == ("a",)


# --- calls and commands -------------------------------------------------------------------------------------


def test_a_call_is_an_event_and_its_result_a_request():
    talk = opened()
    event = talk.call("c1", "t", b'{"text":"hi"}')["params"]["event"]
    assert event["type"] == "external_tool.requested"
    assert event["timestamp"] == "2026-01-01T00:00:00.123Z"
    assert event["data"] == {
        "requestId": "c1", "sessionId": "s-1", "toolCallId": "c1", "toolName": "t", "arguments": {"text": "hi"},
    }  # fmt: skip
    assert talk.result("c1", result="done") == [frames.ToolResult("c1", [frames.ContentBlock("text", "done")])]


def test_a_call_bears_its_span():
    context = TraceContext("a" * 32, "b" * 16, True, "x=1")
    talk = opened()
    (sent,) = talk.keep(talk.session.call("c1", "t", b"{}", context=context))
    data = sent["params"]["event"]["data"]
    assert (data["traceparent"], data["tracestate"]) == (context.traceparent, "x=1")


def test_events_have_their_own_ids_and_name_the_one_before():
    talk = opened()
    first, second = (talk.call(each)["params"]["event"] for each in ("c1", "c2"))
    assert first["id"] != second["id"]
    assert (first["parentId"], second["parentId"]) == (None, first["id"])


@pytest.mark.parametrize("call_id", ["c1", "c2", 5, None])
def test_a_result_that_nobody_waits_for_is_no_success(call_id: object):
    talk = opened()
    talk.call("c1")
    talk.result("c1", result="done")
    heard, answer = talk.request(TOOL_ANSWER, requestId=call_id, result="again")
    assert answer["result"] == {"success": False}
    assert "which is not open" in heard[0].text


@pytest.mark.parametrize("params", [[], 5, None])
def test_an_answer_without_parameters_is_refused(params: object):
    talk = opened()
    (heard,) = talk.hear({"id": 1, "method": TOOL_ANSWER, "params": params})
    assert type(heard) is frames.Malformed
    assert talk.sent[-1]["error"]["code"] == INVALID_PARAMS


def test_a_call_is_taken_back_with_an_event():
    talk = opened()
    talk.call("c1")
    (sent,) = talk.keep(talk.session.cancel("c1", "time is over"))
    assert sent["params"]["event"]["type"] == "external_tool.completed"
    assert sent["params"]["event"]["data"] == {"requestId": "c1"}
    assert talk.session.cancel("c1", "") == b""
    _, answer = talk.request(TOOL_ANSWER, requestId="c1", result="late")
    assert answer["result"] == {"success": False}


@pytest.mark.parametrize(("args", "whole"), [("", "/go"), ("a b", "/go a b")])
def test_a_command_ends_without_a_word_or_with_an_error(args: str, whole: str):
    talk = opened(commands=[{"name": "go"}])
    (sent,) = talk.keep(talk.session.invoke("k1", "go", args))
    assert sent["params"]["event"]["type"] == "command.execute"
    assert sent["params"]["event"]["data"] == {"requestId": "k1", "commandName": "go", "command": whole, "args": args}
    heard, answer = talk.request(COMMAND_ANSWER, requestId="k1")
    assert (heard, answer["result"]) == ([frames.CommandResponse("k1", action="noop")], {"success": True})
    talk.keep(talk.session.invoke("k2", "go", ""))
    assert talk.request(COMMAND_ANSWER, requestId="k2", error="bad")[0] == [frames.CommandResponse("k2", error="bad")]
    talk.keep(talk.session.invoke("k3", "go", ""))
    assert talk.session.cancel("k3", "") == b""
    assert talk.request(COMMAND_ANSWER, requestId="k3")[1]["result"] == {"success": False}


def test_a_call_needs_a_tool_and_arguments_of_a_size():
    talk = opened()
    with pytest.raises(UnsendableError, match="over the limit"):
        talk.call("c1", "t", b'"' + b"x" * ARGS_LIMIT + b'"')
    with pytest.raises(UnsendableError, match="no longer has the tool other"):
        talk.call("c1", "other")
    with pytest.raises(UnsendableError, match="has not joined"):
        Talk().call("c1")
    with pytest.raises(UnsendableError, match="has not joined"):
        Talk().session.invoke("k1", "go", "")


@pytest.mark.parametrize("answer", [{"result": {}}, {"error": {"code": METHOD_NOT_FOUND, "message": "Unhandled"}}])
def test_any_answer_to_a_ping_is_a_pong(answer: dict[str, Any]):
    talk = opened()
    (sent,) = talk.keep(talk.session.ping("7"))
    assert sent["method"] == "zot.ping"
    assert talk.hear({"jsonrpc": "2.0", "id": sent["id"], **answer}) == [frames.Pong("7")]
    (late,) = talk.hear({"jsonrpc": "2.0", "id": sent["id"], **answer})
    assert "which is not open" in late.text


def test_it_is_asked_to_stop_by_the_end_of_its_input():
    assert opened().session.stop() == b""


# --- what cannot be read ------------------------------------------------------------------------------------


def test_other_text_on_stdout_is_remarked_and_explains_a_missing_hello():
    talk = Talk()
    heard = talk.hear(b"starting up\n", b'{"id":0,"result":{}}\n')
    assert heard == [frames.Malformed("starting up"), frames.Malformed('{"id":0,"result":{}}')]
    assert talk.session.trouble == (
        "it has not called joinSession(); its stdout, which belongs to the protocol, has other text: 'starting up'"
    )
    assert isinstance(talk.join()[0][-1], frames.Ready)


def test_printed_json_answers_nothing():
    talk = opened()
    (sent,) = talk.keep(talk.session.ping("7"))
    assert type(talk.hear(b'{"id":%d,"result":1}\n' % sent["id"])[0]) is frames.Malformed
    assert talk.hear({"id": sent["id"], "result": 1}) == [frames.Pong("7")]


@pytest.mark.parametrize("body", [b"{}", b"{nonsense}", b'{"id":1}', b'{"result":1}', b'{"method":5}'])
def test_a_body_that_is_no_message_fails_nothing(body: bytes):
    talk = opened()
    talk.call("c1")
    (heard,) = talk.hear(add_header(body))
    assert type(heard) in (frames.Malformed, Remarked)
    assert getattr(heard, "id", None) is None
    assert talk.result("c1", result="done")


def test_a_result_over_the_limit_fails_its_call_and_nothing_behind_it_is_lost():
    talk = opened()
    talk.call("c1")
    talk.call("c2")
    params = {"sessionId": "s-1", "requestId": "c1", "result": "x" * 7 * 1024 * 1024}
    (heard,) = talk.hear({"jsonrpc": "2.0", "id": 77, "method": TOOL_ANSWER, "params": params})
    assert (heard.type, heard.id) == ("tool_result", "c1")
    assert "over the limit of 6291456 bytes" in heard.reason
    assert (talk.sent[-1]["id"], talk.sent[-1]["result"]) == (77, {"success": True})
    assert talk.result("c2", result="done")


def test_an_answer_over_the_limit_fails_its_question():
    talk = opened(requestUserInput=True)
    number = talk.call("c1", "ask_user", b'{"question":"Q?"}')["id"]
    (heard,) = talk.hear({"jsonrpc": "2.0", "id": number, "result": {"answer": "x" * 7 * 1024 * 1024}})
    assert (type(heard), heard.id) == (frames.Malformed, "c1")


@pytest.mark.parametrize("rest", [b"", b',"result":{"answer":', b',"result":[}'])
def test_an_answer_that_cannot_be_read_fails_its_question(rest: bytes):
    talk = opened(requestUserInput=True)
    number = talk.call("c1", "ask_user", b'{"question":"Q?"}')["id"]
    (heard,) = talk.hear(add_header(b'{"id":%d%b}' % (number, rest)))
    assert (type(heard), heard.id) == (frames.Malformed, "c1")


def test_a_request_over_the_limit_is_refused():
    talk = opened()
    (heard,) = talk.hear({"jsonrpc": "2.0", "id": 77, "method": "session.log", "params": {"message": "x" * 300_000}})
    assert (heard.type, heard.id) == ("session.log", None)
    assert (talk.sent[-1]["id"], talk.sent[-1]["error"]["code"]) == (77, INVALID_REQUEST)


def test_requests_without_an_answer_are_bounded():
    requests = SentRequests(lambda: UNIX_MS)
    for number in range(WAITING_LIMIT + 5):
        requests.send(SentRequest(Purpose.HOOK, f"h{number}"), b"{}")
    assert len(requests) == WAITING_LIMIT
    assert requests.take(5) is None
    assert requests.take(6) == SentRequest(Purpose.HOOK, "h5")


# --- whatever it says ---------------------------------------------------------------------------------------

METHODS = [
    "connect", "ping", "session.resume", TOOL_ANSWER, COMMAND_ANSWER, "session.log", "session.send",
    "session.permissions.handlePendingPermissionRequest", "nothing",
]  # fmt: skip
MESSAGES = st.one_of(
    st.fixed_dictionaries(
        {"method": st.sampled_from(METHODS)}, optional={"id": st.integers(0, 9) | json_values, "params": json_values}
    ),
    st.fixed_dictionaries({}, optional={"id": st.integers(0, 9), "result": json_values, "error": json_values}),
    st.fixed_dictionaries(
        {"method": st.sampled_from(METHODS), "id": st.integers(0, 9), "params": st.fixed_dictionaries(
            {}, optional={
                "sessionId": st.just("s-1"), "requestId": st.sampled_from(["c1", "k1", "x"]), "result": json_values,
                "error": json_values, "tools": json_values, "hooks": json_values,
            })}
    ),
    json_values,
)  # fmt: skip


def test_an_extension_that_joins_without_end_is_refused_unread():
    talk = Talk()
    for _ in range(JOINS_LIMIT):
        _, answer = talk.request("session.resume")
        assert answer["error"]["code"] == INVALID_PARAMS
    (remark,), refusal = talk.join(tool("more"))
    assert refusal["error"]["message"] == f"joinSession() was called more than {JOINS_LIMIT} times"
    assert isinstance(remark, Remarked)


@given(st.lists(MESSAGES, max_size=6), st.booleans())
def test_whatever_it_says_is_taken_and_each_request_is_answered_once(said: list[Any], has_joined: bool):
    talk = opened(requestUserInput=True, commands=[{"name": "go"}]) if has_joined else Talk()
    if has_joined:
        talk.call("c1")
        talk.keep(talk.session.invoke("k1", "go", ""))
        talk.call("c2", "ask_user", b'{"question":"Q?"}')
        talk.keep(talk.session.ping("7"))
    for each in said:
        before = len(talk.sent)
        talk.hear(add_header(json.dumps(each).encode()))
        is_request = isinstance(each, dict) and each.get("method") and type(each.get("id")) is int
        if is_request:
            answers = [sent for sent in talk.sent[before:] if "method" not in sent and sent["id"] == each["id"]]
            assert len(answers) <= 1
    talk.hear(b"noise\n", add_header(b'{"id":99,"method":"connect"}'))
    assert talk.sent[-1]["id"] == 99


def test_a_workspace_whose_name_is_no_unicode_is_told_as_text():
    talk = Talk(host=HostInfo("1", "a", "m", "/p\udcff", "s-1", "/w\udcff"))
    _, answer = talk.join(tool("t"))
    assert answer["result"]["workspacePath"] == "/w\ufffd"


def test_names_of_files_that_are_no_unicode_are_answered_as_text():
    talk = opened()
    (called,) = talk.hear(add_header(b'{"id":9,"method":"session.workspaces.listFiles"}'))
    (answer,) = talk.keep(talk.session.answer(called.key, ["a\udcff"]))
    assert answer["result"] == {"files": ["a\ufffd"]}
    (called,) = talk.hear(add_header(b'{"id":9,"method":"session.workspaces.listFiles"}'))
    (answer,) = talk.keep(talk.session.refuse(called.key, "no \udcff"))
    assert answer["error"]["message"].endswith("no \ufffd")
