"""The repr of a runtime and of a host, in whatever state: of use in a log, and never an exception."""

from __future__ import annotations

import asyncio
import os
import re
import signal

import pytest

from pyzot import AsyncHost, AsyncRuntime, Host, Runtime, RuntimeDied
from tests.pyzot.conftest import fake_engine


def test_a_runtime(fake):
    runtime = fake()
    assert repr(runtime) == f"<Runtime pid={runtime.pid} model='fake' open>"
    runtime.set_model("other")
    assert repr(runtime) == f"<Runtime pid={runtime.pid} model='other' open>"
    runtime.close()
    assert repr(runtime) == f"<Runtime pid={runtime.pid} model='other' closed>"


def test_a_runtime_whose_engine_has_died(fake):
    runtime = fake()
    os.kill(runtime.pid, signal.SIGKILL)
    with pytest.raises(RuntimeDied):
        runtime.run("go")
    assert repr(runtime) == f"<Runtime pid={runtime.pid} model='fake' ended>"


def test_one_that_was_never_made():
    assert repr(Runtime.__new__(Runtime)) == "<Runtime not started>"
    assert repr(AsyncRuntime.__new__(AsyncRuntime)) == "<AsyncRuntime not started>"
    assert repr(Host.__new__(Host)) == "<Host not connected>"
    assert repr(AsyncHost.__new__(AsyncHost)) == "<AsyncHost not connected>"


def test_an_async_runtime():
    async def main():
        zot = AsyncRuntime(program=fake_engine())
        assert re.fullmatch(r"<AsyncRuntime pid=\d+ model='(fake)?' (open|starting)>", repr(zot))
        async with zot:
            assert repr(zot) == f"<AsyncRuntime pid={zot.pid} model='fake' open>"
        assert repr(zot).endswith(" closed>")

    asyncio.run(main())
