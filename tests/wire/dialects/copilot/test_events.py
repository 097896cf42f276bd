"""Happenings of a run, as events of the extension's session."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.copilot_shapes import EVENTS, Event
from wire import frames
from wire.dialects.base import HostInfo
from wire.dialects.copilot.events import KEPT_BYTES, KEPT_EVENTS, Events
from wire.dialects.copilot.join import EVENTS as OBSERVED
from wire.dialects.copilot.join import CopilotTool, Join
from wire.dialects.copilot.requests import SentRequests

AT = 1_700_000_000_123
"""2023-11-14T22:13:20.123Z"""


HOST = HostInfo("1.2", "p", "model-a", "/repo", session_id="S")


def bodies(framed: bytes) -> list[Any]:
    """The JSON of messages with headers."""
    found = []
    while framed:
        head, _, rest = framed.partition(b"\r\n\r\n")
        size = int(head.removeprefix(b"Content-Length: "))
        found.append(msgspec.json.decode(rest[:size]))
        framed = rest[size:]
    return found


class Talk:
    def __init__(self, **joined: Any) -> None:
        requests = SentRequests(lambda: AT)
        requests.session_id = b'"S"'
        self.events = Events(Join("S", **joined), requests, lambda: AT, HOST)

    def told(self, event: str, **fields: Any) -> list[tuple[str, Any]]:
        """The types and data of what an event becomes. All of it has the shapes of the SDK."""
        told = []
        for body in bodies(self.events.event(frames.Event(event, **fields))):
            assert body.keys() == {"jsonrpc", "method", "params"}
            assert (body["method"], body["params"]["sessionId"]) == ("session.event", "S")
            envelope = msgspec.convert(body["params"]["event"] | {"data": msgspec.Raw(b"{}")}, Event)
            assert envelope.timestamp == "2023-11-14T22:13:20.123Z"
            data = body["params"]["event"]["data"]
            msgspec.json.decode(msgspec.json.encode(data), type=EVENTS[envelope.type])
            told.append((envelope.type, data))
        return told

    def one(self, event: str, **fields: Any) -> Any:
        """The data of the last one."""
        return self.told(event, **fields)[-1][1]


def text(*said: str) -> list[frames.ContentBlock]:
    return [frames.ContentBlock("text", text=part) for part in said]


# --- the guide's table --------------------------------------------------------------------------------------


def test_an_assistant_message_has_its_content_and_an_id_of_its_own():
    talk = Talk()
    (first,) = talk.told("assistant_message", text="Four.")
    assert first == (
        "assistant.message",
        {"messageId": first[1]["messageId"], "content": "Four.", "toolRequests": [], "turnId": "0"},
    )
    second = talk.one("assistant_message")
    assert second["content"] == ""
    assert second["messageId"] != first[1]["messageId"]


def test_a_tool_call_starts_with_its_id_its_name_and_its_arguments():
    talk = Talk()
    talk.told("turn_start", step=3)
    started = talk.told("tool_call", tool_id="c1", tool_name="bash", tool_args=msgspec.Raw(b'{"command":"ls"}'))[-1]
    assert started == (
        "tool.execution_start",
        {"toolCallId": "c1", "toolName": "bash", "arguments": {"command": "ls"}, "turnId": "3"},
    )


def test_a_built_in_tool_has_copilots_name_and_arguments():
    args = msgspec.Raw(b'{"path":"a.py","content":"x"}')
    started = Talk().one("tool_call", tool_id="c1", tool_name="write", tool_args=args)
    assert (started["toolName"], started["arguments"]) == ("create", {"path": "/repo/a.py", "file_text": "x"})
    done = Talk().one("tool_result", tool_id="c1", tool_name="write", content=text("ok"))
    assert done["toolName"] == "create"


@pytest.mark.parametrize("args", [msgspec.UNSET, msgspec.Raw(b"null")])
def test_arguments_that_are_no_json_show_as_none(args: Any):
    assert Talk().one("tool_call", tool_id="c1", tool_name="t", tool_args=args)["arguments"] == {}


def test_a_result_has_its_call_its_tool_and_its_text():
    done = Talk().told("tool_result", tool_id="c1", tool_name="bash", is_error=False, content=text("a", "b"))
    assert done == [
        (
            "tool.execution_complete",
            {"toolCallId": "c1", "toolName": "bash", "success": True, "turnId": "0", "result": {"content": "a\nb"}},
        )
    ]


def test_a_failure_has_its_error_in_place_of_a_result():
    failed = Talk().one("tool_result", tool_id="c1", tool_name="bash", is_error=True, content=text("exit code 1"))
    assert (failed["success"], failed["error"]) == (False, {"message": "exit code 1"})
    assert "result" not in failed
    assert Talk().one("tool_result", tool_id="c1", tool_name="t", is_error=True)["error"]["message"]


def test_images_of_a_result_are_among_its_contents():
    content = [*text("a plot"), frames.ContentBlock("image", mime_type="image/png", data="aGk=")]
    result = Talk().one("tool_result", tool_id="c1", tool_name="plot", content=content)["result"]
    assert result == {
        "content": "a plot",
        "contents": [
            {"type": "text", "text": "a plot"},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        ],
    }


def test_a_prompt_has_its_content_its_attachments_and_its_source():
    assert Talk().told("user_prompt", text="Hi")[-1] == (
        "user.message", {"content": "Hi", "attachments": [], "source": "user"},
    )  # fmt: skip
    sent = Talk().one("user_prompt", text="Review", files=["./src/index.ts", "/tmp/a b/", "é\udcff"], sender="linter")
    assert sent["source"] == "linter"
    assert sent["attachments"] == [
        {"type": "file", "path": "./src/index.ts", "displayName": "index.ts"},
        {"type": "file", "path": "/tmp/a b/", "displayName": "a b"},
        {"type": "file", "path": "é\ufffd", "displayName": "é\ufffd"},
    ]


def test_the_first_prompt_comes_behind_the_start_of_the_session():
    talk = Talk()
    (kind, start), (then, _) = talk.told("user_prompt", text="Hi")
    assert (kind, then) == ("session.start", "user.message")
    assert start == {
        "sessionId": "S", "version": 1, "producer": "zot", "copilotVersion": "1.2",
        "startTime": "2023-11-14T22:13:20.123Z", "selectedModel": "model-a", "context": {"cwd": "/repo"},
    }  # fmt: skip
    assert [kind for kind, _ in talk.told("user_prompt", text="again")] == ["user.message"]


USED = frames.Tokens(input=5, output=7, cache_read=20, cache_write=3)


def test_usage_counts_what_was_cached_among_the_input():
    talk = Talk()
    assert talk.told("usage", model="model-a", tokens=USED) == [
        (
            "assistant.usage",
            {
                "model": "model-a", "inputTokens": 28, "outputTokens": 7, "cacheReadTokens": 20, "cacheWriteTokens": 3,
            },
        )
    ]  # fmt: skip
    assert kept(talk) == []


def test_what_was_thought_is_told_if_it_was_counted():
    tokens = frames.Tokens(input=5, output=7, cache_read=0, cache_write=0, reasoning=0)
    ((_, used),) = Talk().told("usage", model="model-a", tokens=tokens)
    assert used["reasoningTokens"] == 0


def test_another_model_is_told_with_its_first_usage():
    talk = Talk()
    told = [talk.told("usage", model=model, tokens=USED)[0] for model in ("model-a", "model-b", "model-b", "model-a")]
    assert [kind for kind, _ in told] == [
        "assistant.usage", "session.model_change", "assistant.usage", "session.model_change",
    ]  # fmt: skip
    assert told[1][1] == {"previousModel": "model-a", "newModel": "model-b"}


def test_a_turn_that_is_aborted_says_so():
    talk = Talk()
    assert [kind for kind, _ in talk.told("turn_end", stop="end_turn")] == ["assistant.turn_end"]
    assert talk.told("turn_end", stop="aborted") == [
        ("abort", {"reason": "user_initiated"}), ("assistant.turn_end", {"turnId": "0"}),
    ]  # fmt: skip


def test_idle_has_its_background_tasks_and_says_whether_the_prompt_was_aborted():
    talk = Talk()
    nothing = {"agents": [], "shells": []}
    talk.told("turn_end", stop="aborted")
    assert talk.told("idle") == [("session.idle", {"aborted": True, "backgroundTasks": nothing})]
    talk.told("user_prompt", text="next")
    assert talk.one("idle") == {"aborted": False, "backgroundTasks": nothing}
    talk.told("turn_end", stop="aborted")
    talk.told("turn_end", stop="end")
    assert talk.one("idle")["aborted"] is False


@pytest.mark.parametrize(
    ("context", "kind"),
    [
        ("model_call", "query"),
        ("tool_execution", "tool_execution"),
        ("system", "system"),
        ("user_input", "user_input"),
        (None, "query"),
    ],
)
def test_an_error_has_its_type_its_message_and_a_stack(context: str | None, kind: str):
    told = Talk().told("error", error="overloaded", error_context=context)
    assert told == [
        ("session.error", {"errorType": kind, "message": "overloaded", "stack": "Error: overloaded"}),
    ]


def test_a_permission_that_the_host_has_is_told_before_the_call():
    args = msgspec.Raw(b'{"command":"ls"}')
    (permission, data), (started, _) = Talk().told("tool_call", tool_id="c1", tool_name="bash", tool_args=args)
    assert (permission, started) == ("permission.requested", "tool.execution_start")
    assert data["requestId"]
    assert data["resolvedByHook"] is True
    assert (data["permissionRequest"]["kind"], data["permissionRequest"]["toolCallId"]) == ("shell", "c1")


@pytest.mark.parametrize(
    ("name", "args", "member"),
    [
        ("write", {"path": "a", "content": "x" * 100_000}, "newFileContents"),
        ("bash", {"command": "echo " * 20_000}, "fullCommandText"),
        ("mine", {"text": "x" * 100_000}, "args"),
    ],
)
def test_long_arguments_are_told_once(name: str, args: Any, member: str):
    raw = msgspec.Raw(msgspec.json.encode(args))
    (_, permission), (_, started) = Talk().told("tool_call", tool_id="c1", tool_name=name, tool_args=raw)
    assert len(msgspec.json.encode(started)) > 100_000
    assert len(msgspec.json.encode(permission)) < 5_000
    assert member in permission["permissionRequest"]
    assert permission["permissionRequest"]["toolCallId"] == "c1"


def test_no_permission_is_told_of_where_the_extension_is_asked_or_its_tool_needs_none():
    call = {"tool_id": "c1", "tool_args": msgspec.Raw(b"{}")}
    for talk, name in (
        (Talk(asks_permission=True), "bash"),
        (Talk(tools={"safe": CopilotTool("safe", skip_permission=True)}), "safe"),
    ):
        assert [kind for kind, _ in talk.told("tool_call", tool_name=name, **call)] == ["tool.execution_start"]


@pytest.mark.parametrize(
    ("reason", "kind", "why"),
    [
        ("complete", "routine", None),
        ("abort", "routine", None),
        ("user_exit", "routine", None),
        (None, "routine", None),
        ("error", "error", "overloaded"),
        ("timeout", "error", "overloaded"),
    ],
)
def test_the_end_has_its_type_and_no_premium_requests(reason: Any, kind: str, why: str | None):
    error = "overloaded" if why else None
    ((told, data),) = Talk().told("session_end", reason=reason, error=error)
    assert (told, data["shutdownType"], data.get("errorReason")) == ("session.shutdown", kind, why)
    assert (data["totalPremiumRequests"], data["totalApiDurationMs"], data["sessionStartTime"]) == (0, 0, AT)


def test_an_end_after_an_error_without_words_says_which_kind_it_is():
    assert Talk().one("session_end", reason="timeout")["errorReason"] == "timeout"


# --- others -------------------------------------------------------------------------------------------------


def test_a_turn_has_its_number():
    talk = Talk()
    assert talk.told("turn_start", step=2) == [("assistant.turn_start", {"turnId": "2"})]
    assert talk.one("assistant_message", text="x")["turnId"] == "2"
    assert talk.told("turn_end", stop="end") == [("assistant.turn_end", {"turnId": "2"})]


@pytest.mark.parametrize("event", ["session_start", "panel", ""])
def test_an_event_without_a_translation_is_not_told(event: str):
    assert Talk().told(event) == []


def test_all_that_is_subscribed_to_is_translated():
    assert all(Talk().told(event) for event in OBSERVED)


def test_each_event_follows_the_last_one_that_stays():
    talk = Talk()
    talk.told("user_prompt", text="the first, behind the start")
    (_, first) = kept(talk)
    told = [
        bodies(talk.events.event(frames.Event(event)))[0]["params"]["event"]
        for event in ("user_prompt", "idle", "user_prompt", "assistant_message")
    ]
    prompt, _, second, _ = told
    assert [event.get("ephemeral") for event in told] == [None, True, None, None]
    assert [event["parentId"] for event in told] == [first.id, prompt["id"], prompt["id"], second["id"]]
    assert len({event["id"] for event in told}) == 4
    assert all(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", event["id"]) for event in told)


# --- what is kept -------------------------------------------------------------------------------------------


def kept(talk: Talk) -> list[Event]:
    return msgspec.json.decode(talk.events.kept, type=list[Event])


def test_events_that_stay_are_kept_as_they_were_told():
    talk = Talk()
    assert kept(talk) == []
    talk.told("user_prompt", text="Hi")
    talk.told("idle")
    talk.told("assistant_message", text="Hello")
    assert [event.type for event in kept(talk)] == ["session.start", "user.message", "assistant.message"]
    assert msgspec.json.decode(kept(talk)[-1].data)["content"] == "Hello"


def test_the_newest_events_are_kept():
    talk = Talk()
    for number in range(KEPT_EVENTS + 5):
        talk.told("user_prompt", text=str(number))
    assert [msgspec.json.decode(event.data)["content"] for event in kept(talk)] == [
        str(number) for number in range(5, KEPT_EVENTS + 5)
    ]


def test_what_is_kept_is_bounded_in_bytes():
    talk = Talk()
    talk.told("user_prompt", text="first")
    talk.told("user_prompt", text="x" * (KEPT_BYTES + 1))
    assert [event.type for event in kept(talk)] == ["session.start", "user.message"]
    for _ in range(5):
        talk.told("user_prompt", text="x" * (KEPT_BYTES // 3))
    assert len(kept(talk)) == 2
    assert len(talk.events.kept) <= KEPT_BYTES + KEPT_EVENTS + 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(
    event=st.sampled_from(OBSERVED),
    name=st.sampled_from(["bash", "read", "write", "edit", "mine", ""]) | st.none(),
    args=json_values,
    said=st.text() | st.none(),
    content=st.none() | st.lists(st.builds(frames.ContentBlock, st.text(), st.text() | st.none())),
)
def test_any_event_can_be_told(event: str, name: str | None, args: Any, said: str | None, content: Any):
    raw = msgspec.Raw(msgspec.json.encode(args))
    framed = Talk().events.event(
        frames.Event(event, tool_name=name, tool_args=raw, text=said, error=said, content=content, stop=said)
    )
    assert bodies(framed)
