"""The counters of one extension: its process trees, its frames, and the latency of its answers."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from wire.events import Cost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wire.events import HostedShare

COUNTERS = (
    "frames_in", "frames_out", "bytes_in", "bytes_out", "calls", "calls_made", "errors", "timeouts", "blocks",
    "events_dropped", "notes_dropped", "junk_lines", "exits", "unexpected_exits", "exits_by_host",
    "exit_status", "restarts", "start_waits", "answers_dropped",
)  # fmt: skip
"""The counters that every report has. Each is an attribute of `Account`."""
TRACKED = 64
"""Maximum number of samples of a `MemoryTrack`."""
_PER_DOUBLING = 8
_BOUNDS = tuple(1e-7 * 2 ** (index / _PER_DOUBLING) for index in range(36 * _PER_DOUBLING))
"""Upper ends of the buckets in seconds, from 100 ns to two hours."""


class Histogram:
    """Counts durations in logarithmic buckets, eight per doubling: a percentile is wrong by at most 5 %."""

    __slots__ = ("_counts", "sum_s")

    def __init__(self) -> None:
        self._counts = [0] * (len(_BOUNDS) + 1)
        self.sum_s = 0.0
        """Seconds of all durations together."""

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(_BOUNDS, seconds)] += 1
        self.sum_s += seconds

    @property
    def count(self) -> int:
        return sum(self._counts)

    def percentile(self, fraction: float) -> float | None:
        """Returns the middle, in seconds, of the bucket where this fraction of samples ends; None without samples."""
        if not (count := self.count):
            return None
        return _middle(bisect_left(list(accumulate(self._counts)), max(1.0, fraction * count)))

    def buckets(self) -> tuple[tuple[float, int], ...]:
        """Returns upper end (seconds) and count of each bucket that is not empty, ascending."""
        if not self.count:
            return ()
        ends = (*_BOUNDS, _BOUNDS[-1])
        return tuple((end, count) for end, count in zip(ends, self._counts, strict=True) if count)


def _middle(index: int) -> float:
    if index == len(_BOUNDS):
        return _BOUNDS[-1]
    return _BOUNDS[index] * 2 ** (-0.5 / _PER_DOUBLING)


class MemoryTrack:
    """The memory of an extension since one of its processes last ended. When `TRACKED` samples are kept, every second
    one is dropped and the interval doubles, so that they reach back to the first."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.samples: list[int] = []
        """In bytes."""
        self.grown: tuple[float, float] | None = None
        """The memory of the first and of the last samples, in bytes, while it only grows: see `growth`."""
        self.has_leaked = False
        """Whether it only grew at some time."""
        self.began_at = 0.0
        """Time of the first sample."""
        self._interval_s = 1.0
        self._next_at = 0.0

    def add(self, now: float, rss: int) -> None:
        """Keeps a sample, in bytes, unless the last one is too recent."""
        if self.samples and now < self._next_at:
            return
        if not self.samples:
            self.began_at = now
        self.samples.append(rss)
        if len(self.samples) >= TRACKED:
            del self.samples[1::2]
            self._interval_s *= 2
        self._next_at = now + self._interval_s
        self.grown = growth(self.samples)  # 5 µs, at most once a second


