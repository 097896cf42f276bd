"""A moment on both clocks: the wall's, to be shown, and one that does not jump, to measure from."""

from __future__ import annotations

import time
from typing import NamedTuple


class Timestamp(NamedTuple):
    wall: float
    """Seconds since the epoch."""
    clock: float

    @classmethod
    def now(cls) -> Timestamp:
        return cls(time.time(), time.monotonic())

    @property
    def age_ms(self) -> float:
        return (time.monotonic() - self.clock) * 1000
