"""Guards: which questions they are asked, and what their answers do."""

from __future__ import annotations

from typing import Any

import pytest

from zotext import (
    AgentStart,
    AssistantMessage,
    Extension,
    Image,
    Text,
    ToolCall,
    ToolResult,
    TurnStart,
    UserPrompt,
    add_context,
    allow,
    ask,
    block,
    replace_result,
    replace_text,
    rewrite_args,
)
from zotext.testing import Harness

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_guard_of_named_tools_is_asked_about_each_call_of_these(ext: Extension):
    @ext.intercept_tool_call(tools=(name for name in ("bash", "write")))  # type: ignore[arg-type]
    def no(call: ToolCall) -> Any:
        return block("no")

    with Harness(ext) as host:
        asked = [host.intercept_tool_call(name, {}).blocked for name in ("write", "read", "bash", "write")]
    assert asked == [True, False, True, True]


def test_a_tool_call_is_allowed_blocked_or_rewritten(ext: Extension):
    @ext.intercept_tool_call
    def judge(call: ToolCall) -> Any:
        if call.name == "bash":
            return block(f"no {call.args['command']}")
        if call.name == "write":
            return rewrite_args({**call.args, "path": "/safe"})
        return allow() if call.name == "read" else None

    with Harness(ext) as host:
        assert host.guarded == {"tool_call"}
        verdict = host.intercept_tool_call("bash", {"command": "rm"})
        assert (verdict.blocked, verdict.reason) == (True, "no rm")
        verdict = host.intercept_tool_call("write", {"text": "a"})
        assert (verdict.blocked, verdict.args) == (False, {"text": "a", "path": "/safe"})
        for name in ("read", "edit"):
            verdict = host.intercept_tool_call(name)
            assert (verdict.blocked, verdict.args) == (False, None)


def test_rewrites_chain_and_the_first_block_wins(ext: Extension):
    @ext.intercept_tool_call(tools=["bash"])
    def first(call: ToolCall) -> Any:
        call.args["changed"] = "without effect"
        return rewrite_args({"n": call.args["n"] + 1})

    @ext.intercept_tool_call
    def second(call: ToolCall) -> Any:
        return block("odd") if call.args["n"] % 2 else rewrite_args({**call.args, "seen": True})

    @ext.intercept_tool_call
    def third(call: ToolCall) -> None:
        assert "changed" not in call.args

    with Harness(ext) as host:
        assert host.intercept_tool_call("bash", {"n": 1}).args == {"n": 2, "seen": True}
        assert host.intercept_tool_call("other", {"n": 2}).args == {"n": 2, "seen": True}
        assert host.intercept_tool_call("bash", {"n": 2}).reason == "odd"


def test_each_point_has_its_own_verdicts(ext: Extension):
    @ext.intercept_turn_start
    def turn(turn: TurnStart) -> Any:
        return block("enough") if turn.step > 3 else None

    @ext.intercept_assistant_message
    async def message(message: AssistantMessage) -> Any:
        return replace_text(message.text.replace("secret", "***"))

    @ext.intercept_user_prompt
    def prompt(prompt: UserPrompt) -> Any:
        return replace_text(f"{prompt.text}!")

    @ext.intercept_tool_result(tools=["read"])
    def result(result: ToolResult) -> Any:
        return replace_result([result.text.upper(), Image(PNG)], is_error=not result.is_error)

    with Harness(ext) as host:
        assert not host.intercept("turn_start", step=3).blocked
        assert host.intercept("turn_start", step=4).reason == "enough"
        assert host.intercept("assistant_message", text="a secret").text == "a ***"
        assert host.intercept("user_prompt", text="hi").text == "hi!"
        content = [{"type": "text", "text": "abc"}]
        changed = host.intercept("tool_result", tool_id="1", tool_name="read", is_error=False, content=content).result
        assert changed is not None
        assert (changed.content, changed.is_error) == ([Text("ABC"), Image(PNG)], True)
        assert host.intercept("tool_result", tool_name="bash", content=content).result is None


def raising(_call: ToolCall) -> Any:
    raise ValueError("boom")


def leaving(_call: ToolCall) -> Any:
    raise SystemExit(0)


