"""Handlers that are coroutines. They share one event loop, on a thread that starts with the first of them."""

from __future__ import annotations

from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio

    from .context import CallContext

_starting = allocate_lock()
_loops: list[asyncio.AbstractEventLoop] = []


def finished(returned: object, context: CallContext | None = None) -> object:
    """What a handler returned; a coroutine is waited for. When the call is cancelled so is the coroutine."""
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
