"""Runs handlers that are coroutines: on the event loop that their host names, else on one loop for all, whose thread
starts with the first coroutine."""

from __future__ import annotations

from _thread import _local, allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

    from .context import CallContext

_starting = allocate_lock()
_loops: list[asyncio.AbstractEventLoop] = []
_thread = _local()


def run_in(loop: asyncio.AbstractEventLoop | None, under_way: set[Future[object]]) -> None:
    """Coroutines of this thread's handlers run on `loop` from now on, which runs in another thread; None for that of
    this module. While they run, they are in `under_way`."""
    _thread.loop, _thread.under_way = loop, under_way


def finished(returned: object, context: CallContext | None = None) -> object:
    """The value that a handler returned. Waits for a coroutine, and cancels it when the call is cancelled."""
    if type(returned).__name__ != "coroutine":
        return returned
    import asyncio
    import concurrent.futures

    from .errors import Cancelled

    loop = getattr(_thread, "loop", None) or _loop()
    try:
        future = asyncio.run_coroutine_threadsafe(returned, loop)  # type: ignore[arg-type, var-annotated]
    except RuntimeError:  # the host's loop is closed
        returned.close()  # type: ignore[attr-defined]
        raise
    if context is not None:
        context.on_cancel(future.cancel)
    under_way: set[Future[object]] = getattr(_thread, "under_way", set())
    under_way.add(future)
    try:
        return future.result()
    except concurrent.futures.CancelledError:
        raise Cancelled(context.reason if context else "") from None
    finally:
        under_way.discard(future)


def _loop() -> asyncio.AbstractEventLoop:
    import asyncio
    import threading

    with _starting:
        if not _loops:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, daemon=True, name="zotext asyncio").start()
            _loops.append(loop)
        return _loops[0]
