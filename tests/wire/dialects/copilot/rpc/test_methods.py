"""Requests of an extension of its own accord, and their answers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from tests.support.copilot_methods import HOST, Talk, error_of, read, result_of
from tests.support.copilot_shapes import ANSWERS
from wire import frames
from wire.dialects import host_calls
from wire.dialects.base import HostCalled, HostInfo, Instructions, Remarked, Setup
from wire.dialects.copilot.join import CopilotTool, Join
from wire.dialects.copilot.rpc.methods import OPEN_LIMIT, REMARKS_LIMIT
from wire.dialects.copilot.session import CopilotSession

# --- log ----------------------------------------------------------------------------------------------------


def test_a_log_message_is_shown_and_kept():
    (note, line), answer = Talk().take("session.log", message="Extension ready")
    assert note == frames.Notify("info", "Extension ready")
    assert line == frames.Log("Extension ready", "info")
    assert result_of("session.log", answer)["eventId"]


def test_an_ephemeral_one_is_shown_and_not_kept():
    messages, _ = Talk().take("session.log", message="Processing...", ephemeral=True)
    assert messages == [frames.Notify("info", "Processing...")]


@pytest.mark.parametrize(
    ("level", "ours"),
    [("info", "info"), ("warning", "warn"), ("error", "error"), ("shout", "info"), (None, "info"), ("warn", "warn")],
)
def test_it_has_a_level(level: str | None, ours: str):
    (note, line), _ = Talk().take("session.log", message="x", level=level)
    assert (note.level, line.level) == (ours, ours)


def test_its_tip_and_its_address_follow_it():
    (note, line), _ = Talk().take("session.log", message="Quota low", tip="Wait.", url="https://e.x", type="model")
    assert note.message == "Quota low Wait. https://e.x"
    assert line.fields == {"type": msgspec.Raw(b'"model"')}


@pytest.mark.parametrize(("message", "shown"), [({"files": 2}, '{"files":2}'), (42, "42"), ([], "[]"), ("", None)])
def test_a_message_that_is_no_text_is_shown_as_json(message: Any, shown: str | None):
    messages, answer = Talk().take("session.log", message=message, level=5, ephemeral="yes", tip=[], url=1, type={})
    assert messages == ([] if shown is None else [frames.Notify("info", shown)])
    assert result_of("session.log", answer)["eventId"]


def test_without_a_message_nothing_is_shown():
    messages, answer = Talk().take("session.log")
    assert messages == []
    assert result_of("session.log", answer)["eventId"]


def test_half_a_character_does_not_lose_the_message():
    messages, reply = Talk().methods.take("session.log", b"7", msgspec.Raw(rb'{"message":"cut \ud83d"}'))
    assert messages[0] == frames.Notify("info", "cut \ufffd")
    assert result_of("session.log", read(reply))


# --- wrong parameters ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("session.send", {}, "prompt is required"),
        ("session.send", {"prompt": 3}, "prompt: expected str, got int"),
        ("session.model.switchTo", {}, "modelId is required"),
        ("session.model.switchTo", {"modelId": " "}, "modelId: it is empty"),
        ("session.name.set", {"name": ""}, "name: it is empty"),
        ("session.plan.update", {"content": ["x"]}, "content: expected str, got array"),
        ("session.workspaces.readFile", {}, "path is required"),
        ("session.workspaces.createFile", {"path": "a"}, "content is required"),
        ("session.eventLog.registerInterest", {}, "eventType is required"),
        ("session.eventLog.releaseInterest", {}, "handle is required"),
    ],
)
def test_wrong_parameters_are_an_error_that_names_the_member(method: str, params: Any, said: str):
    messages, answer = Talk().take(method, **params)
    assert error_of(answer) == (-32602, f"{method}: {said}")
    assert messages == [Remarked(f"wrong parameters of {method}: {said}")]


@pytest.mark.parametrize("method", sorted(ANSWERS))
@pytest.mark.parametrize("params", [b"[]", b"3", b"null", b'"x"', b"{" * 2000, b'{"a":' * 2000 + b"1" + b"}" * 2000])
def test_parameters_of_any_kind_are_answered(method: str, params: bytes):
    _, reply = Talk().methods.take(method, b"7", msgspec.Raw(params))
    if reply:
        answer = read(reply)
        assert ("result" in answer) or error_of(answer)[0] == -32602


@pytest.mark.parametrize("params", [UNSET, msgspec.Raw(b"null"), msgspec.Raw(b" {} ")])
def test_no_parameters_are_enough_where_none_is_required(params: Any):
    (call,), _ = Talk().methods.take("session.name.get", b"7", params)
    assert call == HostCalled("1", host_calls.GetSessionName())
    _, reply = Talk().methods.take("session.options.update", b"7", params)
    assert read(reply)["result"] == {"success": True}


# --- answered at once ---------------------------------------------------------------------------------------


def test_the_messages_are_the_events_that_were_told():
    talk = Talk()
    assert result_of("session.getMessages", talk.take("session.getMessages")[1]) == {"events": []}
    talk.events.event(frames.Event("user_prompt", text="Hi"))
    messages, answer = talk.take("session.getMessages")
    assert messages == []
    _, event = result_of("session.getMessages", answer)["events"]
    assert (event["type"], event["data"]["content"]) == ("user.message", "Hi")


def test_the_snapshot_says_which_session_it_is_and_where():
    talk = Talk()
    (_, answer), epoch = talk.take("session.metadata.snapshot"), "1970-01-01T00:00:00.000Z"
    assert result_of("session.metadata.snapshot", answer) == {
        "sessionId": "S", "startTime": epoch, "modifiedTime": epoch, "isRemote": False, "alreadyInUse": False,
        "workspacePath": "/work/S", "workingDirectory": "/repo", "currentMode": "interactive", "sessionLimits": None,
        "selectedModel": "m",
    }  # fmt: skip
    talk.events.event(frames.Event("usage", model="other"))
    _, answer = talk.take("session.metadata.snapshot")
    assert result_of("session.metadata.snapshot", answer)["selectedModel"] == "other"
    _, answer = Talk(HostInfo("1", "", "", "/repo")).take("session.metadata.snapshot")
    assert answer["result"]["workspacePath"] is None
    assert "selectedModel" not in answer["result"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session.options.update", {}),
        ("session.eventLog.releaseInterest", {"handle": "h"}),
    ],
)
def test_what_changes_nothing_here_succeeds(method: str, params: dict[str, Any]):
    messages, answer = Talk().take(method, **params)
    assert messages == []
    assert result_of(method, answer) == {"success": True}


def test_who_leaves_the_session_adds_nothing_to_the_system_prompt_any_more():
    messages, _ = Talk(joined=Join("S", instructions="Be kind.")).take("session.detach")
    assert messages[-1] == Instructions("")


@pytest.mark.parametrize("method", ["session.detach", "session.destroy"])
def test_who_leaves_the_session_has_no_tools_any_more(method: str):
    joined = Join("S", {"own": CopilotTool("own")}, answers_user=True)
    talk = Talk(joined=joined)
    (said, *gone), answer = talk.take(method)
    assert said == Remarked("it has left the session: its tools are gone")
    assert gone == [frames.UnregisterTool("own"), frames.UnregisterTool("ask_user")]
    assert result_of(method, answer) == {"success": True}


def test_an_interest_has_a_handle_of_its_own():
    talk = Talk()
    method = "session.eventLog.registerInterest"
    handles = [result_of(method, talk.take(method, eventType="x")[1])["handle"] for _ in range(2)]
    assert len(set(handles)) == 2


def test_options_that_are_changed_in_vain_are_remarked_once():
    talk = Talk()
    messages, _ = talk.take("session.options.update", coauthorEnabled=True)
    assert messages == [Remarked("session.options.update: coauthorEnabled has no effect here")]
    assert talk.take("session.options.update", coauthorEnabled=True)[0] == []
    cut = msgspec.Raw(rb'{"\ud83d":1}')
    assert result_of("session.options.update", read(talk.methods.take("session.options.update", b"7", cut)[1]))


# --- unknown ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["session.mode.get", "session.factory.run", "tools.list", "session.", ""])
def test_an_unknown_method_is_refused_by_name_and_remarked_once(method: str):
    talk = Talk()
    messages, answer = talk.take(method)
    assert error_of(answer) == (-32601, f"Unhandled method {method}")
    assert messages == [Remarked(f"asks for {method!r}, which this host does not offer; refused")]
    messages, answer = talk.take(method)
    assert error_of(answer)[0] == -32601
    assert messages == []


def test_a_long_or_wild_name_is_cut():
    _, message = error_of(Talk().take("x\n\x1b[31m" + "y" * 1000)[1])
    assert message.startswith("Unhandled method x y")
    assert len(message) < 120


def test_names_of_unknown_methods_are_remembered_up_to_a_limit():
    talk = Talk()
    remarks = [talk.take(f"m{number}")[0] for number in range(REMARKS_LIMIT + 10)]
    assert sum(map(len, remarks)) == REMARKS_LIMIT


@pytest.mark.parametrize("method", ["session.log", "session.send", "session.nothing", "session.abort"])
def test_a_notification_gets_no_answer(method: str):
    talk = Talk()
    params = msgspec.Raw(b'{"message":"x","prompt":"y"}')
    messages, reply = talk.methods.take(method, b"", params)
    assert reply == b""
    assert messages
    if isinstance(messages[-1], HostCalled):
        assert talk.methods.answer(messages[-1].key, None) == b""


# --- answers ------------------------------------------------------------------------------------------------


def test_an_id_goes_back_as_it_was_written():
    talk = Talk()
    messages, _ = talk.methods.take("session.name.set", b'"a b"', msgspec.Raw(b'{"name":"n"}'))
    assert read(talk.methods.answer(messages[0].key, None)) == {"jsonrpc": "2.0", "id": "a b", "result": None}  # type: ignore[union-attr]


def test_each_call_is_answered_once():
    talk = Talk()
    call = talk.called("session.abort")
    assert talk.methods.answer(call.key, None)
    assert talk.methods.answer(call.key, None) == b""
    assert talk.methods.refuse(call.key, "late") == b""
    assert talk.methods.answer("", None) == b""


def test_calls_are_answered_in_any_order():
    talk = Talk()
    keys = []
    for number in range(3):
        messages, _ = talk.methods.take("session.name.get", b"%d" % number, msgspec.Raw(b"{}"))
        keys.append(messages[0].key)  # type: ignore[union-attr]
    for number in (2, 0, 1):
        answer = read(talk.methods.answer(keys[number], str(number)))
        assert (answer["id"], answer["result"]) == (number, {"name": str(number)})


def test_too_many_open_calls_are_refused_until_one_is_answered():
    talk = Talk()
    calls = [talk.called("session.send", prompt="x") for _ in range(OPEN_LIMIT)]
    messages, answer = talk.take("session.send", prompt="x")
    assert messages == []
    code, message = error_of(answer)
    assert code == -32000
    assert str(OPEN_LIMIT) in message
    result_of("session.log", talk.take("session.log", message="still heard")[1])
    talk.methods.answer(calls[0].key, None)
    assert talk.called("session.send", prompt="x")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
MEMBERS = ("prompt", "attachments", "message", "level", "path", "content", "modelId", "name", "mode", "type", "handle")


@given(
    method=st.sampled_from(sorted(ANSWERS)) | st.text(max_size=20),
    params=st.dictionaries(st.sampled_from(MEMBERS), json_values) | json_values,
)
def test_any_request_gets_one_answer(method: str, params: Any):
    talk = Talk()
    messages, reply = talk.methods.take(method, b"7", msgspec.Raw(msgspec.json.encode(params)))
    calls = [message for message in messages if isinstance(message, HostCalled)]
    assert len(calls) + bool(reply) == 1
    for call in calls:
        assert talk.methods.refuse(call.key, "no")


# --- in a session -------------------------------------------------------------------------------------------


def test_a_session_passes_on_what_its_extension_wants_and_what_has_happened():
    session = CopilotSession(Setup("x", "1", 1 << 20))
    session.receive(b'{"id":0,"method":"session.resume","params":{"sessionId":"S"}}', 0.0)
    session.greet(HOST, "/x", "/data", 0.0)
    sent = b'{"id":1,"method":"session.send","params":{"sessionId":"S","prompt":"Hi"}}'
    (call,), reply = session.receive(sent, 0.0)
    assert call == HostCalled("1", host_calls.SendPrompt("Hi"))
    assert reply == b""
    assert read(session.answer("1", None))["result"]["messageId"]
    assert b'"user.message"' in session.tell(frames.Event("user_prompt", text="Hi", sender="x"))
    _, reply = session.receive(b'{"id":2,"method":"session.getMessages","params":{"sessionId":"S"}}', 0.0)
    assert [event["type"] for event in read(reply)["result"]["events"]] == ["session.start", "user.message"]
    _, reply = session.receive(b'{"id":3,"method":"session.mode.get","params":{"sessionId":"S"}}', 0.0)
    assert error_of(read(reply)) == (-32601, "Unhandled method session.mode.get")
