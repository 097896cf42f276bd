"""A moment on two clocks: wall time for display, monotonic time for measurement."""

from __future__ import annotations

import time
from typing import NamedTuple


class Timestamp(NamedTuple):
    wall: float
    """Seconds since the epoch."""
    clock: float
    """Seconds of the monotonic clock."""

    @classmethod
    def now(cls) -> Timestamp:
        return cls(time.time(), time.monotonic())

    @property
    def age_ms(self) -> float:
        """Milliseconds since this moment, on the monotonic clock."""
        return (time.monotonic() - self.clock) * 1000
