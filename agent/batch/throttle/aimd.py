"""How many requests may be open at the same time: more while all goes well, fewer after a refusal. Pure.

For servers that send no headers, and for accounts that others use, too.
"""

from __future__ import annotations

FIRST = 8
"""Open requests before the first answer."""
CUT = 0.8
"""What a refusal leaves of the limit."""
CUT_AGAIN_S = 15.0
"""Seconds in which further refusals are of the same cause: their requests were sent before the first one came."""
USED = 0.8
"""The limit grows only while so much of it is used: otherwise it says nothing."""


class Aimd:
    """A limit from 1 to `most`. Until the first refusal it grows by one for each answer, so it doubles with each round;
    then by one for each round."""

    def __init__(self, most: int) -> None:
        self._most = float(max(1, most))
        self._limit = min(float(FIRST), self._most)
        self._is_starting = True
        self._no_cut_until = 0.0

    @property
    def limit(self) -> int:
        return int(self._limit)

    def answered(self, open_requests: int) -> None:
        """A reply has begun, while so many requests were open, itself included."""
        if open_requests >= USED * int(self._limit):
            step = 1.0 if self._is_starting else 1.0 / self._limit
            self._limit = min(self._limit + step, self._most)

    def refused(self, now: float, open_requests: int, retry_after_s: float) -> None:
        """A request was refused because of a rate limit, while so many were open, itself included. What of the limit
        was not used is no part of it any more, down to `FIRST`: nothing has shown that the server takes so many."""
        self._is_starting = False
        if now >= self._no_cut_until:
            self._limit = max(1.0, min(self._limit, max(float(open_requests), FIRST)) * CUT)
            self._no_cut_until = now + max(CUT_AGAIN_S, retry_after_s)
