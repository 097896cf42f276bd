"""Gives percentiles of durations from a histogram, without storing the samples."""

from __future__ import annotations

from bisect import bisect_left

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
        """Returns the middle of the bucket, in seconds, in which this fraction of the samples is reached; None without
        samples."""
        wanted = fraction * self.count
        counted = 0
        for index, count in enumerate(self._counts):
            counted += count
            if count and counted >= wanted:
                return _middle(index)
        return None

    def buckets(self) -> tuple[tuple[float, int], ...]:
        """Returns upper end (seconds) and count of each bucket that is not empty, ascending."""
        ends = (*_BOUNDS, _BOUNDS[-1])
        return tuple((end, count) for end, count in zip(ends, self._counts, strict=True) if count)


def _middle(index: int) -> float:
    if index == len(_BOUNDS):
        return _BOUNDS[-1]
    return _BOUNDS[index] * 2 ** (-0.5 / _PER_DOUBLING)
