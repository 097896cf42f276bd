"""What an extension asks of its host of its own accord."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.copilot_shapes import ANSWERS
from wire import frames
from wire.dialects import host_calls
from wire.dialects.base import HostCalled, HostInfo, Remarked
from wire.dialects.copilot.events import Events
from wire.dialects.copilot.joining import Joined
from wire.dialects.copilot.methods import LONG, OPEN_LIMIT, REMARKS_LIMIT, Methods
from wire.dialects.copilot.requests import Requests
from wire.dialects.copilot.rpc_answers import METHODS

HOST = HostInfo("1", "p", "m", "/repo", session_id="S", workspace="/work/S")


class Talk:
    def __init__(self, host: HostInfo = HOST) -> None:
        joined, requests = Joined("S"), Requests(lambda: 0)
        self.events = Events(joined, requests, lambda: 0)
        self.methods = Methods(joined, requests, host, self.events)

    def take(self, method: str, **params: Any) -> tuple[list[Any], Any]:
        """The messages, and the answer that is given at once; None if there is none."""
        params = {"sessionId": "S", **params}
        messages, reply = self.methods.take(method, b"7", msgspec.Raw(msgspec.json.encode(params)))
        return list(messages), read(reply)

    def called(self, method: str, **params: Any) -> HostCalled:
        """The only message: a call of the host."""
        (call,), reply = self.take(method, **params)
        assert isinstance(call, HostCalled)
        assert reply is None
        return call

    def answered(self, method: str, value: Any, **params: Any) -> Any:
        """The result of a call that the host answers with this value. It has the SDK's shape."""
        answer = read(self.methods.answer(self.called(method, **params).key, value))
        return result_of(method, answer)


def read(framed: bytes) -> Any:
    if not framed:
        return None
    head, _, body = framed.partition(b"\r\n\r\n")
    assert head == b"Content-Length: %d" % len(body)
    return msgspec.json.decode(body)


def result_of(method: str, answer: Any) -> Any:
    assert answer.keys() == {"jsonrpc", "id", "result"}, answer
    assert answer["id"] == 7
    msgspec.json.decode(msgspec.json.encode(answer["result"]), type=ANSWERS[method])
    return answer["result"]


def error_of(answer: Any) -> tuple[int, str]:
    assert answer.keys() == {"jsonrpc", "id", "error"}, answer
    return answer["error"]["code"], answer["error"]["message"]


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


def test_half_a_character_does_not_lose_the_message():
    messages, reply = Talk().methods.take("session.log", b"7", msgspec.Raw(rb'{"message":"cut \ud83d"}'))
    assert messages[0] == frames.Notify("info", "cut \ufffd")
    assert result_of("session.log", read(reply))


# --- sent prompts -------------------------------------------------------------------------------------------


def test_a_prompt_is_taken_by_the_host_and_gets_an_id():
    talk = Talk()
    call = talk.called("session.send", prompt="Analyze the test results.")
    assert call.call == host_calls.SendPrompt("Analyze the test results.")
    first = result_of("session.send", read(talk.methods.answer(call.key, None)))
    assert first["messageId"] != talk.answered("session.send", None, prompt="again")["messageId"]


def test_its_files_go_with_it():
    call = Talk().called(
        "session.send",
        prompt="Review",
        attachments=[
            {"type": "file", "path": "./src/index.ts"},
            {"type": "file", "path": "/a/b.txt", "displayName": "b"},
            {"type": "file", "path": "file:///a%20b/c.txt"},
            {"type": "file", "path": "FILE://localhost/d"},
        ],
    )
    assert call.call == host_calls.SendPrompt("Review", ("./src/index.ts", "/a/b.txt", "/a b/c.txt", "/d"))


