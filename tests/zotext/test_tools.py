"""Tools and commands, called through the harness: in this process, on the threads that a run would use."""

from __future__ import annotations

import enum
import functools
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import zotext
from zotext import (
    CommandContext,
    Display,
    Error,
    Extension,
    Image,
    Insert,
    Noop,
    OpenPanel,
    Prompt,
    RegistrationError,
    Result,
    Text,
    ToolContext,
    ToolError,
)
from zotext.testing import Harness

PNG = b"\x89PNG\r\n\x1a\n and so on"


class Size(enum.Enum):
    BIG = "big"


@dataclass
class Found:
    path: Path
    size: Size


@pytest.fixture
def ext() -> Extension:
    return Extension("sample", "1.2.3")


def returns(ext: Extension, value: Any) -> zotext.testing.ToolAnswer:  # type: ignore[name-defined]
    @ext.tool
    def give() -> Any:
        return value

    with Harness(ext) as host:
        return host.call_tool("give")


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("text", [Text("text")]),
        (None, []),
        (Text("a"), [Text("a")]),
        ([Text("a"), "b"], [Text("a"), Text("b")]),
        (Image(PNG), [Image(PNG, "image/png")]),
        (Result(["a", Image(PNG)]), [Text("a"), Image(PNG)]),
        ({"a": [1, True, None]}, [Text('{"a": [1, true, null]}')]),
        (["a", "b"], [Text('["a", "b"]')]),
        (3, [Text("3")]),
        (Found(Path("x"), Size.BIG), [Text('{"path": "x", "size": "big"}')]),
        ({"all": {2, 1}}, [Text('{"all": [1, 2]}')]),
    ],
)
def test_what_a_tool_returns_becomes_content(ext: Extension, value: Any, content: list[Any]):
    answer = returns(ext, value)
    assert answer.content == content
    assert not answer.is_error


def test_a_result_can_be_a_failure(ext: Extension):
    assert returns(ext, Result("bad", is_error=True)).is_error


def test_what_json_cannot_hold_is_an_error_that_names_it(ext: Extension):
    answer = returns(ext, object())
    assert answer.is_error
    assert "object, which JSON cannot hold" in answer.text


def test_half_a_surrogate_pair_does_not_break_the_line(ext: Extension):
    assert returns(ext, "a\ud800b\n\u2028").text == "a?b\n\u2028"


def test_an_exception_is_a_clean_error_and_its_traceback_is_on_stderr(ext: Extension, capsys: Any):
    @ext.tool
    def broken(kind: str) -> str:
        if kind == "exit":
            raise SystemExit(3)
        if kind == "told":
            raise ToolError("no such city")
        raise ValueError("boom")

    with Harness(ext) as host:
        answer = host.call_tool("broken", kind="raise")
        assert (answer.is_error, answer.text) == (True, "ValueError: boom")
        assert "raise ValueError" in capsys.readouterr().err
        assert host.call_tool("broken", kind="exit").text == "SystemExit: 3"
        capsys.readouterr()
        answer = host.call_tool("broken", kind="told")
        assert (answer.is_error, answer.text) == (True, "no such city")
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({}, "bad arguments: city: is missing; expected a string"),
        ({"city": 3}, "bad arguments: city: expected a string, got 3"),
        ({"city": "a", "cty": "b"}, "bad arguments: cty: there is no such argument; known are city"),
    ],
)
def test_arguments_are_checked_before_the_call(ext: Extension, args: dict[str, Any], text: str):
    called = []

    @ext.tool
    def weather(city: str) -> None:
        called.append(city)

    with Harness(ext) as host:
        answer = host.call_tool("weather", args)
        assert host.call_tool("no_such_tool").text == "sample has no tool 'no_such_tool'"
    assert (answer.is_error, answer.text, called) == (True, text, [])


def test_a_schema_of_ones_own_gets_the_arguments_as_they_are(ext: Extension):
    schema = {"type": "object", "properties": {"a": {"type": ["integer", "string"]}}}

    @ext.tool(name="raw", description="As it is.", schema=schema)
    def anything(args: dict, ctx: ToolContext) -> Any:  # type: ignore[type-arg]
        return {"tool": ctx.name, "args": args}

    with Harness(ext) as host:
        assert host.tools["raw"]["schema"] == schema
        assert host.tools["raw"]["description"] == "As it is."
        assert host.call_tool("raw", {"a": "x", "b": 1}).json == {"tool": "raw", "args": {"a": "x", "b": 1}}

    with pytest.raises(RegistrationError, match="with schema= it takes one parameter"):
        ext.tool(name="two", schema=schema)(lambda a, b: None)


