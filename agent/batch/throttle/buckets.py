"""What is left of a rate limit, told from the headers of answers. Pure.

Anthropic refills its buckets all the time, up to the limit of a minute; `reset` is when a bucket would be full again.
Other servers count anew at `reset`. In both cases the bucket is full then, so its rate follows from that time.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.cassette.reply_lines import RateLimit

WINDOW_S = 60.0
"""Seconds in which a bucket is refilled, where the headers do not tell."""
TELLING_RESET_S = 5.0
"""Seconds. Of a shorter time until `reset` the rate cannot be told: headers have whole seconds."""


class Bucket:
    """One limit. Before `told`, it is not known and limits nothing."""

    def __init__(self) -> None:
        self.limit = 0
        """0 while it is not known, or if the provider does not have it."""
        self._level = 0.0
        self._at = 0.0
        self._rate = 0.0

    def told(self, now: float, told: RateLimit, *, is_late: bool = False) -> None:
        """Takes what an answer says. With `is_late` an answer to a later request has told before: what is left is then
        the less of both."""
        least = self.level(now) if is_late and told.limit == self.limit else math.inf
        if told.limit != self.limit:
            self._rate = told.limit / WINDOW_S
        self.limit = told.limit
        self._level = float(min(told.remaining, told.limit, least))
        self._at = now
        if told.reset_s is not None and told.reset_s >= TELLING_RESET_S and told.remaining < told.limit:
            self._rate = (told.limit - told.remaining) / told.reset_s

    @property
    def is_per_minute(self) -> bool:
        return bool(self.limit) and math.isclose(self._rate * WINDOW_S, self.limit, rel_tol=0.3)

    def level(self, now: float) -> float:
        """What is left."""
        return min(self.limit, self._level + self._rate * max(0.0, now - self._at))

    def take(self, now: float, amount: float) -> None:
        """Takes what was used since the last answer told."""
        self._level, self._at = self.level(now) - amount, now

    def ready_at(self, now: float, amount: float) -> float:
        """When so much is there, `now` at the earliest. More than the limit will never be there: then when it is
        full."""
        missing = min(amount, self.limit) - self.level(now)
        return now if missing <= 0 else now + missing / self._rate if self._rate else math.inf
