"""A request to extensions without waiting: a callback gets the result, exactly once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from supervisor.loop.future import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.accounting.account import Account
    from supervisor.extension.worker import Worker
    from supervisor.loop.future import Pending
    from supervisor.loop.loop import Loop, Timer


Frame = TypeVar("Frame")


class Answer(msgspec.Struct, Generic[Frame], frozen=True):
    """The answer to a tool call or a command. A failure has a reason and no frame."""

    frame: Frame | None
    failure: Failure | None = None
    reason: str = ""


def read_answer(pending: Pending, kind: type[Frame], what: str, account: Account) -> Answer[Frame]:
    """The answer of a request that has ended. A frame of another type is a failure and counts as an error."""
    if pending.failure is not None:
        return Answer(None, pending.failure, pending.reason)
    if not isinstance(pending.value, kind):
        account.errors += 1
        return Answer(None, Failure.BAD_ANSWER, f"it answered a {what} with {pending.value.__struct_config__.tag}")
    return Answer(pending.value)


TIMES_AT_MOST = 10
"""A call that goes on reporting progress may take this many times its time."""


def end_after_progress(progressed_at: float, asked_at: float, timeout_s: float) -> float:
    """When a request has run out of time whose last report of progress came at `progressed_at`."""
    return min(progressed_at + timeout_s, asked_at + TIMES_AT_MOST * timeout_s)


class InFlight:
    """A pending request. Its callback is called exactly once, in a later pass of the loop than the pass that began or
    cancelled the request."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._awaited: dict[int, tuple[Worker, Pending, Timer]] = {}
        self._cancelled: str | None = None

    def cancel(self, reason: str) -> None:
        """Ends the request early, if it has not ended: the callback then gets a failure with this reason."""
        self._cancelled = reason
        for worker, pending, _ in list(self._awaited.values()):
            worker.cancel(pending, reason)

    def _await(self, worker: Worker, pending: Pending, timeout_s: float, then: Callable[[Pending], None]) -> None:
        """Calls `then` in a later pass, when the worker has answered, has failed to, or the timeout has passed."""
        timer = self._loop.call_later(timeout_s, lambda: self._late(worker, pending, timeout_s))
        self._awaited[id(pending)] = worker, pending, timer

        def done() -> None:
            self._awaited.pop(id(pending))[2].cancel()
            if pending.failure is not None and pending.failure not in (Failure.CANCELLED, Failure.TIMEOUT):
                worker.account.errors += 1
            self._loop.call_later(0, lambda: then(pending))

        if pending.done:
            done()
        else:
            pending.on_done = done

    def _late(self, worker: Worker, pending: Pending, timeout_s: float) -> None:
        """Expires a request whose time is over, unless a report of progress has started it anew."""
        if (progressed_at := pending.progressed_at) is not None:
            ends_at = end_after_progress(progressed_at, pending.asked_at, timeout_s)
            if self._loop.clock() < ends_at:
                again = self._loop.call_at(ends_at, lambda: self._late(worker, pending, timeout_s))
                self._awaited[id(pending)] = worker, pending, again
                return
        worker.expire(pending, timeout_s)
