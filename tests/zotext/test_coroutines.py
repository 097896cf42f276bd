"""Handlers that are coroutines."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from zotext import Extension, RegistrationError, ToolContext
from zotext.coroutines import RunningCoroutines
from zotext.testing import Harness


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


def test_a_coroutine_that_is_added_after_all_were_cancelled_is_cancelled_too():
    under_way, early, late, last = RunningCoroutines(), Future(), Future(), Future()
    under_way.add(early)
    under_way.cancel_all()
    under_way.add(late)
    assert (early.cancelled(), late.cancelled()) == (True, True)
    under_way.admit()
    under_way.add(last)
    assert not last.cancelled()