@pytest.mark.parametrize(
    ("attachments", "said"),
    [
        ([{"type": "directory", "path": "src"}], "attachments[0].type: 'directory' is not supported here"),
        ([{"type": "file", "path": "a"}, {"type": "blob", "data": ""}], "attachments[1].type: 'blob' is not"),
        ([{"type": "selection", "filePath": "a"}], "attachments[0].type: 'selection' is not supported here"),
        ([{"type": "file"}], "attachments[0].path: a file needs one"),
        ([{"type": "file", "path": ""}], "attachments[0].path: a file needs one"),
        ([{"type": "file", "path": "file://far/a"}], "attachments[0].path: 'file://far/a' is on another host"),
        ([{"type": "file", "path": "a\0b"}], "attachments[0].path: it contains a NUL character"),
        ([{"type": "file", "path": 1}], "attachments[0].path: expected str | null, got int"),
        ([{}], "attachments[0].type is required"),
        ("a.txt", "attachments: expected array | null, got str"),
        ([{"type": "file", "path": "a"}] * 21, "attachments: 21 of them, at most 20 are taken"),
    ],
)
def test_attachments_that_cannot_be_taken_are_named(attachments: Any, said: str):
    messages, answer = Talk().take("session.send", prompt="x", attachments=attachments)
    code, message = error_of(answer)
    assert code == -32602
    assert message.startswith(f"session.send: {said}")
    assert [type(message) for message in messages] == [Remarked]


@pytest.mark.parametrize("prompt", ["", " \n"])
def test_an_empty_prompt_is_refused_unless_a_file_goes_with_it(prompt: str):
    assert error_of(Talk().take("session.send", prompt=prompt)[1]) == (-32602, "session.send: prompt: it is empty")
    Talk().called("session.send", prompt=prompt, attachments=[{"type": "file", "path": "a"}])


def test_what_has_no_effect_is_remarked_once():
    talk = Talk()
    options = {"mode": "immediate", "displayPrompt": "y", "agentMode": "plan", "wait": True, "source": "system"}
    files = [{"type": "file", "path": "a", "lineRange": {"start": 1, "end": 2}}]
    messages, _ = talk.take("session.send", prompt="x", attachments=files, **options)
    assert sorted(message.text for message in messages[:-1]) == [
        f"session.send: {name} has no effect here"
        for name in ("agentMode", "attachments[].lineRange", "displayPrompt", "mode", "source", "wait")
    ]
    assert isinstance(messages[-1], HostCalled)
    talk.called("session.send", prompt="x", **options)
    usual = {"mode": "enqueue", "agentMode": "interactive", "billable": True, "prepend": False, "wait": False}
    Talk().called("session.send", prompt="x", **usual)


def test_a_refused_prompt_is_an_error_with_the_reason():
    talk = Talk()
    call = talk.called("session.send", prompt="x")
    assert error_of(read(talk.methods.refuse(call.key, "10 were sent"))) == (-32000, "session.send: 10 were sent")


def test_an_abort_succeeds_or_says_why_not():
    assert Talk().answered("session.abort", None) == {"success": True}
    talk = Talk()
    refused = read(talk.methods.refuse(talk.called("session.abort").key, "nothing runs"))
    assert result_of("session.abort", refused) == {"success": False, "error": "nothing runs"}


# --- calls of the host --------------------------------------------------------------------------------------

