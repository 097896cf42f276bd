"""Runs handlers that are coroutines: on the event loop that their host names, else on a shared loop, whose thread
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


class RunningCoroutines:
    """The running coroutines of handlers. Between `cancel_all` and `admit`, an added coroutine is cancelled at once."""

    def __init__(self) -> None:
        self._futures: set[Future[object]] = set()
        self._admits = True

    def add(self, future: Future[object]) -> None:
        self._futures.add(future)
        if not self._admits:  # read after the future was added: one of the two threads sees the other's change
            future.cancel()

    def discard(self, future: Future[object]) -> None:
        self._futures.discard(future)

    def cancel_all(self) -> None:
        self._admits = False
        for future in self._futures.copy():
            future.cancel()

    def admit(self) -> None:
        self._admits = True


def run_in(loop: asyncio.AbstractEventLoop | None, under_way: RunningCoroutines) -> None:
    """Runs coroutines of this thread's handlers on `loop` from now on, which runs in another thread; None means the
    loop of this module. Running coroutines are in `under_way`."""
    _thread.loop, _thread.under_way = loop, under_way


def finish(returned: object, context: CallContext | None = None) -> object:
    """Returns the value of a handler. Waits for a coroutine, and cancels it when the call is cancelled."""
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
    under_way: RunningCoroutines = getattr(_thread, "under_way", None) or RunningCoroutines()
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
            threading.Thread(target=_run, args=(loop,), daemon=True, name="zotext asyncio").start()
            _loops.append(loop)
        return _loops[0]


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Runs the loop for ever, even if a handler stops it or raises `SystemExit`, which leaves a loop."""
    from contextlib import suppress

    while not loop.is_closed():
        with suppress(BaseException):  # its task has the error, and passes it on
            loop.run_forever()
