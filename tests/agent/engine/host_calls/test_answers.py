"""The answers and effects of an extension's calls, each made by a real process during a run."""

from __future__ import annotations

import json

import pytest

from agent.sessions.store import list_sessions
from tests.support import calling_dialect
from tests.support.scripted_model import says
from wire import events

ASKS = """\
calls = {calls!r}
hello(tools=["ask"], events=["assistant_message"])
open_call, answers = "", []
for kind, host in heard():
    if kind == "welcome":
        answers.append(host)
    if kind == "call":
        open_call = host["id"]
        for number, (name, fields) in enumerate(calls): want(name, str(number), **fields)
    elif kind in ("answer", "refuse"):
        answers.append(host)
        if host["key"] == str(len(calls) - 1): say("result", id=open_call, text=json.dumps(answers))
"""
CALL = ("t1", "ask", {})


@pytest.fixture
def ask(run, tmp_path):
    def asking(*calls, **options):
        """The welcome of the process, the values of the answers to its calls, and the run."""
        ran = run(says("", CALL), says("Done."), programs={"asks": ASKS.format(calls=list(calls))}, **options)
        (result,) = ran.of(events.ToolResult)
        assert not result.is_error, result
        told = json.loads(result.content[0].text)
        return told[0], [answer.get("value") if answer["host"] == "answer" else answer for answer in told[1:]], ran

    return asking


def test_each_call_has_its_answer_in_the_order_of_the_calls(ask, tmp_path):
    welcome, answers, ran = ask(
        ("CurrentModel", {}), ("ListModels", {}), ("ListTools", {}), ("ListExtensions", {}), ("GetSessionName", {}),
        ("GetUsage", {}),
    )  # fmt: skip
    model, models, tools, extensions, name, used = answers
    assert model == {"model": "m", "reasoning": None}
    assert {"id", "provider", "context_window", "max_output", "reasoning"} == set(models[0])
    assert {tool["name"]: tool["extension"] for tool in tools} == {
        "ask": "asks", "bash": "", "edit": "", "read": "", "write": "",
    }  # fmt: skip
    (extension,) = extensions
    assert (extension["name"], extension["scope"], extension["state"]) == ("asks", "project", "ready")
    assert extension["pid"] > 0
    assert name is None
    assert (used["prompts"], used["model"], used["last_input"], used["last_output"]) == (1, "m", 1, 1)
    assert used["models"]["m"] == {
        "requests": 1, "input": 1, "output": 1, "cache_read": 0, "cache_write": 0, "cost_usd": None,
        "reasoning": None,
    }  # fmt: skip
    assert used["began_at"].endswith("+00:00")
    assert used["request_ms"] >= 0
    assert welcome["session"] == ran.result.session


def test_only_extensions_of_the_same_dialect_are_listed(run, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "frames").write_text('{"type":"hello","name":"other","version":"1"}\n{"type":"ready"}\n')
    (other / "extension.json").write_text(json.dumps({"name": "other", "exec": "cat", "args": ["frames", "-"]}))
    asks = ASKS.format(calls=[("ListExtensions", {})])
    folder = str(calling_dialect.caller(tmp_path, "asks", asks))
    ran = run(says("", CALL), says("Done."), programs={}, extensions=(folder, str(other)))
    (result,) = ran.of(events.ToolResult)
    (session,) = ran.of(events.Session)
    assert set(session.extensions) == {"asks", "other"}
    assert [each["name"] for each in json.loads(result.content[0].text)[-1]["value"]] == ["asks"]


