"""The program is an extension, and has a loop: coroutines run there."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from pyzot import AsyncRuntime, BusyError, RefusedError
from tests.support.messages_server import text_reply
from tests.support.patience import PATIENCE_S
from tests.support.program_tools import calls, told, weather
from tests.support.zot_process import wait_until
from zotext import Extension, block


async def on_loop() -> str:
    """Say where it runs."""
    await asyncio.sleep(0)
    return threading.current_thread().name


def in_thread() -> bool:
    """Say whether it runs beside the loop."""
    return threading.current_thread() is not threading.main_thread()


def test_coroutines_run_on_the_loop_of_the_program_and_functions_in_threads(model, options):
    async def main():
        async with AsyncRuntime(functions=[on_loop, in_thread, weather], **options) as zot:
            assert {tool.name for tool in await zot.tools()} >= {"on_loop", "in_thread", "weather"}
            return await zot.run("go", check=True)

    calls(model, ("on_loop", {}), ("in_thread", {}), ("weather", {"city": "Oslo"}))
    result = asyncio.run(main())
    assert [text for text, _ in told(model)] == [threading.main_thread().name, "true", "Oslo: 1 sunny day(s)"]
    assert result.extensions["functions"].calls == 3


def test_a_guard_and_a_command_that_are_coroutines_share_the_state_of_the_program(model, options, guard):
    async def main():
        lock = asyncio.Lock()  # of this loop alone

        @guard.intercept_tool_call
        async def judge(call):
            async with lock:
                return block("not now")

        @guard.command
        async def look() -> str:
            async with lock:
                return f"busy: {(await zot.state()).busy}"

        async with AsyncRuntime(extensions=[guard], functions=[weather], **options) as zot:
            await zot.run("go", check=True)
            return (await zot.command("/look")).text

    calls(model, ("weather", {"city": "Oslo"}))
    assert asyncio.run(main()) == "busy: False"
    assert "not now" in told(model)[0][0]


def test_a_coroutine_is_cancelled_with_its_call(model, options):
    async def main():
        begun, cancelled = asyncio.Event(), asyncio.Event()

        async def wait() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

        async with AsyncRuntime(functions=[wait], **options) as zot:
            run = asyncio.create_task(zot.run("go"))
            await asyncio.wait_for(begun.wait(), PATIENCE_S)
            zot.cancel()
            await asyncio.wait_for(cancelled.wait(), PATIENCE_S)
            return (await run).status

    calls(model, ("wait", {}))
    assert asyncio.run(main()) == "interrupted"


def test_close_cancels_the_coroutines_and_does_not_hold_up_the_loop(model, options):
    async def main():
        begun, cancelled = asyncio.Event(), asyncio.Event()

        async def wait() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                cancelled.set()

        zot = await AsyncRuntime(functions=[wait], **options)
        events = zot.prompt("go")
        await asyncio.wait_for(begun.wait(), PATIENCE_S)
        await zot.close()
        assert events.result is None or events.result.status == "interrupted"
        return cancelled.is_set()

    calls(model, ("wait", {}))
    assert asyncio.run(main())


def test_close_needs_no_thread_of_the_loop(model, options):
    async def main():
        held = threading.Event()
        with ThreadPoolExecutor(1) as threads:
            asyncio.get_running_loop().set_default_executor(threads)
            busy = asyncio.create_task(asyncio.to_thread(held.wait, PATIENCE_S))
            zot = await AsyncRuntime(functions=[weather], **options)
            await zot.close()
            is_busy = not busy.done()
            held.set()
            await busy
        return is_busy

    assert asyncio.run(main())


def test_in_a_coroutine_a_prompt_is_refused_and_its_runtime_can_be_closed(model, options):
    async def main():
        closed = asyncio.Event()

        async def leave() -> None:
            with pytest.raises(BusyError, match="handler"):
                zot.prompt("more")
            try:
                await zot.close()  # cancels its own call, too
            finally:
                closed.set()

        zot = await AsyncRuntime(functions=[leave], **options)
        events = zot.prompt("go")
        await asyncio.wait_for(closed.wait(), PATIENCE_S)
        await events.close()
        await asyncio.to_thread(wait_until, lambda: not psutil.pid_exists(zot.pid))

    calls(model, ("leave", {}))
    asyncio.run(main())


def test_awaiting_a_runtime_twice_begins_its_extensions_once(model, options, guard):
    async def main():
        zot = await AsyncRuntime(extensions=[guard], **options)
        async with zot:
            return (await zot.run("go", check=True)).extensions["guard"].exits

    model.add(text_reply("Done."))
    assert asyncio.run(main()) == 0


def test_a_name_that_is_taken_is_refused(options):
    async def main():
        runtime = AsyncRuntime(extensions=[Extension("../x")], **options)
        with pytest.raises(RefusedError, match="without slashes"):
            await runtime

    asyncio.run(main())


def test_an_extension_of_the_program_calls_tools_of_the_agent(model, options):
    helper = Extension("helper")

    @helper.tool
    async def measure(path: str) -> int:
        return len((await helper.call_tool_async("read", {"path": path})).text)

    @helper.tool
    def first(path: str) -> str:
        return helper.call_tool("read", {"path": path}).text[:3]

    async def main():
        async with AsyncRuntime(extensions=[helper], **options) as zot:
            await zot.run("go", check=True)

    (options["cwd"] / "a.txt").write_text("0123456789\n")
    calls(model, ("measure", {"path": "a.txt"}), ("first", {"path": "a.txt"}))
    asyncio.run(main())
    assert [text for text, _ in told(model)] == ["11", "012"]
