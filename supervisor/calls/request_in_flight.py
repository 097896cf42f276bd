"""Requests whose callers do not wait, and their deadlines: a callback gets the result, exactly once.

A request that is not answered in time fails. An answer that comes later is ignored, with a line in the extension's log.
So a late verdict counts as no verdict, and the guard's `on_failure` decides. A caller that waits has the same deadline,
see `PendingRequests.wait`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from supervisor.extension.connection.pending_requests import TIMES_AT_MOST
from supervisor.loop.future import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.extension.connection.pending_requests import PendingRequests
    from supervisor.loop.future import Pending
    from supervisor.loop.loop import Loop, Timer


class Cancellable(Protocol):
    """A request that is under way."""

    def cancel(self, reason: str) -> None:
        """Ends the request early, if it has not ended: its callback then gets a failure with this reason."""


class _Ended:
    def cancel(self, reason: str) -> None:
        """Does nothing: the request has ended."""


ENDED = _Ended()
"""A request that has ended, or cannot be ended early."""


def end_after_progress(progressed_at: float, asked_at: float, timeout_s: float) -> float:
    """The deadline of a request whose last progress report came at `progressed_at`."""
    return min(progressed_at + timeout_s, asked_at + TIMES_AT_MOST * timeout_s)


class RequestInFlight:
    """A request to extensions that is under way. Its callback is called exactly once, in a later pass of the loop than
    the pass that began or cancelled the request."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._awaited: dict[int, tuple[PendingRequests, Pending, Timer, Callable[[Pending], None]]] = {}
        self._cancelled: str | None = None

    def cancel(self, reason: str) -> None:
        """Ends the request early, if it has not ended: the callback then gets a failure with this reason."""
        self._cancelled = reason
        for requests, pending, *_ in list(self._awaited.values()):
            requests.cancel(pending, reason)

    @property
    def waits_for_person(self) -> bool:
        """Whether a person has to decide first. That time counts for no deadline."""
        return False

    def waits_for(self, requests: PendingRequests) -> bool:
        """Whether it waits for an answer of this worker."""
        return any(asked is requests for asked, *_ in self._awaited.values())

    def _await(
        self, requests: PendingRequests, pending: Pending, timeout_s: float, then: Callable[[Pending], None]
    ) -> None:
        """Calls `then` in a later pass, when the request is answered, has failed, or `timeout_s` seconds are over."""
        timer = self._loop.call_later(timeout_s, partial(self._late, pending, timeout_s))
        self._awaited[id(pending)] = requests, pending, timer, then
        if pending.done:
            self._end(pending)
        else:
            pending.on_done = partial(self._end, pending)

    def _late(self, pending: Pending, timeout_s: float) -> None:
        """Fails the request, unless a progress report has moved its deadline, or it has waited for a start, or waits
        for a person."""
        requests, _, _, then = self._awaited[id(pending)]
        now = ends_at = self._loop.clock()
        if self.waits_for_person:
            ends_at = now + timeout_s
        elif pending.progressed_at is not None:
            ends_at = end_after_progress(pending.progressed_at, pending.asked_at, timeout_s)
        elif pending.what is not None:
            # The start has time limits of its own: until it is over, this is looked at again.
            ends_at = now + timeout_s if requests.waits_for_start else pending.asked_at + timeout_s
        if now < ends_at:
            again = self._loop.call_at(ends_at, partial(self._late, pending, timeout_s))
            self._awaited[id(pending)] = requests, pending, again, then
            return
        requests.expire(pending, timeout_s)

    def _end(self, pending: Pending) -> None:
        """Calls the callback in the next pass."""
        requests, _, timer, then = self._awaited.pop(id(pending))
        timer.cancel()
        pending.on_done = None
        if pending.failure is not None and pending.failure not in (Failure.CANCELLED, Failure.TIMEOUT):
            requests.account.errors += 1
        self._loop.call_later(0, partial(then, pending))
