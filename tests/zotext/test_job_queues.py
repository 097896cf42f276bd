"""Tools, guards, commands and events run on threads of their own."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import zotext
from tests.support.patience import PATIENCE_S
from zotext import Extension, ToolContext, TurnStart, allow
from zotext.testing import Harness

if TYPE_CHECKING:
    import pytest


def test_a_call_that_is_cancelled_while_it_waits_is_not_begun():
    ext = Extension("one", threads=1)
    release, begun = threading.Event(), []

    @ext.tool
    def block(number: int, ctx: ToolContext) -> int:
        begun.append(number)
        ctx.progress("begun")
        assert release.wait(PATIENCE_S)
        return number

    with Harness(ext) as host:
        first, second = host.begin_tool("block", number=1), host.begin_tool("block", number=2)
        first.wait_progress()
        second.cancel()
        release.set()
        assert (first.wait().text, second.wait().text) == ("1", "cancelled")
    assert begun == [1]


def test_tools_run_side_by_side_and_do_not_hold_up_guards_commands_and_events(ext: Extension):
    together, seen = threading.Barrier(3), []

    @ext.tool
    def meet() -> str:
        together.wait(PATIENCE_S)
        return "met"

    @ext.intercept_tool_call
    def guard(call: zotext.ToolCall) -> None:
        seen.append("guard")

    @ext.command
    def hello() -> str:
        return "hello"

    @ext.on("turn_end")
    def ended() -> None:
        seen.append("event")

    with Harness(ext) as host:
        calls = [host.begin_tool("meet") for _ in range(2)]
        assert not host.intercept_tool_call("bash").blocked
        assert host.run_command("hello").text == "hello"
        host.send_event("turn_end")
        host.ping()
        assert seen == ["guard", "event"]
        together.wait(PATIENCE_S)
        assert [call.wait().text for call in calls] == ["met", "met"]


def test_without_new_threads_every_question_is_answered(ext: Extension, monkeypatch: pytest.MonkeyPatch):
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
            assert host.call_tool("work").text == "cancelled: sample: can't start new thread"
            assert host.intercept("turn_start", step=1).reason == "sample: can't start new thread"
        assert host.call_tool("work").text == "done"
        assert not host.intercept("turn_start", step=1).blocked
