"""A batch in a program with asyncio. A stand-in is the batch."""

from __future__ import annotations

import asyncio

import pytest

from pyzot import BatchError
from tests.pyzot.conftest import is_gone


async def ids(batch):
    return [result.id async for result in batch]


def test_results_those_of_an_earlier_batch_first(fake_async):
    async def main():
        async with fake_async("ok", "fail") as batch:
            assert await ids(batch) == ["1", "2"]
            assert batch.summary.reason == "done"
        async with fake_async("ok", "fail", "ok") as batch:
            summary = await batch.wait()
            assert await ids(batch) == ["1", "2", "3"]
            assert summary == batch.summary
            assert repr(batch) == f"<AsyncBatch pid={batch.pid} done>"

    asyncio.run(main())


def test_two_tasks_share_the_results(fake_async):
    async def main():
        async with fake_async(*["ok"] * 100) as batch:
            found = await asyncio.gather(ids(batch), ids(batch))
            assert sorted(map(int, found[0] + found[1])) == list(range(1, 101))

    asyncio.run(main())


def test_a_cancelled_task_loses_no_result(fake_async):
    async def main():
        async with fake_async("ok", "hang", "ok") as batch:
            assert (await anext(batch)).id == "1"
            waiting = asyncio.ensure_future(anext(batch))
            await asyncio.sleep(0)  # it waits now
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            batch.stop()
            assert await ids(batch) == []
            assert batch.summary.reason == "stopped"

    asyncio.run(main())


def test_leaving_the_block_stops_it_and_errors_are_raised(fake_async):
    async def main():
        async with fake_async("ok", "hang") as batch:
            assert (await anext(batch)).id == "1"
        assert (is_gone(batch.pid), batch.summary.reason) == (True, "stopped")
        async with fake_async("ok", "ok", behaviour="refuses") as batch:
            for call in (lambda: ids(batch), batch.wait):
                with pytest.raises(BatchError) as caught:
                    await call()
                assert caught.value.exit_status == 2

    asyncio.run(main())
