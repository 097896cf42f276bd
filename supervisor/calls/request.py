"""A request to extensions without waiting: a callback gets the result, exactly once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from supervisor.extension.connection.deadline import Deadline
from supervisor.loop.future import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.accounting.account import Account
    from supervisor.extension.connection.pending_requests import PendingRequests
    from supervisor.loop.future import Pending
    from supervisor.loop.loop import Loop


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


class InFlight:
    """A pending request. Its callback is called exactly once, in a later pass of the loop than the pass that began or
    cancelled the request."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._awaited: list[Deadline] = []
        self._cancelled: str | None = None

    def cancel(self, reason: str) -> None:
        """Ends the request early, if it has not ended: the callback then gets a failure with this reason."""
        self._cancelled = reason
        for each in self._awaited:
            each.cancel(reason)

    def _await(
        self, requests: PendingRequests, pending: Pending, timeout_s: float, then: Callable[[Pending], None]
    ) -> None:
        """Calls `then` in a later pass, when the request is answered, has failed, or the timeout has passed."""
        self._awaited.append(Deadline(self._loop, requests, pending, timeout_s, then))
