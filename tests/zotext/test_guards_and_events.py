"""Guards, events, notes, logs and the host, through the harness."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from wire import frames
from zotext import (
    EVENTS,
    AssistantMessage,
    Event,
    Extension,
    Image,
    Text,
    ToolCall,
    ToolContext,
    ToolResult,
    TurnStart,
    UserPrompt,
    allow,
    block,
    replace_result,
    replace_text,
    rewrite_args,
)
from zotext.testing import FEATURES, Harness, Note
from zotext.testing import host_side as testing_host

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def ext() -> Extension:
    return Extension("guard")


def test_a_guard_of_certain_tools_is_asked_about_them_each_time(ext: Extension):
    @ext.intercept_tool_call(tools=(name for name in ("bash", "write")))  # type: ignore[arg-type]
    def no(call: ToolCall) -> Any:
        return block("no")

    with Harness(ext) as host:
        asked = [host.intercept_tool_call(name, {}).blocked for name in ("write", "read", "bash", "write")]
    assert asked == [True, False, True, True]


def test_without_threads_every_question_is_answered_all_the_same(ext: Extension, monkeypatch: pytest.MonkeyPatch):
    @ext.tool
    def work() -> str:
        return "done"

    @ext.intercept_turn_start
    def judge(turn: TurnStart) -> Any:
        return allow()

    class Refused(threading.Thread):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    with Harness(ext) as host:
        with monkeypatch.context() as patched:
            patched.setattr("zotext.job_queues.threading.Thread", Refused)
            assert host.call_tool("work").text == "cancelled: guard: can't start new thread"
            assert host.intercept("turn_start", step=1).reason == "guard: can't start new thread"
        assert host.call_tool("work").text == "done"
        assert not host.intercept("turn_start", step=1).blocked


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
def test_what_could_not_be_judged_is_blocked(ext: Extension, guard: Any, reason: str, capsys: Any):
    ext.intercept_tool_call(guard)
    with Harness(ext) as host:
        verdict = host.intercept_tool_call("bash")
    assert verdict.blocked
    assert reason in verdict.reason
    assert "Traceback" in capsys.readouterr().err


def test_an_empty_text_is_no_replacement():
    with pytest.raises(ValueError, match="use block"):
        replace_text("")


def test_a_host_that_does_not_ask_a_guard_is_told_of(ext: Extension, capsys: Any):
    ext.intercept_user_prompt(lambda prompt: block())
    with Harness(ext, features=()):
        assert "intercept_user_prompt has no effect here" in capsys.readouterr().err
    with Harness(ext):
        assert capsys.readouterr().err == ""


def test_events_are_handled_in_order_by_handlers_with_and_without_argument(ext: Extension, capsys: Any):
    seen: list[Any] = []

    @ext.on("turn_start")
    def started(event: Event) -> None:
        seen.append(event.step)

    @ext.on("turn_start")
    def broken() -> None:
        raise ValueError("boom")

    @ext.on("turn_end")
    async def ended(event: Event) -> None:
        seen.append((event.name, event.stop, event.error))

    @ext.on("tool_result")
    def result(event: Event) -> None:
        seen.append((event.tool_name, event.is_error, event.content))

    with Harness(ext) as host:
        assert host.events == {"turn_start", "turn_end", "tool_result"}
        for step in range(20):
            host.send_event("turn_start", step=step)
        host.send_event("turn_end", stop="error", error="bad")
        host.send_event("tool_result", tool_name="x", is_error=True, content=[{"type": "text", "text": "a"}])
    assert seen == [*range(20), ("turn_end", "error", "bad"), ("x", True, [Text("a")])]
    assert capsys.readouterr().err.count("ValueError: boom") == 20


def test_every_event_can_be_handled(ext: Extension):
    seen = []
    for name in EVENTS:
        ext.on(name)(lambda event: seen.append(event.name))  # type: ignore[arg-type]
    with Harness(ext) as host:
        for name in EVENTS:
            host.send_event(name)
    assert seen == list(EVENTS)


def test_notes_and_logs(ext: Extension, capsys: Any):
    ext.notify("info", "before the run")
    ext.log("early", "debug", city="Oslo")
    assert capsys.readouterr().err == "[debug] early city='Oslo'\n"
    with Harness(ext) as host:
        assert host.notes == [Note("info", "before the run")]
        ext.clear_notes()
        ext.notify("warn", "after")
        assert host.notes == [Note("warn", "after")]
        ext.log("told", "warn", n=1, odd={1, 2}, nan=float("nan"))
        (line,) = host.logs
        assert (line["message"], line["level"]) == ("told", "warn")
        assert line["fields"] == {"n": 1, "odd": "{1, 2}", "nan": "nan"}
    with Harness(ext, features=()) as host:
        ext.log("plain")
        assert host.logs == []
    assert capsys.readouterr().err == "[info] plain\n"


def test_who_the_host_is(ext: Extension, tmp_path: Any):
    with pytest.raises(RuntimeError, match="wait_for_host"):
        _ = ext.host
    with pytest.raises(TimeoutError, match="no host has said hello"):
        ext.wait_for_host(0.001)
    found: list[Any] = []
    waiting = threading.Thread(target=lambda: found.append(ext.wait_for_host(20)))
    waiting.start()
    with Harness(ext, data_dir=tmp_path, cwd=tmp_path) as host:
        waiting.join()
        assert ext.host is found[0]
        assert ext.host.data_dir == tmp_path
        assert ext.host.cwd == str(tmp_path)
        assert (ext.host.model, ext.host.provider, ext.host.zot_version) == ("test", "test", "test")
        assert "log" in ext.host.features
        host.settle()
    with Harness(ext):
        kept = ext.host.data_dir
        assert kept.is_dir()
    assert not kept.exists()


def test_the_end_calls_the_shutdown_handlers_after_what_was_under_way(ext: Extension):
    seen = []

    @ext.tool
    def wait(ctx: ToolContext) -> None:
        ctx.progress("begun")
        ctx.wait(20)
        seen.append(ctx.reason)

    @ext.on("turn_end")
    def ended() -> None:
        seen.append("turn_end")

    @ext.on_shutdown
    def last() -> None:
        seen.append("last")

    with Harness(ext) as host:
        host.begin_tool("wait").wait_progress()
        host.send_event("turn_end")
    assert seen == ["turn_end", "shutdown", "last"]


def test_the_test_host_knows_what_the_real_one_does():
    assert set(testing_host.FEATURES) == set(frames.FEATURES) == set(FEATURES)
