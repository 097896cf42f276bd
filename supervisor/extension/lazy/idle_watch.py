"""Whether an extension has had nothing to do for long enough to be stopped. Pure."""

from __future__ import annotations

LOOKS = 4
"""Number of looks within the time after which an idle extension is stopped."""


class IdleWatch:
    """Looks at an extension from time to time. It is idle since the first of the looks that saw nothing change."""

    def __init__(self, idle_s: float, now: float, activity: int) -> None:
        """`idle_s` are the seconds after which an idle extension is stopped; `activity` is a number that grows with
        each request and each event. Times are seconds of one clock."""
        self._idle_s = idle_s
        self._activity = activity
        self._since = now
        self.every_s = idle_s / LOOKS
        """Seconds between two looks."""

    def is_idle(self, now: float, activity: int, *, is_busy: bool) -> bool:
        """Takes one look. `is_busy`: something is pending. Returns whether nothing was pending, and nothing new came,
        for `idle_s` seconds at least, and at most as many and the time between two looks."""
        if is_busy or activity != self._activity:
            self._activity = activity
            self._since = now
        return now - self._since >= self._idle_s
