"""Learns, for one descriptor, whether a wait for an answer is shorter if it spins or if it sleeps. Pure.

Spinning (reading, and yielding the processor in between) is quicker if the other side runs on another core, or has
answered already. Sleeping is quicker if the other side needs this core for longer.
"""

from __future__ import annotations

MEASURED_EVERY = 8
"""One wait in so many is measured."""
EXPLORED_EVERY = 8
"""One measured wait in so many is made in the way that seems slower: one wait in 64."""
STEP = 0.1
"""By this fraction a measurement moves the running median of its way up or down."""
LEAD = 0.97
"""The other way is taken over if its median is below this fraction of the median of the present way."""


class WaitHabit:
    """Count `left` down before each wait. At 0 call `begin_measured` before and `took` after the wait; other waits are
    made as `sleeps` says."""

    __slots__ = ("_explored_sleeping", "_measured", "_medians", "left", "sleeps")

    def __init__(self) -> None:
        self.sleeps = False
        """Whether to sleep at once."""
        self.left = 1
        self._measured = 0
        self._explored_sleeping = False
        self._medians = [0.0, 0.0]
        """Running medians of spinning and of sleeping, in seconds; 0 before the first measurement."""

    def begin_measured(self) -> bool:
        """Whether the measured wait is to sleep."""
        self.left = MEASURED_EVERY
        self._measured += 1
        explores = self._measured % EXPLORED_EVERY == 2
        self._explored_sleeping = self.sleeps != explores
        return self._explored_sleeping

    def took(self, seconds: float) -> None:
        """Takes the duration of the wait for which `begin_measured` was called."""
        medians, way = self._medians, int(self._explored_sleeping)
        before = medians[way]
        medians[way] = before * (1 + STEP if seconds > before else 1 - STEP) if before else seconds
        present, other = medians[self.sleeps], medians[not self.sleeps]
        if other and other < present * LEAD:
            self.sleeps = not self.sleeps