USAGE = {
    "began_at": "2026-01-01T00:00:00Z",
    "prompts": 2,
    "model": "m",
    "models": {
        "m": {"requests": 3, "input": 4, "output": 5, "cache_read": 6, "cache_write": 7, "cost_usd": 0.25},
        "n": {"requests": 1, "input": 0, "output": 0, "cache_read": 0, "cache_write": 0, "cost_usd": None},
    },
    "request_ms": 8,
    "last_input": 9,
    "last_output": 10,
}
WORKSPACE = {"id": "S", "path": "/work/S", "cwd": "/repo", "git_root": "/repo", "branch": None, "created_at": "2026Z"}
MODELS = [
    {"id": "a", "provider": "p", "context_window": 100, "max_output": 10, "reasoning": True},
    {"id": "b", "provider": "p", "context_window": 0, "max_output": 0, "reasoning": False},
]
TOOLS = [
    {"name": "bash", "description": "B", "schema": {"type": "object"}, "extension": ""},
    {"name": "read", "description": "R", "schema": {"type": "object"}, "extension": ""},
    {"name": "read", "description": "own", "schema": {}, "extension": "x"},
]
EXTENSIONS = [
    {"name": "a", "scope": "project", "state": "ready", "pid": 12},
    {"name": "b", "scope": "user", "state": "disabled", "pid": None},
    {"name": "c", "scope": "user", "state": "backoff", "pid": None},
    {"name": "d", "scope": "user", "state": "failed", "pid": None},
    {"name": "e", "scope": "user", "state": "greeted", "pid": 13},
]
CALLS: list[tuple[str, dict[str, Any], host_calls.HostCall, Any, Any]] = [
    (
        "session.model.getCurrent", {}, host_calls.CurrentModel(), {"model": "m", "reasoning": "high"},
        {"modelId": "m", "reasoningEffort": "high"},
    ),
    ("session.model.getCurrent", {}, host_calls.CurrentModel(), {"model": "m", "reasoning": None}, {"modelId": "m"}),
    (
        "session.model.list", {"skipCache": True}, host_calls.ListModels(), MODELS,
        {
            "list": [
                {
                    "id": "a", "name": "a",
                    "capabilities": {
                        "supports": {"reasoningEffort": True},
                        "limits": {"max_context_window_tokens": 100, "max_output_tokens": 10},
                    },
                },
                {"id": "b", "name": "b", "capabilities": {"supports": {"reasoningEffort": False}, "limits": {}}},
            ]
        },
    ),
    ("session.model.switchTo", {"modelId": "n"}, host_calls.SwitchModel("n"), None, {"modelId": "n"}),
    ("session.name.get", {}, host_calls.GetSessionName(), "mine", {"name": "mine"}),
    ("session.name.get", {}, host_calls.GetSessionName(), None, {"name": None}),
    ("session.name.set", {"name": "new"}, host_calls.SetSessionName("new"), None, None),
    (
        "session.plan.read", {}, host_calls.ReadFile("plan.md"), {"path": "/work/S/plan.md", "content": "1."},
        {"exists": True, "content": "1.", "path": "/work/S/plan.md"},
    ),
    (
        "session.plan.read", {}, host_calls.ReadFile("plan.md"), {"path": "/work/S/plan.md", "content": None},
        {"exists": False, "content": None, "path": "/work/S/plan.md"},
    ),
    ("session.plan.update", {"content": "2."}, host_calls.WriteFile("plan.md", "2."), None, None),
    ("session.plan.delete", {}, host_calls.RemoveFile("plan.md"), None, None),
    (
        "session.workspaces.getWorkspace", {}, host_calls.GetWorkspace(), WORKSPACE,
        {"workspace": {"id": "S", "cwd": "/repo", "git_root": "/repo", "created_at": "2026Z"}, "path": "/work/S"},
    ),
    ("session.workspaces.listFiles", {}, host_calls.ListFiles("files"), ["a", "b/c"], {"files": ["a", "b/c"]}),
    (
        "session.workspaces.readFile", {"path": "b/./c"}, host_calls.ReadFile("files/b/c"),
        {"path": "/work/S/files/b/c", "content": ""}, {"content": ""},
    ),
    (
        "session.workspaces.createFile", {"path": "a..b", "content": "x"}, host_calls.WriteFile("files/a..b", "x"),
        None, None,
    ),
    (
        "session.usage.getMetrics", {}, host_calls.GetUsage(), USAGE,
        {
            "totalPremiumRequestCost": 0,
            "totalUserRequests": 2,
            "totalApiDurationMs": 8,
            "sessionStartTime": "2026-01-01T00:00:00Z",
            "codeChanges": {"linesAdded": 0, "linesRemoved": 0, "filesModifiedCount": 0, "filesModified": []},
            "modelMetrics": {
                "m": {
                    "requests": {"count": 3, "cost": 0},
                    "usage": {"inputTokens": 4, "outputTokens": 5, "cacheReadTokens": 6, "cacheWriteTokens": 7},
                },
                "n": {
                    "requests": {"count": 1, "cost": 0},
                    "usage": {"inputTokens": 0, "outputTokens": 0, "cacheReadTokens": 0, "cacheWriteTokens": 0},
                },
            },
            "lastCallInputTokens": 9,
            "lastCallOutputTokens": 10,
            "currentModel": "m",
        },
    ),
    (
        "session.tools.getCurrentMetadata", {}, host_calls.ListTools(), TOOLS,
        {
            "tools": [
                {"name": "bash", "description": "B", "input_schema": {"type": "object"}},
                {"name": "view", "description": "R"},
                {"name": "read", "description": "own", "input_schema": {}},
            ]
        },
    ),
    (
        "session.extensions.list", {}, host_calls.ListExtensions(), EXTENSIONS,
        {
            "extensions": [
                {"id": "project:a", "name": "a", "source": "project", "status": "running", "pid": 12},
                {"id": "user:b", "name": "b", "source": "user", "status": "disabled"},
                {"id": "user:c", "name": "c", "source": "user", "status": "starting"},
                {"id": "user:d", "name": "d", "source": "user", "status": "failed"},
                {"id": "user:e", "name": "e", "source": "user", "status": "starting", "pid": 13},
            ]
        },
    ),
    ("session.extensions.reload", {}, host_calls.ReloadExtensions(), None, None),
]  # fmt: skip