def test_methods_wrapped_functions_and_callable_objects_can_be_tools(ext: Extension):
    class Shop:
        def price(self, item: str) -> str:
            """Price of an item."""
            return f"{item}: 1"

        def __call__(self, item: str) -> str:
            return item

    def loud(function: Any) -> Any:
        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> str:
            return function(*args, **kwargs).upper()

        return inner

    ext.tool(Shop().price)
    ext.tool(name="shop")(Shop())

    @ext.tool
    @loud
    def quiet(text: str) -> str:
        return text

    with Harness(ext) as host:
        assert host.tools["price"]["description"] == "Price of an item."
        assert [host.call_tool(name, item="a").text for name in ("price", "shop")] == ["a: 1", "a"]
        assert host.call_tool("quiet", text="a").text == "A"


def test_coroutines_are_waited_for_and_cancelled_with_their_call(ext: Extension):
    import asyncio

    @ext.tool
    async def slow(ctx: ToolContext) -> str:
        ctx.progress("started")
        await asyncio.sleep(600)
        return "never"

    @ext.tool
    async def quick(text: str) -> str:
        await asyncio.sleep(0)
        return text

    with Harness(ext) as host:
        pending = host.begin_tool("slow")
        pending.wait_progress()
        assert host.call_tool("quick", text="a").text == "a"
        pending.cancel("aborted")
        assert pending.wait().text == "cancelled: aborted"

    with pytest.raises(RegistrationError, match="async generator"):

        @ext.tool
        async def several() -> Any:
            yield 1


def test_progress_and_cancellation(ext: Extension):
    closed = threading.Event()

    @ext.tool
    def search(ctx: ToolContext) -> str:
        ctx.on_cancel(closed.set)
        ctx.progress("page 1")
        assert ctx.wait(20)
        assert (ctx.cancelled, ctx.reason) == (True, "aborted")
        ctx.raise_if_cancelled()
        return "never"

    with Harness(ext) as host:
        pending = host.begin_tool("search")
        assert pending.wait_progress() == ["page 1"]
        pending.cancel("aborted")
        answer = pending.wait()
        assert (answer.is_error, answer.text, answer.progress) == (True, "cancelled: aborted", ["page 1"])
        assert closed.wait(20)
        assert len([frame for frame in host.frames if frame.get("id") == pending.id]) == 2


def test_a_call_that_is_cancelled_while_it_waits_is_not_begun():
    ext = Extension("one", threads=1)
    release, begun = threading.Event(), []

    @ext.tool
    def block(number: int, ctx: ToolContext) -> int:
        begun.append(number)
        ctx.progress("begun")
        assert release.wait(20)
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
        together.wait(20)
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
        together.wait(20)
        assert [call.wait().text for call in calls] == ["met", "met"]


@pytest.mark.parametrize(
    ("value", "action", "text"),
    [
        ("shown", "display", "shown"),
        (None, "noop", ""),
        (Display("a"), "display", "a"),
        (Prompt("b"), "prompt", "b"),
        (Insert("c"), "insert", "c"),
        (Noop(), "noop", ""),
    ],
)
def test_what_a_command_returns(ext: Extension, value: Any, action: str, text: str):
    ext.command(name="do")(lambda: value)
    with Harness(ext) as host:
        answer = host.run_command("do", "unused")
    assert (answer.action, answer.text, answer.error, answer.panel) == (action, text, "", None)


def test_commands_get_what_was_typed_and_fail_cleanly(ext: Extension, capsys: Any):
    @ext.command
    def echo(args: str, ctx: CommandContext) -> str:
        """Say it again."""
        return f"{ctx.name} {args}"

    @ext.command
    def broken(kind: str = "") -> Any:
        if kind == "wrong":
            return 3
        if kind == "error":
            return Error("no")
        raise KeyError("x")

    with Harness(ext) as host:
        assert host.commands == {"echo": "Say it again.", "broken": ""}
        assert host.run_command("echo", "a b").text == "echo a b"
        assert host.run_command("broken").error == "KeyError: 'x'"
        assert host.run_command("broken", "error").error == "no"
        assert "returns a str, None or a response" in host.run_command("broken", "wrong").error
        assert host.run_command("nothing").error == "sample has no command 'nothing'"
    capsys.readouterr()


