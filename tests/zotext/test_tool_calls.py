"""Calls of tools that the host carries out for an extension: by which handlers, until when, and what is refused."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from tests.support.patience import PATIENCE_S
from zotext import (
    AgentStart,
    CommandContext,
    Extension,
    Image,
    Result,
    Text,
    ToolCall,
    ToolContext,
)
from zotext.testing import Harness

PNG = b"\x89PNG\r\n\x1a\n"


def by_type(host: Any, kind: str) -> list[dict[str, Any]]:
    return [frame for frame in host.frames if frame["type"] == kind]


def answer(host: Any, call_id: str, text: str) -> None:
    host._send({"type": "tool_result", "id": call_id, "name": "slow", "content": [{"type": "text", "text": text}]})


def test_handlers_call_tools_of_the_host_a_tool_as_a_part_of_its_own_call(ext: Extension):
    @ext.tool
    def summary(path: str) -> str:
        return ext.call_tool("read", {"path": path}).text.upper()

    @ext.tool
    async def sums(paths: list[str]) -> list[str]:
        results = await asyncio.gather(*(ext.call_tool_async("read", {"path": path}) for path in paths))
        return [result.text for result in results]

    @ext.command
    def show() -> str:
        return ext.call_tool("read").text

    @ext.on("idle")
    def idle() -> None:
        ext.notify("info", ext.call_tool("read", {"path": "c"}).text)

    with Harness(ext, host_tools={"read": lambda args: f"<{args.get('path')}>"}) as host:
        call = host.begin_tool("summary", path="a")
        assert call.wait().text == "<A>"
        first = by_type(host, "call_tool")[0]
        assert (first["name"], first["args"], first["parent_id"]) == ("read", {"path": "a"}, call.id)
        call = host.begin_tool("sums", paths=["a", "b"])
        assert "<a>" in call.wait().text
        assert [frame["parent_id"] for frame in by_type(host, "call_tool")[1:]] == [call.id] * 2
        assert host.run_command("show").text == "<None>"
        host.send_event("idle")
        assert host.notes[0].message == "<c>"
        assert ["parent_id" in frame for frame in by_type(host, "call_tool")[3:]] == [False, False]
        assert len({frame["id"] for frame in by_type(host, "call_tool")}) == 5
        assert by_type(host, "hello")[0]["capabilities"] == ["commands", "tools", "events", *ext.registry.capabilities]


def test_work_that_outlives_its_call_is_no_longer_a_part_of_it(ext: Extension):
    tasks: list[asyncio.Task[Any]] = []

    @ext.tool
    async def later() -> None:
        tasks.append(asyncio.create_task(ahead(asyncio.Event())))

    async def ahead(go: asyncio.Event) -> None:
        gates.append((asyncio.get_running_loop(), go))
        await go.wait()
        await ext.call_tool_async("read")

    gates: list[Any] = []
    with Harness(ext, host_tools={"read": lambda args: "x"}) as host:
        host.call_tool("later")
        host.call_tool("later")  # the first task has run up to its gate by now
        loop, go = gates[0]
        loop.call_soon_threadsafe(go.set)
        host.wait_for(lambda: by_type(host, "call_tool"), "the call")
        assert "parent_id" not in by_type(host, "call_tool")[0]
        loop.call_soon_threadsafe(tasks[1].cancel)


def test_a_result_has_blocks_and_says_whether_it_failed_or_was_cut(ext: Extension):
    found: list[Result] = []

    @ext.tool
    def forward(name: str) -> Result:
        found.append(ext.call_tool(name))
        return found[-1]

    cut = Result(["a", Image(PNG), Text("*b*", markdown=True)])
    cut.truncated = True

    def broken(args: dict[str, Any]) -> str:
        raise ValueError("no luck")

    with Harness(ext, host_tools={"cut": lambda args: cut, "broken": broken}) as host:
        assert host.call_tool("forward", name="cut").content == cut.content
        assert (host.call_tool("forward", name="broken").is_error, found[1].text) == (True, "no luck")
        assert host.call_tool("forward", name="unknown").text == "no tool 'unknown'"
    assert [(result.is_error, result.truncated) for result in found] == [(False, True), (True, False), (True, False)]


@pytest.mark.parametrize(
    ("name", "args", "said"),
    [
        ("", None, "call_tool() takes the name of a tool, not ''"),
        (None, None, "call_tool() takes the name of a tool, not None"),
        (["read"], None, "call_tool() takes the name of a tool, not ['read']"),
        ("read", [], "call_tool('read'): the arguments are a dict, not list"),
        ("read", "path", "call_tool('read'): the arguments are a dict, not str"),
        ("read", {"at": object()}, "call_tool('read'): Object of type object is not JSON serializable"),
        ("read", {"at": float("nan")}, "call_tool('read'): Out of range float values are not JSON compliant"),
    ],
)
def test_a_call_that_cannot_be_made_raises_at_once(ext: Extension, name: Any, args: Any, said: str):
    with Harness(ext, host_tools={"read": None}) as host, pytest.raises(TypeError) as caught:
        ext.call_tool(name, args)
    assert str(caught.value).startswith(said)
    assert not by_type(host, "call_tool")


def test_where_no_tool_can_be_called_the_error_says_why(ext: Extension, capsys: Any):
    @ext.intercept_tool_call
    async def guard(call: ToolCall) -> None:
        await ext.call_tool_async("read")

    @ext.intercept_before_agent_start
    def start(event: AgentStart) -> str:
        return ext.call_tool("read").text

    @ext.tool
    async def blocking() -> str:
        return ext.call_tool("read").text

    with pytest.raises(RuntimeError, match="has not said hello"):
        ext.call_tool("read")
    with Harness(ext) as host, pytest.raises(RuntimeError, match="this host calls no tools for extensions"):
        ext.call_tool("read")
    with Harness(ext, host_tools={"read": lambda args: "x"}) as host:
        assert "a guard cannot call tools" in host.intercept_tool_call("bash").reason
        assert "use `await ext.call_tool_async(...)`" in host.call_tool("blocking").text
        assert "a guard cannot call tools" in host.intercept("before_agent_start").reason
        assert not by_type(host, "call_tool")
    assert "a guard cannot call tools" in capsys.readouterr().err


def test_a_cancelled_handler_cancels_the_call_that_it_waits_for(ext: Extension):
    @ext.tool
    def waits(ctx: ToolContext) -> str:
        return ext.call_tool("slow").text

    @ext.tool
    async def awaits() -> str:
        return (await ext.call_tool_async("slow")).text

    @ext.command
    def shows(ctx: CommandContext) -> str:
        return ext.call_tool("slow").text

    with Harness(ext, host_tools={"slow": None}) as host:
        for number, name in enumerate(("waits", "awaits")):
            call = host.begin_tool(name)
            host.wait_for(lambda count=number + 1: len(by_type(host, "call_tool")) == count, "the call")
            host._send({"type": "tool_cancel", "id": call.id} if number else {"type": "cancel", "id": call.id})
            assert call.wait().text == "cancelled"
        host._send({"type": "command_invoked", "id": "c", "name": "shows", "args": ""})
        host.wait_for(lambda: len(by_type(host, "call_tool")) == 3, "the call")
        host._send({"type": "cancel", "id": "c", "reason": "too late"})
        assert host._answer_to("c", "command_response")["error"] == "cancelled: too late"
        made = [frame["id"] for frame in by_type(host, "call_tool")]
        assert [frame["id"] for frame in by_type(host, "call_tool_cancel")] == made
        for call_id in (*made, "unknown"):
            answer(host, call_id, "late")
        host.ping()


def test_the_answers_of_two_calls_may_come_in_any_order_and_twice(ext: Extension):
    @ext.tool
    def ask(name: str) -> str:
        return ext.call_tool("slow", {"for": name}).text

    with Harness(ext, host_tools={"slow": None}) as host:
        calls = [host.begin_tool("ask", name=name) for name in "ab"]
        host.wait_for(lambda: len(by_type(host, "call_tool")) == 2, "both calls")
        for frame in reversed(by_type(host, "call_tool")):
            answer(host, frame["id"], frame["args"]["for"])
            answer(host, frame["id"], "again")
        assert [call.wait().text for call in calls] == ["a", "b"]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, ""),
        ({"content": "x", "is_error": "yes", "truncated": 1}, ""),
        ({"content": [None, {"type": "video"}, {"type": "text"}]}, "[block of type 'video']\n"),
        ({"content": None, "is_error": None}, ""),
    ],
)
def test_an_odd_answer_of_a_host_is_read_as_far_as_it_goes(ext: Extension, fields: dict[str, Any], text: str):
    @ext.tool
    def ask() -> Result:
        return ext.call_tool("slow")

    with Harness(ext, host_tools={"slow": None}) as host:
        call = host.begin_tool("ask")
        host.wait_for(lambda: by_type(host, "call_tool"), "the call")
        for call_id in (None, 1, "unknown", by_type(host, "call_tool")[0]["id"]):
            host._send({"type": "tool_result", "id": call_id, **fields})
        assert (call.wait().text, call.wait().is_error) == (text, False)


@pytest.mark.parametrize("capabilities", [None, "call_tool", {"call_tool": True}, [["call_tool"]], 3])
def test_a_host_that_does_not_list_the_capability_has_it_not(ext: Extension, capabilities: Any):
    with Harness(ext) as host:
        host._send({"type": "hello_ack", "capabilities": capabilities})
        with pytest.raises(RuntimeError, match="this host calls no tools for extensions"):
            ext.call_tool("read")


def test_calls_end_with_the_run_and_none_can_be_made_after_it(ext: Extension):
    ends: list[str] = []

    @ext.on("idle")
    def idle() -> None:
        begun.set()
        ext.call_tool("slow")
        ends.append("never")

    @ext.on_shutdown
    def last() -> None:
        try:
            ext.call_tool("slow")
        except Exception as error:
            ends.append(f"{type(error).__name__}: {error}")

    begun = threading.Event()
    host = Harness(ext, host_tools={"slow": None})
    with host:
        host._send({"type": "event", "event": "idle"})
        assert begun.wait(PATIENCE_S)
        host.wait_for(lambda: by_type(host, "call_tool"), "the call")
    assert ends == ["Cancelled: shutdown"]
    assert len(by_type(host, "call_tool")) == 1


def test_a_program_whose_host_is_gone_does_not_wait_for_its_answer(start: Any):
    host = start(
        """
@ext.command
def wait():
    try:
        ext.call_tool("slow")
    except Cancelled as error:
        print("ended:", error)
""",
        host_tools={"slow": None},
    )
    host._send({"type": "command_invoked", "id": "c", "name": "wait", "args": ""})
    host.wait_for(lambda: by_type(host, "call_tool"), "the call")
    host.close_stdin()
    assert host.wait() == 0
    assert "ended: the host has gone" in host.stderr
