"""Decides whether and when a failed request is sent once more. Pure.

The rules are those of the official SDK, with two exceptions: a request is not sent again if the server asks for a
longer wait than `RETRY_AFTER_CAP_S`, or if it is too long. The model worker imports this file and must start fast, so
it imports the standard library only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.model.failure import ErrorKind

if TYPE_CHECKING:
    from agent.model.failure import ModelError

RETRY_AFTER_CAP_S = 60.0
"""Maximum wait in seconds. If a server asks for a longer one, the failure is reported at once, with the wait."""
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 8.0
JITTER = 0.25
"""Maximum part of a wait that is left out at random, so that clients that failed together do not retry together."""
STATUSES = (408, 409, 429)
"""The HTTP statuses below 500 after which a request is retried."""
KINDS = (ErrorKind.CONNECTION, ErrorKind.TIMEOUT, ErrorKind.OVERLOADED)
"""The failures after which a request is retried with any HTTP status."""
_REASONS = {
    ErrorKind.RATE_LIMIT: "rate limited",
    ErrorKind.OVERLOADED: "overloaded",
    ErrorKind.SERVER: "server error",
    ErrorKind.CONNECTION: "no connection",
    ErrorKind.TIMEOUT: "no answer in time",
}


def wait_before_retry(
    failure: ModelError, *, retries: int, of: int, chance: float, rate_limits: bool = True
) -> float | None:
    """Seconds to wait before the request is sent once more; None if it must not be.

    `retries`: the number of retries so far; `of`: their maximum; `chance`: a random number from 0 to 1. A too long
    request is never retried; otherwise the server decides if it says so (`x-should-retry`). Without `rate_limits`, the
    host waits for rate limits, not the worker.
    """
    if retries >= of or failure.kind is ErrorKind.TOO_LONG:
        return None
    if not rate_limits and failure.kind is ErrorKind.RATE_LIMIT:
        return None
    wanted = failure.should_retry
    if wanted is None:
        status = failure.status
        wanted = failure.kind in KINDS or (status is not None and (status in STATUSES or status >= 500))
    if not wanted:
        return None
    if failure.retry_after is not None:
        return failure.retry_after if failure.retry_after <= RETRY_AFTER_CAP_S else None
    return float(min(FIRST_WAIT_S * 2 ** min(retries, 10), LONGEST_WAIT_S) * (1 - JITTER * chance))


def reason(failure: ModelError) -> str:
    """Why the request is sent once more, in a few words."""
    return _REASONS.get(failure.kind, "refused for now")
