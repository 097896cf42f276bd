"""Waits for programs with asyncio, in any loop. `waits.py` has the same for threads."""

from __future__ import annotations

import asyncio

from ..errors import ProtocolError
from .engine_process import STUCK_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from .engine_process import EngineProcess
    from .inbox import Inbox
    from .pending_answer import PendingAnswer
    from .prompt_stream import PromptStream

    T = TypeVar("T")


async def wait_answer(pending: PendingAnswer, timeout_s: float | None) -> dict[str, Any]:
    """Returns the data of the answer. Raises its error, and `ProtocolError` if it does not come in time."""
    try:
        async with asyncio.timeout(timeout_s):
            await _called_back(pending.on_come)
    except TimeoutError:
        raise pending.late(timeout_s) from None
    return pending.read()


async def next_item(inbox: Inbox) -> Any:
    """Returns the next item of an inbox; None at its end. Raises the error that ended it."""
    while True:
        await _called_back(inbox.on_ready)
        item = inbox.take(wait=False)
        if item is not None or inbox.is_drained:
            return item  # otherwise another task has taken it


async def wait_over(stream: PromptStream) -> None:
    """Returns when no event of the prompt follows."""
    await _called_back(stream.on_over)


async def wait_gone(process: EngineProcess) -> None:
    """Ends a process and returns when it is gone; earlier if a callback of the program holds its thread up."""
    process.end()
    try:
        await wait_answer(process.ended, STUCK_S)
    except ProtocolError:
        pass
    process.close(0.1)  # the thread ends at this moment


async def run_in_thread(function: Callable[..., T], *args: Any) -> T:
    """Runs a function that blocks, in a thread, and returns its result."""
    return await asyncio.to_thread(function, *args)


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Returns the loop for the program's coroutines; None for the loop of zotext."""
    return asyncio.get_running_loop()


async def _called_back(tell: Callable[[Callable[[], None]], None]) -> None:
    """Waits until the callback that `tell` gets is called, in any thread; does not wait if it is called at once."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()

    def arrive() -> None:
        if not future.done():
            future.set_result(None)

    def call() -> None:
        try:
            loop.call_soon_threadsafe(arrive)
        except RuntimeError:  # the loop is closed: no task waits there
            return

    tell(call)
    await future