def test_a_workspace_is_there_from_the_start_and_stays_with_the_session(ask, tmp_path):
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "project" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    welcome, answers, ran = ask(
        ("GetWorkspace", {}), ("WriteFile", {"path": "plan.md", "content": "1."}), ("ReadFile", {"path": "plan.md"}),
        ("ListFiles", {"folder": ""}), ("RemoveFile", {"path": "nothing"}), ("ReadFile", {"path": "../x"}),
    )  # fmt: skip
    place, written, read, files, removed, refused = answers
    path = tmp_path / "home" / "workspaces" / ran.result.session
    assert welcome["workspace"] == place["path"] == str(path)
    assert (place["cwd"], place["git_root"], place["branch"]) == (
        str(tmp_path / "project"), str(tmp_path / "project"), "main",
    )  # fmt: skip
    assert (written, read, files, removed) == (
        None,
        {"path": str(path / "plan.md"), "content": "1."},
        ["plan.md"],
        None,
    )
    assert (refused["host"], refused["reason"]) == (
        "refuse", "../x: it is not in the workspace; give a path relative to it",
    )  # fmt: skip
    assert (path / "plan.md").read_text() == "1."


def test_a_run_that_keeps_no_session_leaves_no_workspace(ask, tmp_path):
    _, _, ran = ask(("WriteFile", {"path": "plan.md", "content": "1."}), keep_session=False)
    assert ran.result.status == "ok"
    assert not (tmp_path / "home" / "workspaces").exists()


def test_an_empty_workspace_is_removed(ask, tmp_path):
    ask(("GetWorkspace", {}))
    assert not (tmp_path / "home" / "workspaces").exists()


def test_a_session_gets_a_name(ask, tmp_path):
    _, answers, _ = ask(
        ("SetSessionName", {"name": " fix\nthe bug "}), ("GetSessionName", {}), ("SetSessionName", {"name": " "})
    )
    assert answers[1] == "fix the bug"
    assert answers[2]["reason"] == "the name is empty"
    (session,) = list_sessions(tmp_path / "home", None)
    assert session.title == "fix the bug"


def test_a_switch_of_the_model_holds_from_the_next_request_on_and_the_user_sees_it(ask):
    _, answers, ran = ask(("SwitchModel", {"model": "other"}), ("CurrentModel", {}), ("SwitchModel", {"model": ""}))
    assert answers[1]["model"] == "other"
    assert answers[2]["reason"] == "the name of the model is empty"
    assert [asked["model"] for asked in ran.model.asked] == ["m", "other"]
    assert ran.warnings("asks") == ["it has switched the model from m to other"]


def test_a_level_of_reasoning_holds_from_the_next_prompt_on_and_a_wrong_one_changes_nothing(ask):
    model = "claude-opus-5"
    _, answers, ran = ask(
        ("SwitchModel", {"model": "other", "reasoning": "hgih"}), ("CurrentModel", {}),
        ("SwitchModel", {"model": model, "reasoning": "minimum"}), ("CurrentModel", {}),
        ("SwitchModel", {"model": model, "reasoning": "minimum"}),
        ("SwitchModel", {"model": model, "reasoning": "off"}), ("CurrentModel", {}), model=model,
    )  # fmt: skip
    assert answers[0]["reason"] == (
        "reasoning: 'hgih' is not one of off, minimum, low, medium, high, xhigh, max; did you mean 'high'?"
    )
    assert [answers[at] for at in (1, 3, 6)] == [
        {"model": model, "reasoning": None}, {"model": model, "reasoning": "low"}, {"model": model, "reasoning": None},
    ]  # fmt: skip
    assert ran.warnings("asks") == [f"it has set the model's reasoning to {level}" for level in ("minimum", "off")]
    assert ["thinking" in asked for asked in ran.model.asked] == [False, False]


def test_a_model_without_a_price_is_refused_within_a_budget_in_dollars(ask):
    _, answers, _ = ask(("SwitchModel", {"model": "other"}), max_cost_usd=1.0, model="claude-sonnet-5-5")
    assert "the price of the model 'other' is unknown" in answers[0]["reason"]


def test_a_reload_is_refused_unless_the_agent_may_reload(ask):
    _, answers, _ = ask(("ReloadExtensions", {}))
    assert answers[0]["reason"].startswith("this run reloads no extensions for an extension: start it with --copilot")


def test_with_the_agents_tools_only_their_dialect_is_reloaded(ask):
    _, answers, _ = ask(("ReloadExtensions", {}), copilot=True)
    assert answers[0]["reason"] == "only extensions of the dialect copilot are reloaded so"
