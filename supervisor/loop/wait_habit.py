"""Learns, for one descriptor, whether a wait for an answer is shorter if it spins or if it sleeps. Pure.

Spinning (reading, and yielding the processor in between) is quicker if the other side runs on another core, or has
answered already. Sleeping is quicker if the other side needs this core for longer.
"""

from __future__ import annotations

MEASURED_EVERY = 8
"""One wait in this number is measured."""
EXPLORED_EVERY = 8
"""One measured wait in this number is made in the way that seems slower: one wait in 64."""
STEP = 0.03
"""Fraction by which a measurement moves the running median of its way up or down; the first few move it further."""
LEAD = 0.92
"""The other way becomes the present one if its median is below this fraction of the present one's."""


class Way:
    """The running median of the durations of one way to wait."""

    __slots__ = ("count", "median_s")

    def __init__(self) -> None:
        self.count = 0
        self.median_s = 0.0

    def add(self, seconds: float) -> None:
        step = max(STEP, 1 / (self.count + 1))
        self.median_s *= 1 + step if seconds > self.median_s else 1 - step
        if not self.count:
            self.median_s = seconds
        self.count += 1


class WaitHabit:
    """Count `left` down before each wait that is not over at once. At 0 call `begin_measured` before the wait and
    `took` after it. Other waits are made as `sleeps` says."""

    __slots__ = ("_measured", "_measured_sleeps", "left", "sleeping", "sleeps", "spinning")

    def __init__(self) -> None:
        self.sleeps = False
        """Whether to sleep at once."""
        self.left = 1
        self.spinning = Way()
        self.sleeping = Way()
        self._measured = 0
        self._measured_sleeps = False

    def begin_measured(self) -> bool:
        """Begins a measured wait. Returns whether it must sleep."""
        self.left = MEASURED_EVERY
        self._measured += 1
        explores = self._measured % EXPLORED_EVERY == EXPLORED_EVERY // 2
        self._measured_sleeps = self.sleeps != explores
        return self._measured_sleeps

    def took(self, seconds: float) -> None:
        """Adds the duration of the wait for which `begin_measured` was called."""
        (self.sleeping if self._measured_sleeps else self.spinning).add(seconds)
        present, other = (self.sleeping, self.spinning) if self.sleeps else (self.spinning, self.sleeping)
        if other.count and other.median_s < present.median_s * LEAD:
            self.sleeps = not self.sleeps
