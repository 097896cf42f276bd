"""Runs handlers that are coroutines, on one event loop. Its thread starts with the first coroutine."""

from __future__ import annotations

from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio

    from .context import CallContext

_starting = allocate_lock()
_loops: list[asyncio.AbstractEventLoop] = []


def finished(returned: object, context: CallContext | None = None) -> object:
    """The value that a handler returned. Waits for a coroutine, and cancels it when the call is cancelled."""
    if type(returned).__name__ != "coroutine":
        return returned
    import asyncio
    import concurrent.futures

    from .errors import Cancelled

    future = asyncio.run_coroutine_threadsafe(returned, _loop())  # type: ignore[arg-type, var-annotated]
    if context is not None:
        context.on_cancel(future.cancel)
    try:
        return future.result()
    except concurrent.futures.CancelledError:
        raise Cancelled(context.reason if context else "") from None


def _loop() -> asyncio.AbstractEventLoop:
    import asyncio
    import threading

    with _starting:
        if not _loops:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, daemon=True, name="zotext asyncio").start()
            _loops.append(loop)
        return _loops[0]
