"""Keeps one extension's notes from drowning everybody else's."""

from __future__ import annotations

BURST = 20
PER_SECOND = 10.0


class NoteGate:
    """A token bucket on the caller's clock: `BURST` notes at once, then `PER_SECOND` in the long run."""

    __slots__ = ("_at", "_tokens")

    def __init__(self, now: float) -> None:
        self._tokens = float(BURST)
        self._at = now

    def admits(self, now: float) -> bool:
        if self._tokens < 1.0:
            self._tokens = min(float(BURST), self._tokens + (now - self._at) * PER_SECOND)
            self._at = now
            if self._tokens < 1.0:
                return False
        elif now > self._at:
            self._tokens = min(float(BURST), self._tokens + (now - self._at) * PER_SECOND)
            self._at = now
        self._tokens -= 1.0
        return True
