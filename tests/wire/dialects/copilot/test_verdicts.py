"""A question about a tool call on its way through the hook and the permission handler."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw
from msgspec.structs import replace

from tests.support.any_json import json_values
from tests.support.copilot_verdicts import MS, SESSION, Talk, dumped, read, tool_call, tool_result
from wire import frames
from wire.dialects.base import GuardAnswer, HostInfo, Remarked, Setup
from wire.dialects.copilot.dialect import DIALECT
from wire.dialects.copilot.join import CopilotTool
from wire.dialects.verdict import ALLOW, GuardVerdict, VerdictKind

CALL = tool_call(command="ls")
ONCE = {"kind": "approve-once"}


def permission(sent: bytes) -> dict[str, Any]:
    """The `permissionRequest` of the one message, which asks for one."""
    message = read(sent)
    event = message["params"]["event"]
    assert (message["method"], message["params"]["sessionId"]) == ("session.event", SESSION)
    assert (event["type"], set(event["data"])) == ("permission.requested", {"requestId", "permissionRequest"})
    request: dict[str, Any] = event["data"]["permissionRequest"]
    return request


def after_hook(output: Any, result: Any, event: frames.Event = CALL) -> Any:
    """The messages about a call if the hook returns `output`, and then the permission handler `result`."""
    talk = Talk(asks_permission=True)
    messages, sent = talk.judge(event, output)
    assert messages == []
    (answer,), nothing = talk.permit(read(sent), result)
    assert nothing == b""
    assert answer.id == "c1"
    return answer


# --- who is asked -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        ({"permissionDecision": "deny"}, VerdictKind.DENY),
        ({"permissionDecision": "allow"}, VerdictKind.ALLOW),
        ({"permissionDecision": "allow", "modifiedArgs": {"command": "pwd"}}, VerdictKind.ALLOW),
    ],
)
@pytest.mark.parametrize("hooks", [None, {"preToolUse"}])
def test_a_hook_that_decides_leaves_the_handler_unasked(output: dict, kind: VerdictKind, hooks: set[str] | None):
    (response,), sent = Talk(hooks, asks_permission=True).judge(CALL, output)
    assert sent == b""
    assert isinstance(response, GuardAnswer)
    assert response.verdict.kind is kind


def test_without_a_decision_the_handler_is_asked_about_the_tool():
    messages, sent = Talk(asks_permission=True).judge(CALL, None)
    assert messages == []
    assert permission(sent)["kind"] == "shell"


def test_the_handler_is_asked_about_the_rewritten_call():
    _, sent = Talk(asks_permission=True).judge(CALL, {"modifiedArgs": {"command": "pwd"}})
    assert permission(sent)["fullCommandText"] == "pwd"


def test_a_hook_that_asks_asks_the_handler():
    _, sent = Talk(asks_permission=True).judge(CALL, {"permissionDecision": "ask", "permissionDecisionReason": "hm"})
    asked = permission(sent)
    assert (asked["kind"], asked["toolName"], asked["hookMessage"]) == ("hook", "bash", "hm")


def test_without_the_hook_the_handler_is_asked_at_once():
    sent = Talk({"sessionStart"}, asks_permission=True).ask(CALL)
    assert sent["params"]["event"]["data"]["permissionRequest"]["fullCommandText"] == "ls"


def test_a_tool_with_skip_permission_is_not_asked_about():
    own = CopilotTool("own", skip_permission=True)
    talk = Talk({"sessionStart"}, asks_permission=True, tools=(own,))
    sent = talk.ask(tool_call("own"))
    assert sent["method"] == "hooks.invoke"
    assert talk.answer(sent, {"result": {}}) == ([GuardAnswer("c1", ALLOW)], b"")
    asked = Talk(asks_permission=True, tools=(own,)).judge(tool_call("own"), {"permissionDecision": "ask"})[1]
    assert permission(asked)["kind"] == "hook"


def test_the_handler_is_asked_about_calls_only():
    messages, sent = Talk(asks_permission=True).judge(tool_result("x"), None)
    assert (messages, sent) == ([GuardAnswer("c1", ALLOW)], b"")


# --- what it says -------------------------------------------------------------------------------------------

OUTPUTS = {"modifiedArgs": {"command": "pwd"}, "additionalContext": "c"}
WITH_OUTPUTS = GuardAnswer(
    "c1", GuardVerdict(VerdictKind.ALLOW, modified_args=b'{"command":"pwd"}', additional_context="c")
)


@pytest.mark.parametrize("kind", ["approve-once", "approve-for-session", "approve-for-location", "approve-permanently"])
@pytest.mark.parametrize("hooks", [set(), {"preToolUse"}])
def test_the_handler_is_asked_about_each_call_whatever_it_approved(kind: str, hooks: set[str]):
    talk = Talk(hooks, asks_permission=True)
    for _ in range(2):
        question = talk.ask(CALL)
        if hooks:
            messages, sent = talk.answer(question, {"result": {}})
            assert messages == []
            question = read(sent)
        approval = {"kind": "commands", "commandIdentifiers": ["ls"]}
        (response,), _ = talk.permit(question, {"kind": kind, "approval": approval})
        assert response == GuardAnswer(response.id, ALLOW)


@pytest.mark.parametrize("decision", [{}, {"permissionDecision": "ask"}])
def test_what_the_handler_approves_has_the_outputs_of_the_hook(decision: dict):
    assert after_hook({**OUTPUTS, **decision}, ONCE) == WITH_OUTPUTS


@pytest.mark.parametrize("decision", [{}, {"permissionDecision": "ask"}])
def test_what_the_handler_rejects_is_blocked(decision: dict):
    response = after_hook({**OUTPUTS, **decision}, {"kind": "reject", "feedback": "use rg"})
    assert response == GuardAnswer("c1", GuardVerdict(VerdictKind.DENY, "use rg"))


def test_nobody_to_ask_is_a_question():
    response = after_hook(None, {"kind": "user-not-available"})
    assert response == GuardAnswer("c1", GuardVerdict(VerdictKind.ASK, "its permission handler could not ask a user"))
    response = after_hook(
        {"permissionDecision": "ask", "permissionDecisionReason": "hm"}, {"kind": "user-not-available"}
    )
    assert response == GuardAnswer("c1", GuardVerdict(VerdictKind.ASK, "hm"))


def test_no_opinion_leaves_what_the_hook_said():
    assert after_hook(OUTPUTS, {"kind": "no-opinion"}) == WITH_OUTPUTS
    response = after_hook({"permissionDecision": "ask"}, {"kind": "no-opinion"})
    assert response == GuardAnswer("c1", GuardVerdict(VerdictKind.ASK, "the extension wants a person to decide"))


def test_an_answer_that_is_not_understood_is_no_verdict():
    assert after_hook(OUTPUTS, {"kind": "approve-always"}) == frames.Malformed(
        "the kind of the permission result is 'approve-always', not a known one", "permission", "c1"
    )


def test_after_a_question_of_a_hook_it_is_a_block():
    response = after_hook({"permissionDecision": "ask", "permissionDecisionReason": "hm"}, {"kind": "approve-always"})
    said = "hm (the kind of the permission result is 'approve-always', not a known one)"
    assert response == GuardAnswer("c1", GuardVerdict(VerdictKind.DENY, said))


# --- answers to nothing -------------------------------------------------------------------------------------


def test_a_second_answer_is_ignored():
    talk = Talk({"sessionStart"}, asks_permission=True)
    sent = talk.ask(CALL)
    assert talk.permit(sent, ONCE)[0] == (GuardAnswer("c1", ALLOW),)
    (remark,), nothing = talk.permit(sent, {"kind": "reject"})
    assert isinstance(remark, Remarked)
    assert "which is not open" in remark.text
    assert nothing == b""


@pytest.mark.parametrize(
    "params", [UNSET, Raw(b"null"), Raw(b"["), Raw(b"[]"), Raw(b"{}"), Raw(b'{"requestId":7}'), Raw(b'"' * 300_000)]
)
def test_parameters_without_a_known_request_are_ignored(params: Any):
    talk = Talk(asks_permission=True)
    (remark,), _ = talk.verdicts.permission_answered(params)
    assert isinstance(remark, Remarked)


def test_questions_that_are_never_answered_do_not_pile_up():
    talk = Talk({"sessionStart"}, asks_permission=True)
    first = talk.ask(CALL)
    for _ in range(1_000):
        last = talk.ask(CALL)
    assert isinstance(talk.permit(first, ONCE)[0][0], Remarked)
    assert talk.permit(last, ONCE)[0] == (GuardAnswer("c1001", ALLOW),)


def test_a_hook_that_answers_after_a_thousand_others_gives_no_verdict():
    talk = Talk()
    first = talk.ask(CALL)
    for _ in range(1_000):
        talk.ask(CALL)
    (message,), _ = talk.answer(first, {"result": {}})
    assert isinstance(message, frames.Malformed)
    assert message.id == "c1"


def test_large_events_of_unanswered_questions_do_not_pile_up():
    talk = Talk()
    large = tool_result("x" * 12_000_000)
    first, _, last = talk.ask(large), talk.ask(large), talk.ask(large)
    assert isinstance(talk.answer(first, {"result": {}})[0][0], frames.Malformed)
    assert talk.answer(last, {"result": {}})[0] == [GuardAnswer("c3", ALLOW)]


# --- in a session -------------------------------------------------------------------------------------------


def test_a_session_tells_the_hook_of_a_result_the_arguments_of_its_call():
    session = DIALECT.session(Setup("x", "1", 1_000_000, unix_ms=lambda: MS))
    zot = {"hooks": ["postToolUse"], "missing": []}
    params = {"sessionId": SESSION, "hooks": True, "extensionInfo": {"zot": zot}}
    session.receive(dumped({"jsonrpc": "2.0", "id": 0, "method": "session.resume", "params": params}), 0.0)
    session.greet(HostInfo("1", "p", "m", "/repo", SESSION), "/e", "/d", 0.0)
    session.tell(tool_call("write", path="a", content="x"))
    asked = read(session.ask("c1", tool_result("ok", tool="write")))
    assert asked["params"]["input"]["toolArgs"] == {"path": "/repo/a", "file_text": "x"}
    answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"output": {"modifiedResult": "new"}}}
    (response,), sent = session.receive(dumped(answer), 0.0)
    result = frames.ModifiedResult([frames.ContentBlock("text", text="new")])
    assert response == GuardAnswer("c1", GuardVerdict(VerdictKind.ALLOW, modified_result=result))
    assert sent == b""


def test_a_hook_of_a_result_is_told_what_the_tool_got_in_the_end():
    """Guards behind this one may have rewritten what it judged."""
    talk = Talk({"preToolUse", "postToolUse"})
    talk.judge(tool_call(command="echo a"), None)
    asked = talk.ask(replace(tool_result("ok"), tool_args=Raw(b'{"command":"echo b"}')))
    assert asked["params"]["input"]["toolArgs"] == {"command": "echo b"}


# --- anything -----------------------------------------------------------------------------------------------

DECISIONS = st.sampled_from([None, "allow", "deny", "ask"])
KINDS = st.sampled_from(
    ["approve-once", "approve-x", "reject", "denied-x", "user-not-available", "no-opinion", "", "zot"]
)
RESULTS = json_values | st.fixed_dictionaries({"kind": KINDS}, optional={"feedback": json_values})


def is_json(value: Any) -> bool:
    """Whether JSON has all its numbers."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