class Account:
    """Counters of one extension. The code that acts increments them; this class decides nothing."""

    def __init__(self) -> None:
        self.frames_in = 0
        self.frames_out = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.calls = 0
        self.calls_made = 0
        self.errors = 0
        self.timeouts = 0
        self.blocks = 0
        self.events_dropped = 0
        self.notes_dropped = 0
        self.junk_lines = 0
        self.answers_dropped = 0
        self.exits = 0
        self.unexpected_exits = 0
        self.exits_by_host = 0
        self.restarts = 0
        self.limit_breaches = 0
        self.no_verdicts = 0
        self.start_waits = 0
        self.start_wait_s = 0.0
        self.model_tokens: float | None = None
        self.model_usd: float | None = None
        self.latency = Histogram()
        self._cpu_before = 0.0  # of the processes that have exited
        self._cpu_now = 0.0  # of the processes that live
        self.rss_peak = 0
        self._rss = 0  # of the last sample
        self._rss_at_exit = 0
        self.memory = MemoryTrack()
        self.processes_peak = 0
        self.exit_status: str | None = None
        self.frames_out_per_s = 0.0
        self._sent = (0.0, 0)  # time of the last sample, and the frames sent by then

    @property
    def cpu_s(self) -> float:
        """CPU seconds of all processes so far, including those that have ended."""
        return self._cpu_before + self._cpu_now

    def sampled(self, now: float, cpu_s: float, rss: int, processes: int) -> None:
        """Adds a sample of the living processes, taken at `now`. A process that has ended is missing from the sample,
        but the CPU seconds never go down."""
        self._cpu_now = max(self._cpu_now, cpu_s)
        self.rss_peak = max(self.rss_peak, rss)
        self._rss = rss or self._rss  # a process that has just ended has none
        self.memory.add(now, rss)
        self.processes_peak = max(self.processes_peak, processes)

    def take_leak(self) -> str:
        """Returns, once for the memory of each process, that it only grows, with the figures; else empty."""
        memory = self.memory
        if memory.grown is None or memory.has_leaked:
            return ""
        memory.has_leaked = True
        return growth_text(memory.grown)

    def charge(self, tokens: float, usd: float | None) -> None:
        """Adds what it has caused in a request to a model; `usd` is None if that is unknown."""
        if self.model_tokens is None:
            self.model_tokens, self.model_usd = 0.0, 0.0
        self.model_tokens += tokens
        self.model_usd = None if usd is None or self.model_usd is None else self.model_usd + usd

    def update_send_rate(self, now: float) -> None:
        """Computes the rate of frames sent to the extension since the last sample."""
        before, count = self._sent
        if now > before:
            self.frames_out_per_s = (self.frames_out - count) / (now - before) if before else 0.0
            self._sent = (now, self.frames_out)

    def exited(
        self, status: str, *, cpu_s: float, rss_peak: int, seen_cpu_s: float | None = None, is_told: bool = True
    ) -> None:
        """Adds a process that has ended. `status` is for people. `cpu_s` and `rss_peak` (bytes) are the kernel's values
        for the process. `seen_cpu_s` is the CPU time of its tree at the last sample; None without an earlier tree.
        Without `is_told` the end does not count as an exit: the host has stopped a process that had nothing to do."""
        self.memory.clear()
        if is_told:
            self.exits += 1
            self.exit_status = status
        # A new peak was reached after the last sample; an old one says nothing of the end.
        self._rss_at_exit = max(self._rss_at_exit, self._rss, rss_peak if rss_peak > self.rss_peak else 0)
        self._rss = 0
        self.rss_peak = max(self.rss_peak, rss_peak)
        seen = self._cpu_now if seen_cpu_s is None else min(seen_cpu_s, self._cpu_now)
        self._cpu_before += max(seen, cpu_s)
        self._cpu_now -= seen

    def take_rss_at_exit(self) -> int:
        """Returns the memory in bytes just before the exits since the last call, by the last sample and the kernel's
        peak; 0 without an exit."""
        taken, self._rss_at_exit = self._rss_at_exit, 0
        return taken

    def counters(self) -> dict[str, Any]:
        """Returns the members that `wire.events.Cost` and `wire.stats.ExtensionStats` share."""
        return {
            **{name: getattr(self, name) for name in COUNTERS},
            "start_wait_s": round(self.start_wait_s, 3),
            "model_tokens": None if self.model_tokens is None else round(self.model_tokens),
            "model_usd": None if self.model_usd is None else round(self.model_usd, 6),
            "p50_ms": _milliseconds(self.latency.percentile(0.50)),
            "p99_ms": _milliseconds(self.latency.percentile(0.99)),
        }

    def cost(self, state: str, hosted: HostedShare | None = None) -> Cost:
        """Returns the counters as a record of the stream. `state` is the present state of the extension, `hosted` the
        share of this run if the process is a host's."""
        return Cost(
            state=state,
            cpu_ms=round(self.cpu_s * 1000),
            rss_peak_bytes=self.rss_peak,
            processes_peak=self.processes_peak,
            hosted=UNSET if hosted is None else hosted,
            **self.counters(),
        )


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 4)


GROWTH = 1.5
"""Minimum ratio of the memory of the last quarter to that of the first. Growth must also reach `GROWTH_BYTES`."""
GROWTH_BYTES = 20 * 2**20
STEADY = 0.1
"""Fraction of the growth that each quarter must add: a cache that is full, or a program that has loaded, adds none."""
GROWTH_SAMPLES = 12
LOOKED_AT = 400


def growth(samples: Sequence[float]) -> tuple[float, float] | None:
    """The memory of the first and of the last quarter of the samples, in bytes, if it grew by much and in each quarter;
    else None. A restart lowers the memory, so it does not count as growth. The samples are in bytes and about equally
    far apart; NaN and 0 are left out."""
    there = [value for value in samples[:: max(1, len(samples) // LOOKED_AT)] if value > 0]
    if len(there) < GROWTH_SAMPLES:
        return None
    quarter = len(there) // 4
    parts = [sorted(there[index * quarter : (index + 1) * quarter])[quarter // 2] for index in range(4)]
    first, last = parts[0], parts[-1]
    if last < first * GROWTH or last - first < GROWTH_BYTES:
        return None
    least = STEADY * (last - first)
    return (first, last) if all(parts[at + 1] - parts[at] >= least for at in range(3)) else None


def growth_text(grown: tuple[float, float]) -> str:
    """The growth in words."""
    return f"its memory only grows: {grown[0] / 2**20:.0f} to {grown[1] / 2**20:.0f} MiB"
