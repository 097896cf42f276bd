"""The time of one run. Seconds in which the run waits for a rate limit do not count. Pure."""

from __future__ import annotations


class RunClock:
    """Begins at `now`, on the clock of the loop."""

    def __init__(self, now: float) -> None:
        self.began = now
        self._paused_s = 0.0
        self._paused_at: float | None = None

    @property
    def is_paused(self) -> bool:
        return self._paused_at is not None

    def pause(self, now: float) -> None:
        """Does nothing if it is paused."""
        if self._paused_at is None:
            self._paused_at = now

    def resume(self, now: float) -> None:
        """Does nothing if it is not paused."""
        if self._paused_at is not None:
            self._paused_s += now - self._paused_at
            self._paused_at = None

    def pause_s(self, now: float) -> float:
        """Of the pause that goes on; 0 if there is none."""
        return 0.0 if self._paused_at is None else now - self._paused_at

    def paused_s(self, now: float) -> float:
        return self._paused_s + self.pause_s(now)

    def passed_s(self, now: float) -> float:
        """Since the beginning, pauses included."""
        return now - self.began

    def left_s(self, timeout_s: float, now: float) -> float:
        """Seconds until `timeout_s` have counted; 0 or less if they have."""
        return timeout_s - (self.passed_s(now) - self.paused_s(now))
