"""How a program without asyncio waits, in any of its threads. `async_waits.py` has the same for asyncio."""

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


def come(pending: PendingAnswer, timeout_s: float | None) -> dict[str, Any]:
    """The data of what comes. Raises its error, and `ProtocolError` if it does not come in time."""
    return pending.wait(timeout_s)


def next_item(inbox: Inbox) -> Any:
    """The next item of an inbox; None at its end. Raises the error that ended it."""
    return inbox.take()


def over(stream: PromptStream) -> None:
    """Returns when no event of the prompt follows."""
    stream.wait_over()


def gone(process: EngineProcess) -> None:
    """Ends a process and returns when it is gone; earlier if a callback of the program holds its thread up."""
    process.close()


def in_thread(function: Callable[..., T], *args: Any) -> T:
    """What the function returns, which waits by itself."""
    return function(*args)


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The loop for the program's coroutines; None for one of zotext."""
    return None
