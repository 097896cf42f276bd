"""A request to an extension without waiting: a callback gets the result, exactly once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.loop.future import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.extension.worker import Worker
    from supervisor.loop.future import Pending
    from supervisor.loop.loop import Loop, Timer


class InFlight:
    """A pending request. Its callback is called exactly once, in a later pass of the loop than the pass that began or
    cancelled the request."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._worker: Worker | None = None
        self._pending: Pending | None = None
        self._timer: Timer | None = None
        self._cancelled: str | None = None

    def cancel(self, reason: str) -> None:
        """Ends the request early, if it has not ended: the callback then gets a failure with this reason."""
        self._cancelled = reason
        if self._pending is not None and self._worker is not None:
            self._worker.cancel(self._pending, reason)

    def _await(self, worker: Worker, pending: Pending, timeout_s: float, then: Callable[[Pending], None]) -> None:
        def done() -> None:
            if self._timer is not None:
                self._timer.cancel()
            if pending.failure is not None and pending.failure not in (Failure.CANCELLED, Failure.TIMEOUT):
                worker.account.errors += 1
            self._loop.call_later(0, lambda: then(pending))

        self._worker, self._pending = worker, pending
        if pending.done:
            done()
            return
        pending.on_done = done
        self._timer = self._loop.call_later(timeout_s, lambda: worker.expire(pending, timeout_s))
