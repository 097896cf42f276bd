"""Decides when the events that wait for a rule are delivered together. Pure.

The courier imports this module, so it needs only the standard library.
"""

from __future__ import annotations

from typing import Any

EVERY_S = 1.0
"""Minimum of seconds from one delivery of a rule to its next."""
MOST = 100
"""Maximum number of events of one delivery. Further ones are counted."""


class Coalescer:
    """The events that wait for one rule. Of the deliveries of a rule the next begins when the last has ended."""

    def __init__(self) -> None:
        self._waiting: list[Any] = []
        self._more = 0
        self._next_at = float("-inf")
        self._is_busy = False

    def add(self, event: Any, left_out: int = 0) -> None:
        """Adds an event. `left_out`: the number of events before it that are only counted."""
        self._more += left_out
        if len(self._waiting) < MOST:
            self._waiting.append(event)
        else:
            self._more += 1

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits and nothing is being delivered."""
        return not self._waiting and not self._is_busy

    def due(self) -> float | None:
        """The time of the next delivery; None if nothing waits, or the last delivery has not ended."""
        return self._next_at if self._waiting and not self._is_busy else None

    def take(self, now: float) -> dict[str, Any]:
        """Begins a delivery, at `now`. Returns the alert: all that waits."""
        alert = {"events": self._waiting, "more": self._more}
        self._waiting, self._more, self._is_busy = [], 0, True
        self._next_at = now + EVERY_S
        return alert

    def ended(self) -> None:
        """The delivery has ended."""
        self._is_busy = False