@pytest.mark.parametrize(("method", "params", "call", "value", "result"), CALLS)
def test_a_call_of_the_host_is_answered_in_the_sdks_shape(
    method: str, params: dict[str, Any], call: host_calls.HostCall, value: Any, result: Any
):
    assert Talk().called(method, **params).call == call
    assert Talk().answered(method, value, **params) == result


@pytest.mark.parametrize(("method", "params"), [(method, params) for method, params, *_ in CALLS])
def test_a_refusal_is_an_error_with_the_methods_name(method: str, params: dict[str, Any]):
    talk = Talk()
    call = talk.called(method, **params)
    assert error_of(read(talk.methods.refuse(call.key, "no agent"))) == (-32000, f"{method}: no agent")


def test_each_method_of_the_host_is_tested_and_has_a_shape():
    assert METHODS.keys() - {method for method, *_ in CALLS} == {"session.send", "session.abort"}
    assert METHODS.keys() <= ANSWERS.keys()
    assert LONG.keys() <= METHODS.keys()


def test_a_file_that_is_not_there_is_an_error_that_names_it():
    talk = Talk()
    call = talk.called("session.workspaces.readFile", path="a.txt")
    code, message = error_of(read(talk.methods.answer(call.key, {"path": "/work/S/files/a.txt", "content": None})))
    assert code == -32000
    assert "there is no file 'a.txt'" in message


@pytest.mark.parametrize("path", ["../plan.md", "a/../../b", "/etc/passwd", "", ".", "a\0b", "//", ".."])
@pytest.mark.parametrize("method", ["session.workspaces.readFile", "session.workspaces.createFile"])
def test_a_path_that_leads_out_of_the_files_is_refused(method: str, path: str):
    code, message = error_of(Talk().take(method, path=path, content="")[1])
    assert code == -32602
    assert message.startswith(f"{method}: path: ")


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("session.send", {}, "prompt is required"),
        ("session.send", {"prompt": 3}, "prompt: expected str, got int"),
        ("session.log", {"message": None}, "message: expected str, got null"),
        ("session.log", {"message": "x", "ephemeral": "yes"}, "ephemeral: expected bool | null, got str"),
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


def test_a_model_is_switched_without_its_reasoning_and_that_is_remarked():
    messages, _ = Talk().take("session.model.switchTo", modelId="n", reasoningEffort="high")
    assert messages[0] == Remarked("session.model.switchTo: reasoningEffort has no effect here")
    assert messages[1].call == host_calls.SwitchModel("n")


# --- a host without a workspace -----------------------------------------------------------------------------


def test_a_host_without_a_workspace_has_no_plan_and_no_files():
    talk = Talk(HostInfo("1", "p", "m", "/repo"))
    for method, result in (
        ("session.plan.read", {"exists": False, "content": None, "path": None}),
        ("session.workspaces.getWorkspace", {"workspace": None}),
        ("session.workspaces.listFiles", {"files": []}),
    ):
        messages, answer = talk.take(method)
        assert messages == []
        assert result_of(method, answer) == result
    for method, params in (
        ("session.plan.update", {"content": "x"}),
        ("session.plan.delete", {}),
        ("session.workspaces.readFile", {"path": "a"}),
        ("session.workspaces.createFile", {"path": "a", "content": ""}),
    ):
        assert error_of(talk.take(method, **params)[1]) == (-32000, f"{method}: this host has no workspace")


# --- answered at once ---------------------------------------------------------------------------------------


def test_the_messages_are_the_events_that_were_told():
    talk = Talk()
    assert result_of("session.getMessages", talk.take("session.getMessages")[1]) == {"events": []}
    talk.events.event(frames.Event("user_prompt", text="Hi"))
    messages, answer = talk.take("session.getMessages")
    assert messages == []
    (event,) = result_of("session.getMessages", answer)["events"]
    assert (event["type"], event["data"]["content"]) == ("user.message", "Hi")


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session.detach", {}),
        ("session.destroy", {}),
        ("session.options.update", {}),
        ("session.eventLog.releaseInterest", {"handle": "h"}),
    ],
)
def test_what_changes_nothing_here_succeeds(method: str, params: dict[str, Any]):
    messages, answer = Talk().take(method, **params)
    assert messages == []
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
