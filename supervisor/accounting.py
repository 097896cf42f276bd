"""What one extension costs: its process tree, its frames, and the time that its answers take."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from supervisor.processes import ProcessTable, peak_rss
from wire.events import Cost

if TYPE_CHECKING:
    from collections.abc import Iterable

    from supervisor.child import Child, ExitStatus

_PER_DOUBLING = 8
_BOUNDS = tuple(1e-7 * 2 ** (index / _PER_DOUBLING) for index in range(36 * _PER_DOUBLING))
"""Upper ends of the buckets in seconds, from 100 ns to two hours."""


class Histogram:
    """Durations in logarithmic buckets: eight to each doubling, so a percentile is off by 5 % at most."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts = [0] * (len(_BOUNDS) + 1)

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(_BOUNDS, seconds)] += 1

    @property
    def count(self) -> int:
        return sum(self._counts)

    def percentile(self, fraction: float) -> float | None:
        """Seconds, the middle of the bucket that holds this fraction of the samples; None without samples."""
        wanted = fraction * self.count
        passed = 0
        for index, count in enumerate(self._counts):
            passed += count
            if count and passed >= wanted:
                return _middle(index)
        return None


def _middle(index: int) -> float:
    if index == len(_BOUNDS):
        return _BOUNDS[-1]
    return _BOUNDS[index] * 2 ** (-0.5 / _PER_DOUBLING)


class Account:
    """Counters of one extension. Whoever does the thing counts it; nobody decides anything here."""

    def __init__(self) -> None:
        self.frames_in = 0
        self.frames_out = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.calls = 0
        self.errors = 0
        self.timeouts = 0
        self.blocks = 0
        self.events_dropped = 0
        self.notes_dropped = 0
        self.junk_lines = 0
        self.exits = 0
        self.latency = Histogram()
        self._cpu_before = 0.0  # of processes of this extension that have exited
        self._cpu_now = 0.0
        self.rss_peak = 0
        self.processes_peak = 0
        self.exit_status: str | None = None

    @property
    def cpu_s(self) -> float:
        return self._cpu_before + self._cpu_now

    def sampled(self, cpu_s: float, rss: int, processes: int) -> None:
        """One look at the living tree. CPU seconds never go down: a process that ended took its share with it."""
        self._cpu_now = max(self._cpu_now, cpu_s)
        self.rss_peak = max(self.rss_peak, rss)
        self.processes_peak = max(self.processes_peak, processes)

    def exited(self, status: ExitStatus) -> None:
        self.exits += 1
        self.exit_status = str(status)
        self.rss_peak = max(self.rss_peak, status.rss_peak)
        self._cpu_before += max(self._cpu_now, status.cpu_s)
        self._cpu_now = 0.0

    def cost(self, state: str) -> Cost:
        p50 = self.latency.percentile(0.50)
        p99 = self.latency.percentile(0.99)
        return Cost(
            state=state,
            cpu_ms=round(self.cpu_s * 1000),
            rss_peak_bytes=self.rss_peak,
            processes_peak=self.processes_peak,
            frames_in=self.frames_in,
            frames_out=self.frames_out,
            bytes_in=self.bytes_in,
            bytes_out=self.bytes_out,
            calls=self.calls,
            errors=self.errors,
            timeouts=self.timeouts,
            blocks=self.blocks,
            events_dropped=self.events_dropped,
            notes_dropped=self.notes_dropped,
            junk_lines=self.junk_lines,
            p50_ms=None if p50 is None else round(p50 * 1000, 4),
            p99_ms=None if p99 is None else round(p99 * 1000, 4),
            exits=self.exits,
            exit_status=self.exit_status,
        )


def sample(trees: Iterable[tuple[Child, Account]]) -> ProcessTable:
    """One pass over the process table for all trees at once."""
    table = ProcessTable.read()
    for child, account in trees:
        if not child.is_running:
            continue
        tree = table.tree([child.pid], session=child.pid)
        rss = sum(process.rss for process in tree.values())
        account.sampled(sum(process.cpu_s for process in tree.values()), max(rss, peak_rss(child.pid)), len(tree))
    return table
