"""The deadline of a request whose caller does not wait.

A request that is not answered in time fails. An answer that comes later is ignored, with a line in the extension's log.
So a verdict that is too late is none, and the guard's `on_failure` decides. A caller that waits has the same deadline,
see `PendingRequests.wait`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.loop.future import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.extension.connection.pending_requests import PendingRequests
    from supervisor.loop.future import Pending
    from supervisor.loop.loop import Loop

TIMES_AT_MOST = 10
"""A call that goes on reporting progress may take this many times its time."""


def end_after_progress(progressed_at: float, asked_at: float, timeout_s: float) -> float:
    """When a request has run out of time whose last report of progress came at `progressed_at`."""
    return min(progressed_at + timeout_s, asked_at + TIMES_AT_MOST * timeout_s)


class Deadline:
    """Calls `then` once, in a later pass of the loop, when the request is answered, has failed, or `timeout_s` seconds
    are over."""

    __slots__ = ("_loop", "_pending", "_requests", "_then", "_timeout_s", "_timer")

    def __init__(
        self, loop: Loop, requests: PendingRequests, pending: Pending, timeout_s: float, then: Callable[[Pending], None]
    ) -> None:
        self._loop = loop
        self._requests = requests
        self._pending = pending
        self._timeout_s = timeout_s
        self._then = then
        self._timer = loop.call_later(timeout_s, self._passed)
        if pending.done:
            self._ended()
        else:
            pending.on_done = self._ended

    def cancel(self, reason: str) -> None:
        """Fails the request with this reason. Does nothing if it has ended."""
        self._requests.cancel(self._pending, reason)

    def _passed(self) -> None:
        """Fails the request, unless a report of progress has started its time anew."""
        pending = self._pending
        if pending.progressed_at is not None:
            ends_at = end_after_progress(pending.progressed_at, pending.asked_at, self._timeout_s)
            if self._loop.clock() < ends_at:
                self._timer = self._loop.call_at(ends_at, self._passed)
                return
        self._requests.expire(pending, self._timeout_s)

    def _ended(self) -> None:
        self._timer.cancel()
        if self._pending.failure not in (None, Failure.CANCELLED, Failure.TIMEOUT):
            self._requests.account.errors += 1
        self._loop.call_later(0, self._tell)

    def _tell(self) -> None:
        self._then(self._pending)