@pytest.mark.parametrize(
    ("guard", "reason"),
    [
        (raising, "guard 'raising' failed: ValueError: boom"),
        (leaving, "guard 'leaving' failed: SystemExit: 0"),
        (lambda call: True, "True is no verdict on a tool_call; return None, block(...) or rewrite_args(...)"),
        (lambda call: "no", "'no' is no verdict"),
        (lambda call: replace_text("x"), "is no verdict on a tool_call"),
        (lambda call: rewrite_args({"a": object()}), "not JSON serializable"),
        (lambda call: rewrite_args(None), "a tool's arguments are a dict"),  # type: ignore[arg-type]
    ],
)
def test_a_guard_that_fails_blocks(ext: Extension, guard: Any, reason: str, capsys: Any):
    ext.intercept_tool_call(guard)
    with Harness(ext) as host:
        verdict = host.intercept_tool_call("bash")
    assert verdict.blocked
    assert reason in verdict.reason
    assert "Traceback" in capsys.readouterr().err


def test_a_guard_that_the_host_never_asks_prints_a_warning(ext: Extension, capsys: Any):
    ext.intercept_user_prompt(lambda prompt: block())
    with Harness(ext, features=()):
        assert "intercept_user_prompt has no effect here" in capsys.readouterr().err
    with Harness(ext):
        assert capsys.readouterr().err == ""


def test_guards_may_ask_and_add_context(ext: Extension):
    @ext.intercept_tool_call
    def first(call: ToolCall) -> Any:
        return add_context("one") if call.name == "read" else ask("it writes")

    @ext.intercept_tool_call
    def second(call: ToolCall) -> Any:
        return rewrite_args({"b": 1}) if call.name == "write" else add_context("two")

    @ext.intercept_tool_call(tools=["rm"])
    def third(call: ToolCall) -> Any:
        return block("never")

    with Harness(ext) as host:
        read, write, remove = (host.intercept_tool_call(name, {}) for name in ("read", "write", "rm"))
    assert (read.blocked, read.asks, read.context) == (False, False, "one\n\ntwo")
    assert (write.asks, write.reason, write.args) == (True, "it writes", {"b": 1})
    assert (remove.blocked, remove.asks, remove.reason) == (True, False, "never")


def test_a_host_that_knows_no_questions_gets_a_block(ext: Extension):
    @ext.intercept_turn_start
    def guard(turn: TurnStart) -> Any:
        return ask()

    with Harness(ext, features=[]) as host:
        assert host.intercept("turn_start", step=1).reason == "a person has to decide, and this host cannot ask one"


@pytest.mark.parametrize("point", ["turn_start", "assistant_message"])
def test_context_where_no_model_reads_it_blocks(ext: Extension, point: str):
    getattr(ext, f"intercept_{point}")(lambda _subject: add_context("x"))
    with Harness(ext) as host:
        assert "is no verdict on a" in host.intercept(point, step=1, text="x").reason


def test_a_system_prompt_is_replaced_by_each_guard_in_turn(ext: Extension):
    seen: list[AgentStart] = []

    @ext.intercept_before_agent_start
    def keep(start: AgentStart) -> None:
        seen.append(start)

    @ext.intercept_before_agent_start
    async def change(start: AgentStart) -> str:
        return f"{start.system_prompt} Be brief."

    @ext.intercept_before_agent_start
    def remove(start: AgentStart) -> str | None:
        return "" if start.model == "tiny" else None

    fields = {"session_id": "s", "agent_run_id": "r", "cwd": "/work", "provider": "p", "model": "m"}
    with Harness(ext) as host:
        assert host.guarded == {"before_agent_start"}
        assert host.intercept("before_agent_start", **fields, system_prompt="Help.").system_prompt == "Help. Be brief."
        assert host.intercept("before_agent_start", model="tiny").system_prompt == ""
    assert {name: getattr(seen[0], name) for name in fields} == fields
    assert (seen[0].system_prompt, seen[1].session_id) == ("Help.", "")


@pytest.mark.parametrize("verdict", [block("no"), 3, ["Help."], b"Help.", replace_text("Help.")])
def test_an_answer_that_is_no_system_prompt_changes_nothing_and_is_named(ext: Extension, capsys: Any, verdict: Any):
    ext.intercept_before_agent_start(lambda start: "First.")
    ext.intercept_before_agent_start(lambda start: verdict)
    with Harness(ext) as host:
        answer = host.intercept("before_agent_start", system_prompt="Help.")
    assert (answer.blocked, answer.system_prompt) == (False, "First.")
    assert answer.reason.startswith("guard '<lambda>' failed: TypeError: ")
    assert "is no system prompt; return a str, or None to keep it" in capsys.readouterr().err
