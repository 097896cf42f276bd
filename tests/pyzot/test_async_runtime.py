"""`AsyncRuntime` with a real engine, whose model answers from a cassette."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import threading

import psutil
import pytest

from pyzot import (
    AsyncEventStream,
    AsyncRuntime,
    BusyError,
    ClosedError,
    EventStream,
    PromptFailed,
    ProtocolError,
    RefusedError,
    Runtime,
    RuntimeDied,
    async_runtime,
)
from pyzot.connection import engine_process
from tests.support.zot_process import wait_until


def test_every_call_can_be_awaited(start_async):
    async def main():
        zot = await start_async()
        result = await zot.run("go", check=True)
        assert result.text == "Done."
        assert result.usage == await zot.cost()
        assert (await zot.state()).message_count == 2
        await zot.set_messages(await zot.messages())
        await zot.clear()
        assert await zot.messages() == []
        await zot.set_model("claude-haiku-4-5")
        assert await zot.set_reasoning("max") == "xhigh"
        assert (await zot.state()).reasoning == "max"
        with pytest.raises(RefusedError, match=r"'hgih' is not one of .*; did you mean 'high'\?"):
            await zot.set_reasoning("hgih")
        assert (await zot.tools(), await zot.commands(), await zot.stats())[1:] == ([], {})
        (skill,) = await zot.skills()
        assert (skill.name, skill.source, skill.allowed_tools) == ("write-zot-extension", "builtin", None)
        with pytest.raises(PromptFailed, match="cassette"):
            await zot.run("something else", check=True)
        await zot.close()
        await zot.close()
        with pytest.raises(ClosedError):
            await zot.state()

    asyncio.run(main())


def test_it_works_in_a_loop_of_another_kind(fake_async):
    """Only what every loop has is used: futures, and calls from other threads."""

    class Loop(asyncio.SelectorEventLoop):
        def add_reader(self, *_):
            raise NotImplementedError

        add_writer = add_signal_handler = run_in_executor = subprocess_exec = add_reader

    async def main():
        async with fake_async() as zot:
            return (await zot.run("quick")).text

    loop = Loop()
    assert loop.run_until_complete(main()) == "Done."
    loop.close()


def test_the_loop_runs_on_while_an_engine_starts_and_ends(fake_async, monkeypatch):
    """`silent` never answers, `never_ends` never ends: both waits are seen in the middle."""
    monkeypatch.setattr(engine_process, "CLOSE_S", 0.1)
    monkeypatch.setattr(engine_process, "EXIT_S", 0.1)

    async def main():
        with pytest.raises(ProtocolError, match="protocol 2"):
            async with fake_async("other_version"):
                pass
        beats = 0

        async def beat():
            nonlocal beats
            while True:
                await asyncio.sleep(0)
                beats += 1

        beating = asyncio.create_task(beat())
        with monkeypatch.context() as impatient:
            impatient.setattr(async_runtime, "ANSWER_S", 0.1)
            with pytest.raises(ProtocolError, match="hello has not been answered"):
                await fake_async("silent")
        zot = await fake_async("never_ends")
        beats = 0
        await zot.close()
        beating.cancel()
        return beats

    assert asyncio.run(main()) > 100


def test_a_cancelled_task_aborts_its_prompt_and_the_runtime_goes_on(fake_async):
    async def main():
        async with fake_async() as zot:
            seen = asyncio.Event()

            async def read():
                async for _ in zot.prompt("go"):
                    seen.set()

            for begin in (read, lambda: zot.run("go")):
                task = asyncio.create_task(begin())
                await (seen.wait() if begin is read else asyncio.sleep(0))
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert (await zot.run("quick")).text == "Done."
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await zot.run("go")
            assert (await zot.run("quick")).text == "Done."

    asyncio.run(main())


def test_a_left_loop_and_a_closed_stream_end_the_prompt(fake_async):
    async def main():
        async with fake_async() as zot:
            async for _ in zot.prompt("go"):
                break
            assert (await zot.run("quick")).text == "Done."
            events = zot.prompt("go")
            with pytest.raises(BusyError):
                zot.prompt("again")
            await events.close()
            async with zot.prompt("go") as events:
                await anext(events)
            assert events.result.status == "interrupted"

    asyncio.run(main())


def test_a_refused_prompt_is_the_first_event_and_the_runtime_goes_on(fake_async):
    async def main():
        async with fake_async() as zot:
            events = zot.prompt("refused")
            with pytest.raises(RefusedError, match="needs text"):
                await anext(events)
            assert await zot.compact("names") == "short: names"
            with pytest.raises(RefusedError, match="the model fails"):
                await zot.compact("fail")
            assert not await zot.steer("left")
            with pytest.raises(RefusedError, match="100 messages"):
                await zot.steer("unwelcome")
            assert (await zot.run("quick")).text == "Done."

    asyncio.run(main())


def test_the_death_of_the_engine_ends_all_who_wait(fake_async):
    async def main():
        async with fake_async() as zot:
            first = asyncio.create_task(zot.run("go"))
            await zot.state()
            os.kill(zot.pid, signal.SIGKILL)
            with pytest.raises(RuntimeDied, match="signal 9"):
                await first
            with pytest.raises(RuntimeDied):
                await zot.state()

    asyncio.run(main())


def test_many_runtimes_in_one_loop(fake_async):
    async def one():
        async with fake_async() as zot:
            return (await zot.run("quick")).text

    async def main():
        return await asyncio.gather(*(one() for _ in range(10)))

    assert asyncio.run(main()) == ["Done."] * 10
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("zot-")] == []


def test_a_loop_that_is_closed_in_a_prompt_hurts_nothing(fake_async):
    zot = fake_async()

    async def main():
        events = zot.prompt("go")
        await anext(events)
        task = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        return events, task

    loop = asyncio.new_event_loop()
    _events, task = loop.run_until_complete(main())
    loop.close()
    zot.cancel()
    assert asyncio.run(zot.run("quick")).text == "Done."
    asyncio.run(zot.close())
    task._log_destroy_pending = False


def test_one_that_is_not_closed_is_warned_of_and_ends(fake_async):
    zot = fake_async()
    pid = zot.pid
    with pytest.warns(ResourceWarning, match="was not closed"):
        del zot
    wait_until(lambda: not psutil.pid_exists(pid))


def public(cls):
    return {name: member for name, member in vars(cls).items() if not name.startswith("_") or name == "__init__"}


@pytest.mark.parametrize(
    ("sync", "asynchronous"), [(Runtime, AsyncRuntime), (EventStream, AsyncEventStream)], ids=["Runtime", "EventStream"]
)
def test_both_have_the_same_methods_with_the_same_parameters(sync, asynchronous):
    ours, theirs = public(sync), public(asynchronous)
    assert list(ours) == list(theirs)
    for name in ours:
        if inspect.isfunction(ours[name]):
            found, other = inspect.signature(ours[name]), inspect.signature(theirs[name])
            assert found.parameters == other.parameters, name
            assert str(found.return_annotation).replace("EventStream", "AsyncEventStream") == str(
                other.return_annotation
            ) or (found.return_annotation == other.return_annotation), name
