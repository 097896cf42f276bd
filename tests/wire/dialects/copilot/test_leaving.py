"""An extension that leaves the session, or that tells of work that its handlers have begun."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from tests.support.copilot_talk import Talk, opened
from wire import frames
from wire.dialects.base import UnsendableError
from wire.dialects.verdict import VerdictKind

TOOL_ANSWER = "session.tools.handlePendingToolCall"


def left(talk: Talk, method: str = "session.detach") -> list[Any]:
    """Returns the messages that the host takes as the extension leaves, and has read that it has."""
    heard, answer = talk.request(method)
    assert answer["result"] == {"success": True}
    asked = [each["id"] for each in talk.sent if each.get("method") == "zot.left"]
    return heard + talk.hear(*({"id": number, "error": {"code": -32601, "message": "no"}} for number in asked))


def test_calls_of_who_leaves_end_at_once():
    talk = opened(commands=[{"name": "go"}])
    talk.call("c1")
    talk.keep(talk.session.invoke("k1", "go", ""))
    _, gone, *ends = left(talk)
    assert gone == frames.UnregisterTool("t")
    reason = "the extension has left the session"
    assert ends == [
        frames.ToolResult("c1", [frames.ContentBlock("text", text=reason)], is_error=True),
        frames.CommandResponse("k1", error=reason),
    ]
    with pytest.raises(UnsendableError, match="left the session"):
        talk.call("c2")
    with pytest.raises(UnsendableError, match="left the session"):
        talk.session.invoke("k2", "go", "")
    assert talk.join()[1]["error"]["message"].startswith("joinSession() was called before")


def test_what_it_has_said_before_it_reads_that_it_has_left_counts():
    talk = opened()
    talk.call("c1")
    talk.request("session.detach")
    assert talk.result("c1", result="done") == [frames.ToolResult("c1", [frames.ContentBlock("text", "done")])]
    (asked,) = [each["id"] for each in talk.sent if each.get("method") == "zot.left"]
    assert talk.hear({"id": asked, "result": {}}) == []


def test_with_older_sdks_calls_end_as_ever():
    talk = opened()
    talk.call("c1")
    assert len(left(talk, "session.destroy")) == 2
    assert talk.result("c1", result="done") == [frames.ToolResult("c1", [frames.ContentBlock("text", "done")])]


def test_the_permission_handler_of_who_has_left_gives_no_verdict():
    talk = opened(requestPermission=True, hooks=True, extensionInfo={"zot": {"hooks": []}})
    event = frames.Event("tool_call", tool_id="t1", tool_name="bash", tool_args=Raw(b'{"command":"ls"}'))
    (asked,) = talk.keep(talk.session.ask("q1", event))
    assert asked["params"]["event"]["type"] == "permission.requested"
    assert [each.id for each in left(talk) if isinstance(each, frames.Malformed)] == ["q1"]
    (asked,) = talk.keep(talk.session.ask("q2", event))
    assert asked["method"] == "hooks.invoke"
    (lost,) = talk.hear({"id": asked["id"], "result": {}})
    assert (type(lost), lost.id) == (frames.Malformed, "q2")
    assert "its permission handler is no longer asked" in str(lost)
    (asked,) = talk.keep(talk.session.ask("q3", event))
    (denied,) = talk.hear({"id": asked["id"], "result": {"output": {"permissionDecision": "ask"}}})
    assert denied.verdict.kind is VerdictKind.DENY


@pytest.mark.parametrize(
    ("said", "is_working"),
    [
        ([{"handlers": 1}], True), ([{"handlers": 2}, {"handlers": 0}], False), ([{"handlers": "many"}], False),
        ([None], False), ([[]], False),
    ],
)  # fmt: skip
def test_it_says_whether_handlers_of_events_have_ended(said: list[Any], is_working: bool):
    talk = opened()
    assert not talk.session.is_working
    for params in said:
        assert talk.hear({"method": "zot.working", "params": params}) == []
    assert talk.session.is_working is is_working


def test_it_still_answers_pings_and_may_speak():
    talk = opened()
    left(talk)
    (ping,) = talk.keep(talk.session.ping("5"))
    assert talk.hear({"id": ping["id"], "result": {}}) == [frames.Pong("5")]
    assert talk.request("session.log", message="bye")[1]["result"]["eventId"]
