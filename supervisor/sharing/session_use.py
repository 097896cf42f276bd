"""The use of one extension by each run: its counters, and its part of the busy time and of the processor time. Pure."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from wire.dialects.attach import SessionUse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


COUNTERS = ("calls", "errors", "timeouts", "frames_in", "frames_out", "busy_s", "runs", "under_way")


class RunUse:
    """The counters of one run at one extension, or of several runs together."""

    __slots__ = (*COUNTERS, "since")

    def __init__(self, runs: int = 1) -> None:
        self.calls = self.errors = self.timeouts = self.frames_in = self.frames_out = 0
        self.busy_s = 0.0
        self.under_way = 0
        """Its requests that the extension has now."""
        self.runs = runs
        """Number of runs whose counters are added up here."""
        self.since: float | None = None
        """The time at which the run took the extension, in seconds since the epoch; None for several runs."""


def sum_of(uses: Iterable[RunUse]) -> RunUse:
    """The counters of all these runs together."""
    found = RunUse(0)
    for use in uses:
        for name in COUNTERS:
            setattr(found, name, getattr(found, name) + getattr(use, name))
    return found


class Uses:
    """Divides the busy time of an extension among the runs that have requests under way. `clock` is in seconds, and
    `now` in seconds since the epoch."""

    def __init__(self, clock: Callable[[], float], now: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._now = now
        self._busy: set[RunUse] = set()
        self._since = clock()
        self.busy_s = 0.0
        """Seconds in which any request was under way."""
        self.gone = RunUse(0)
        """The use of all runs together that have gone."""

    def new(self) -> RunUse:
        use = RunUse()
        use.since = self._now()
        return use

    def began(self, use: RunUse) -> None:
        self._divide()
        use.under_way += 1
        self._busy.add(use)

    def ended(self, use: RunUse) -> None:
        self._divide()
        use.under_way = max(0, use.under_way - 1)
        if not use.under_way:
            self._busy.discard(use)

    def left(self, use: RunUse) -> None:
        """The run has gone, with all its requests."""
        self._divide()
        use.under_way = 0
        self._busy.discard(use)
        self.gone = sum_of((self.gone, use))

    def _divide(self) -> None:
        now = self._clock()
        if self._busy:
            passed = now - self._since
            self.busy_s += passed
            part = passed / len(self._busy)
            for use in self._busy:
                use.busy_s += part
        self._since = now

    def told(self, use: RunUse, cpu_s: float) -> SessionUse:
        """The use of a run so far. `cpu_s` are the processor seconds of the extension since the first run."""
        self._divide()
        share = use.busy_s / self.busy_s if self.busy_s else 0.0
        return SessionUse(
            use.calls, use.errors, use.timeouts, use.frames_in, use.frames_out, round(use.busy_s, 6),
            round(cpu_s * share, 6),
        )  # fmt: skip
