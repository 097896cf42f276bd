"""A moment on two clocks: wall time to show, and monotonic time to measure from."""

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
        return (time.monotonic() - self.clock) * 1000
