"""Whether a failed request is sent once more, and after how long. Pure.

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
"""Seconds. If a server asks for a longer wait, the failure is reported at once, with the wait."""
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 8.0
JITTER = 0.25
"""The part of a wait that chance may take off, so that clients that failed together do not come back together."""
STATUSES = (408, 409, 429)
"""The HTTP statuses below 500 that are tried again."""
KINDS = (ErrorKind.CONNECTION, ErrorKind.TIMEOUT, ErrorKind.OVERLOADED)
"""The failures that are tried again whatever their HTTP status is."""
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
    """Seconds to wait before the request is sent once more; None if it is not to be sent again.

    `retries` is the number of those that were made, `of` the most that are allowed, and `chance` a random number from
    0 to 1. A request that is too long would be so again; else a server that says whether to try again
    (`x-should-retry`) decides. Without `rate_limits`, whoever sends the requests waits for rate limits.
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
