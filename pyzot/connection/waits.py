"""Waits for programs without asyncio, in any thread. `async_waits.py` has the same for asyncio."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import Any, TypeVar

    from .engine_process import EngineProcess
    from .inbox import Inbox
    from .pending_answer import PendingAnswer
    from .prompt_stream import PromptStream

    T = TypeVar("T")


def wait_answer(pending: PendingAnswer, timeout_s: float | None) -> dict[str, Any]:
    """Returns the data of the answer. Raises its error, and `ProtocolError` if it does not come in time."""
    return pending.wait(timeout_s)


def next_item(inbox: Inbox) -> Any:
    """Returns the next item of an inbox; None at its end. Raises the error that ended it."""
    return inbox.take()


def wait_over(stream: PromptStream) -> None:
    """Returns when no event of the prompt follows."""
    stream.wait_over()


def wait_gone(process: EngineProcess) -> None:
    """Ends a process and returns when it is gone; earlier if a callback of the program holds its thread up."""
    process.close()


def run_in_thread(function: Callable[..., T], *args: Any) -> T:
    """Calls a function that blocks, and returns its result."""
    return function(*args)


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Returns the loop for the program's coroutines; None for the loop of zotext."""
    return None
