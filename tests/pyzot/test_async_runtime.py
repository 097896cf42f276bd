"""`AsyncRuntime` with a real engine, whose model answers from a cassette."""

from __future__ import annotations

import asyncio
import inspect
import threading

import pytest

from pyzot import (
    AsyncEventStream,
    AsyncRuntime,
    ClosedError,
    Done,
    EventStream,
    PromptFailed,
    Runtime,
    RuntimeDied,
    TextDelta,
)


def test_the_events_of_a_prompt_come_in_order(start_async):
    async def main():
        async with start_async() as zot:
            events = zot.prompt("go")
            seen = [event async for event in events]
            assert "".join(each.delta for each in seen if isinstance(each, TextDelta)) == "Done."
            assert isinstance(seen[-1], Done)
            assert events.result == seen[-2]

    asyncio.run(main())


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
        await zot.set_model((await zot.list_models())[0].id)
        assert (await zot.tools(), await zot.commands(), await zot.stats())[1:] == ([], {})
        with pytest.raises(PromptFailed, match="cassette"):
            await zot.run("something else", check=True)
        await zot.close()
        await zot.close()
        with pytest.raises(ClosedError):
            await zot.state()

    asyncio.run(main())


def test_wrong_options_are_raised_where_the_greeting_is_awaited(start_async):
    async def main():
        with pytest.raises(RuntimeDied, match="no-such-cassette") as caught:
            async with start_async(replay="no-such-cassette"):
                pass
        assert caught.value.exit_status == 2

    asyncio.run(main())


def test_it_works_in_a_loop_of_another_thread(start_async):
    texts = []

    async def main():
        async with start_async() as zot:
            texts.append((await zot.run("go")).text)

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    thread.join()
    assert texts == ["Done."]


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
