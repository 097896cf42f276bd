"""An extension in the process of its host, without pipes."""

from __future__ import annotations

import asyncio
import threading
from queue import Queue

import pytest

from tests.support.patience import PATIENCE_S
from zotext import Extension, ToolContext

ACK = {"type": "hello_ack", "protocol_version": 1, "model": "m", "features": ["log"]}


class Host:
    """Attaches an extension, and keeps what it says."""

    def __init__(self, extension, **given):
        self.said = Queue()
        self.attachment = extension.attach(self.said.put, **given)

    def begin(self):
        self.attachment.begin()
        self.attachment.handle(ACK)
        return [self.said.get(timeout=PATIENCE_S) for _ in range(self.said.qsize())]

    def answer(self, **frame):
        self.attachment.handle(frame)
        return self.said.get(timeout=PATIENCE_S)

    def call(self, name, **args):
        return self.answer(type="tool_call", id="c1", name=name, args=args)


@pytest.fixture
def ext():
    return Extension("mine", "1.2.3")


@pytest.fixture
def host(ext):
    made = Host(ext)
    yield made
    assert made.attachment.close(10)


def test_it_says_hello_and_answers_calls_in_threads(ext, host):
    @ext.tool
    def where() -> str:
        return threading.current_thread().name

    assert [frame["type"] for frame in host.begin()] == ["hello", "register_tool", "ready"]
    assert ext.host.model == "m"
    answer = host.call("where")
    assert (answer["type"], answer["content"][0]["text"]) == ("tool_result", "zotext tool")


def test_an_extension_serves_one_host_at_a_time_and_the_first_is_not_disturbed(ext, host):
    @ext.tool
    def ask() -> str:
        return "still here"

    host.begin()
    second = Host(ext)
    with pytest.raises(RuntimeError, match="mine already runs: an Extension serves one host at a time"):
        second.begin()
    assert second.attachment.close()
    assert host.call("ask")["content"][0]["text"] == "still here"


def test_after_its_end_it_can_serve_another(ext):
    first = Host(ext)
    first.begin()
    first.attachment.close()
    first.attachment.close()
    second = Host(ext)
    assert second.begin()[0]["type"] == "hello"
    second.attachment.close()


def test_the_end_cancels_calls_and_then_calls_the_handlers_of_on_shutdown(ext, host):
    heard = []

    @ext.tool
    def wait(ctx: ToolContext) -> str:
        ctx.progress("begun")
        ctx.wait(PATIENCE_S)
        heard.append(ctx.reason)
        return "x"

    @ext.on_shutdown
    def last() -> None:
        heard.append("last")

    host.begin()
    assert host.call("wait")["type"] == "tool_progress"
    assert host.attachment.close(10)
    assert heard == ["shutdown", "last"]


def test_the_end_does_not_wait_for_a_handler_that_ignores_it(ext):
    go_on = threading.Event()

    @ext.tool
    def deaf(ctx: ToolContext) -> None:
        ctx.progress("begun")
        go_on.wait(PATIENCE_S)

    host = Host(ext)
    host.begin()
    host.call("deaf")
    assert not host.attachment.close(0)
    go_on.set()


def test_coroutines_run_on_the_loop_of_the_host_and_are_cancelled_there(ext):
    cancelled = Queue()

    @ext.tool
    async def where() -> bool:
        return asyncio.get_running_loop() is loop

    @ext.tool
    async def wait(ctx: ToolContext) -> None:
        ctx.progress("begun")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.put(asyncio.get_running_loop() is loop)
            raise

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        host = Host(ext, loop=loop)
        host.begin()
        assert host.call("where")["content"][0]["text"] == "true"
        assert host.call("wait")["type"] == "tool_progress"
        host.attachment.handle({"type": "cancel", "id": "c1", "reason": "aborted"})
        assert host.said.get(timeout=PATIENCE_S)["content"][0]["text"] == "cancelled: aborted"
        assert cancelled.get(timeout=PATIENCE_S)
        host.attachment.close(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_the_end_cancels_the_coroutines_of_guards_and_events(ext, capsys):
    begun, ended = Queue(), Queue()

    async def wait() -> None:
        begun.put(True)
        try:
            await asyncio.Event().wait()
        finally:
            ended.put(True)

    @ext.intercept_tool_call
    async def judge(call):
        await wait()

    @ext.on("turn_end")
    async def heard(event):
        await wait()

    host = Host(ext)
    host.begin()
    host.attachment.handle({"type": "event_intercept", "id": "g", "event": "tool_call", "tool_args": {}})
    host.attachment.handle({"type": "event", "event": "turn_end"})
    for _ in range(2):
        assert begun.get(timeout=PATIENCE_S)
    assert host.attachment.close(10)
    for _ in range(2):
        assert ended.get(timeout=PATIENCE_S)
    assert host.said.get(timeout=PATIENCE_S)["block"] is True
    assert capsys.readouterr().err == ""


def test_a_loop_that_is_closed_is_an_error_of_the_call(ext, capsys):
    @ext.tool
    async def ask() -> None: ...

    loop = asyncio.new_event_loop()
    loop.close()
    host = Host(ext, loop=loop)
    host.begin()
    assert "closed" in host.call("ask")["content"][0]["text"]
    host.attachment.close(10)


def test_each_thread_for_handlers_is_told(ext):
    told = threading.local()

    @ext.tool
    def ask() -> bool:
        return told.here

    host = Host(ext, on_thread=lambda: setattr(told, "here", True))
    host.begin()
    assert host.call("ask")["content"][0]["text"] == "true"
    host.attachment.close(10)


def test_a_frame_that_cannot_be_handled_is_reported(ext, host, capsys):
    host.begin()
    host.attachment.handle({"type": "tool_call"})
    host.attachment.handle({})
    assert "without an id" in capsys.readouterr().err
    assert host.answer(type="ping", id="p")["type"] == "pong"
