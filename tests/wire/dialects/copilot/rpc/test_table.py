"""The methods that the host's agent answers, in the shapes that the SDK declares."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.copilot_methods import Talk, error_of, read, result_of
from tests.support.copilot_shapes import ANSWERS
from wire.dialects import host_calls
from wire.dialects.base import HostInfo, Remarked
from wire.dialects.copilot.rpc.table import METHODS

USAGE = {
    "began_at": "2026-01-01T00:00:00Z",
    "prompts": 2,
    "model": "m",
    "models": {
        "m": {
            "requests": 3,
            "input": 4,
            "output": 5,
            "cache_read": 6,
            "cache_write": 7,
            "cost_usd": 0.25,
            "reasoning": 2,
        },
        "n": {
            "requests": 1,
            "input": 0,
            "output": 0,
            "cache_read": 0,
            "cache_write": 0,
            "cost_usd": None,
            "reasoning": None,
        },
    },
    "request_ms": 8,
    "last_input": 9,
    "last_output": 10,
}
WORKSPACE = {"id": "S", "path": "/work/S", "cwd": "/repo", "git_root": "/repo", "branch": None, "created_at": "2026Z"}
MODELS = [
    host_calls.ModelInfo("a", "p", context_window=100, max_output=10, reasoning=True),
    host_calls.ModelInfo("b", "p", context_window=0, max_output=0, reasoning=False),
]
TOOLS = [
    host_calls.ToolInfo("bash", "B", {"type": "object"}, extension=""),
    host_calls.ToolInfo("read", "R", {"type": "object"}, extension=""),
    host_calls.ToolInfo("read", "own", {}, extension="x"),
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
    *(
        (
            "session.model.switchTo", {"modelId": "n", "reasoningEffort": effort}, host_calls.SwitchModel("n", level),
            None, {"modelId": "n"},
        )
        for effort, level in (("max", "max"), ("none", "off"), ("minimal", "minimum"), ("hgih", "hgih"), ("", None))
    ),
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
                    "usage": {
                        "inputTokens": 17, "outputTokens": 5, "cacheReadTokens": 6, "cacheWriteTokens": 7,
                        "reasoningTokens": 2,
                    },
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


def test_a_model_is_switched_without_the_summary_of_its_reasoning_and_that_is_remarked():
    messages, _ = Talk().take("session.model.switchTo", modelId="n", reasoningEffort="high", reasoningSummary="short")
    assert messages[0] == Remarked("session.model.switchTo: reasoningSummary has no effect here")
    assert messages[1].call == host_calls.SwitchModel("n", "high")


def test_an_effort_that_is_no_text_is_refused():
    code, message = error_of(Talk().take("session.model.switchTo", modelId="n", reasoningEffort=5)[1])
    assert (code, message.startswith("session.model.switchTo: reasoningEffort: ")) == (-32602, True)


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