@given(DECISIONS, RESULTS.filter(is_json))
def test_each_call_gets_one_verdict_and_no_refusal_is_lost(decision: str | None, result: Any):
    talk = Talk(asks_permission=True)
    messages, sent = talk.judge(CALL, {"permissionDecision": decision})
    if sent:
        messages, sent = talk.permit(read(sent), result)
    assert sent == b""
    (answer,) = messages
    assert isinstance(answer, GuardAnswer | frames.Malformed)
    assert answer.id == "c1"
    kind = VerdictKind.NO_VERDICT
    if isinstance(answer, GuardAnswer):
        kind = answer.verdict.kind
    says = result.get("kind") if isinstance(result, dict) else None
    if decision == "allow":
        assert kind is VerdictKind.ALLOW
    elif decision == "deny" or says in ("reject", "denied-x"):
        assert kind is VerdictKind.DENY
    elif says == "approve-once":
        assert kind is VerdictKind.ALLOW
    elif says == "user-not-available":
        assert kind is VerdictKind.ASK
    elif decision == "ask":
        assert kind in (VerdictKind.ASK, VerdictKind.DENY)
    elif says == "no-opinion":
        assert answer == GuardAnswer("c1", ALLOW)
    else:
        assert kind is VerdictKind.NO_VERDICT


def test_a_plain_allow_is_the_hosts_plain_allow():
    (response,), _ = Talk().judge(CALL, None)
    assert isinstance(response, GuardAnswer)
    assert response.verdict is ALLOW


@given(json_values)
def test_any_parameters_of_an_answer_are_read(value: Any):
    messages, sent = Talk().verdicts.permission_answered(Raw(json.dumps(value).encode()))
    assert [type(message) for message in messages] == [Remarked]
    assert sent == b""


def test_each_permission_request_has_an_id_of_its_own():
    talk = Talk({"sessionStart"}, asks_permission=True)
    ids = {talk.ask(CALL)["params"]["event"]["data"]["requestId"] for _ in range(3)}
    assert len(ids) == 3
