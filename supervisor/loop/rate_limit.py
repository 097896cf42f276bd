"""Limits how often an extension may do something, such as send notes, so that others are still heard."""

from __future__ import annotations

BURST = 20
PER_SECOND = 10.0
NOTE_LENGTH = 4000
"""Maximum number of characters of a note; the rest is cut."""


class TokenBucket:
    """Admits `burst` units at once, and `per_second` in the long run, on the caller's clock."""

    __slots__ = ("_at", "_burst", "_per_second", "_tokens")

    def __init__(self, now: float, burst: int = BURST, per_second: float = PER_SECOND) -> None:
        self._burst = float(burst)
        self._per_second = per_second
        self._tokens = self._burst
        self._at = now

    def admits(self, now: float, cost: float = 1.0) -> bool:
        """Takes `cost` units. Returns False, and takes none, if fewer are left."""
        if now > self._at:
            self._tokens = min(self._burst, self._tokens + (now - self._at) * self._per_second)
            self._at = now
        if self._tokens < cost:
            return False
        self._tokens -= cost
        return True

    def next_at(self, cost: float = 1.0) -> float:
        """When an action that costs `cost` units is admitted again, on the caller's clock."""
        return self._at + max(0.0, cost - self._tokens) / self._per_second
