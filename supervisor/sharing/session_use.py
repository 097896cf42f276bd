"""The use of one extension by each run: its counters, and its part of the busy time and of the processor time. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.attach import SessionUse

if TYPE_CHECKING:
    from collections.abc import Callable


class RunUse:
    """The counters of one run at one extension."""

    __slots__ = ("busy_s", "calls", "errors", "frames_in", "frames_out", "timeouts", "under_way")

    def __init__(self) -> None:
        self.calls = self.errors = self.timeouts = self.frames_in = self.frames_out = 0
        self.busy_s = 0.0
        self.under_way = 0
        """Its requests that the extension has now."""


class Uses:
    """Divides the busy time of an extension among the runs that have requests under way. `clock` is in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._busy: set[RunUse] = set()
        self._since = clock()
        self.busy_s = 0.0
        """Seconds in which any request was under way."""

    def new(self) -> RunUse:
        return RunUse()

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
