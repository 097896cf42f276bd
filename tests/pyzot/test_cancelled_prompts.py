"""Requests to a runtime right after a prompt was cancelled reach the engine when that prompt has ended."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest

from pyzot import AsyncRuntime, BusyError, ClosedError, Done, RefusedError, Runtime
from tests.pyzot.conftest import fake_engine
from tests.support.messages_server import MessagesServer, stall_midway, text_reply

STORY = text_reply("Once...Upon...")


@pytest.fixture
def held(tmp_path):
    """The options of a runtime whose model stops in the middle of its first five answers."""
    with MessagesServer(*[stall_midway(STORY, after=4)] * 5, STORY) as server:
        yield {
            "base_url": server.base_url,
            "api_key": "k",
            "cwd": tmp_path,
            "no_tools": True,
            "env": {"ZOT_HOME": str(tmp_path / "home")},
        }


def begun(runtime, text="go"):
    """A prompt whose answer has begun."""
    events = runtime.prompt(text)
    for event in events:
        if event.type == "text_delta":
            return events
    raise AssertionError("no answer")


def cancelled(runtime):
    events = begun(runtime)
    runtime.cancel()
    return events


def left(runtime):
    begun(runtime)
    gc.collect()


def closed(runtime):
    begun(runtime).close()


def cancelled_at_once(runtime):
    events = runtime.prompt("go")
    runtime.cancel()
    return events


KEPT = [{"role": "user", "content": [{"type": "text", "text": "kept"}]}]


@pytest.mark.parametrize("end", [cancelled, left, closed, cancelled_at_once])
def test_the_conversation_can_be_changed_at_once(held, end):
    with Runtime(**held) as runtime:
        for change in (runtime.clear, lambda: runtime.set_messages(KEPT)):
            _events = end(runtime)
            change()
        assert [part["text"] for message in runtime.messages() for part in message["content"]] == ["kept"]
        _events = end(runtime)
        with pytest.raises(RefusedError, match="nothing to compact"):
            runtime.compact()
        runtime.set_model("claude-sonnet-5")
        assert not runtime.steer("left")


def test_the_events_of_a_cancelled_prompt_can_still_be_read(held):
    with Runtime(**held) as runtime:
        events = cancelled(runtime)
        runtime.clear()
        assert isinstance(list(events)[-1], Done)
        assert events.result.status == "interrupted"


def test_a_prompt_that_runs_is_not_waited_for(held):
    with Runtime(**held) as runtime:
        events = begun(runtime)
        for change in (runtime.clear, lambda: runtime.set_messages([])):
            with pytest.raises(RefusedError, match="busy"):
                change()
        with pytest.raises(BusyError):
            runtime.compact()
        events.close()


def test_it_is_waited_for_all_cancelled_prompts(held):
    with Runtime(**held) as runtime:
        first = cancelled(runtime)
        with pytest.raises(RefusedError, match="needs a text or an image"):
            runtime.prompt(" ")  # over at once, while the one before it may still be about to end
        runtime.clear()
        assert first.result.status == "interrupted"


def test_in_a_callback_nothing_is_waited_for(fake):
    raised = []

    def on_event(_event):
        runtime.cancel()
        for change in (runtime.clear, lambda: runtime.set_messages([])):
            with pytest.raises(BusyError):
                change()
            raised.append(change)

    runtime = fake(on_event=on_event)
    list(runtime.prompt("event"))
    assert len(raised) == 2


def test_close_ends_the_wait(fake):
    runtime = fake("never_reads")
    stream, _ = runtime._client.begin("prompt", message="go")
    runtime.cancel()
    raised = []

    def change():
        with pytest.raises(ClosedError) as caught:
            runtime.clear()
        raised.append(caught.type)

    waits = threading.Thread(target=change)
    waits.start()
    runtime._client.begin_close()
    runtime._client.process.end(at_once=True)
    runtime.close()
    waits.join()
    assert stream.is_over
    assert raised == [ClosedError]


async def begun_async(runtime):
    events = runtime.prompt("go")
    async for event in events:
        if event.type == "text_delta":
            return events
    raise AssertionError("no answer")


def test_the_conversation_can_be_changed_at_once_with_asyncio(held):
    async def main():
        async with AsyncRuntime(**held) as zot:

            async def answer():
                async for event in zot.prompt("go"):
                    if event.type == "text_delta":
                        seen.set()

            for change in (zot.clear, lambda: zot.set_messages(KEPT)):
                seen = asyncio.Event()
                task = asyncio.create_task(answer())
                await seen.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                await change()
            assert len(await zot.messages()) == 1
            events = await begun_async(zot)
            zot.cancel()
            await zot.clear()
            assert [event async for event in events][-1].type == "done"
            events = await begun_async(zot)
            with pytest.raises(RefusedError, match="busy"):
                await zot.clear()
            await events.close()
            await zot.clear()
            with pytest.raises(RefusedError, match="nothing to compact"):
                await zot.compact()

    asyncio.run(main())


def test_a_task_that_is_cancelled_while_it_waits_changes_nothing():
    async def main():
        zot = AsyncRuntime(program=fake_engine("never_reads"))
        await zot._wait_greeting()
        zot.prompt("go")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await zot.clear()
        assert [pending.kind for pending in zot._client._pending.values()] == ["prompt"]
        zot._client.process.end(at_once=True)
        await zot.close()

    asyncio.run(main())