def test_a_panel_is_opened_drawn_and_closed(ext: Extension):
    seen: list[Any] = []

    @ext.command
    def todo() -> OpenPanel:
        return OpenPanel("todo", "one\ntwo", title="To do", footer="q quits")

    @ext.on_panel_key("todo")
    def key(key: zotext.PanelKey) -> None:
        seen.append((key.key, key.text))
        if key.text == "q":
            ext.close_panel("todo")
        else:
            ext.render_panel("todo", ["one", "> two"])

    @ext.on_panel_resize("todo")
    def size(size: zotext.PanelSize) -> None:
        seen.append((size.width, size.height))

    @ext.on_panel_close("todo")
    def closed() -> None:
        seen.append("closed")

    with Harness(ext) as host:
        panel = host.run_command("todo").panel
        assert panel is not None
        assert (panel.title, panel.lines, panel.footer) == ("To do", ["one", "two"], "q quits")
        host.panel_key("todo", "down")
        assert host.panels["todo"].lines == ["one", "> two"]
        assert host.panels["todo"].title == "To do"
        host.panel_resize("todo", 80, 24)
        host.panel_key("other", "down")
        host.panel_key("todo", "rune", "q")
        assert host.panels == {}
        host.panel_close("todo")
    assert seen == [("down", ""), (80, 24), ("rune", "q"), "closed"]


@pytest.mark.parametrize(
    ("register", "text"),
    [
        (lambda ext: ext.command(name="/x")(lambda: None), "without the slash"),
        (lambda ext: ext.command(name="x")(lambda a, b: None), "takes one str"),
        (lambda ext: ext.tool(name="")(lambda: None), "needs a name"),
        (lambda ext: ext.tool(timeout_s=0)(lambda: None), "timeout_s"),
        (lambda ext: ext.on("turn_ende"), "there is no event 'turn_ende'"),
        (lambda ext: ext.on("turn_end")(lambda a, b: None), "takes one argument or none"),
        (lambda ext: ext.intercept_turn_start(lambda: None), "takes one argument"),
        (lambda ext: ext.intercept_tool_call(tools="bash"), "list of names"),
        (lambda ext: ext.on_shutdown(lambda a: None), "no argument"),
        (lambda ext: Extension(""), "needs a name"),
        (lambda ext: Extension("x", threads=0), "threads"),
    ],
)
def test_what_cannot_be_registered_says_why(ext: Extension, register: Any, text: str):
    with pytest.raises(RegistrationError, match=text):
        register(ext)


def test_a_name_is_taken_once_and_can_be_given_back(ext: Extension):
    @ext.tool
    def one() -> str:
        return "first"

    with pytest.raises(RegistrationError, match="already there"):
        ext.tool(name="one")(lambda: "second")
    with Harness(ext) as host:
        ext.unregister_tool("one")
        assert host.tools == {}
        assert host.call_tool("one").text == "sample has no tool 'one'"
        ext.tool(name="one")(lambda: "second")
        ext.command(name="late")(lambda: "late")
        assert host.call_tool("one").text == "second"
        assert host.run_command("late").text == "late"
    with pytest.raises(KeyError):
        ext.unregister_tool("two")


def test_images_from_bytes_and_files(tmp_path: Path):
    (tmp_path / "a.png").write_bytes(PNG)
    assert Image(tmp_path / "a.png") == Image(PNG)
    assert Image(str(tmp_path / "a.png")).mime_type == "image/png"
    assert Image(b"RIFF1234WEBPVP8 ").mime_type == "image/webp"
    assert Image(b"<svg/>", "image/svg+xml").mime_type == "image/svg+xml"
    with pytest.raises(ValueError, match="say the mime_type"):
        Image(b"<svg/>")
    with pytest.raises(FileNotFoundError):
        Image(tmp_path / "none.png")
