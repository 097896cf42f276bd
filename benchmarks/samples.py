"""Percentiles and ratios of samples that were taken from several contenders in turns."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

FRACTIONS = (0.50, 0.90, 0.99)


def percentiles(samples_ns: Sequence[int]) -> tuple[float, ...]:
    """Returns p50, p90 and p99 in µs."""
    ordered = sorted(samples_ns)
    return tuple(ordered[min(int(fraction * len(ordered)), len(ordered) - 1)] / 1000 for fraction in FRACTIONS)


class Rounds:
    """The percentiles of one contender, round by round. Other load of the machine spoils some rounds, but not the
    median of all rounds."""

    def __init__(self) -> None:
        self.count = 0
        self._rounds: list[tuple[float, ...]] = []

    def add(self, samples_ns: Sequence[int]) -> None:
        self.count += len(samples_ns)
        self._rounds.append(percentiles(samples_ns))

    def figures(self) -> tuple[float, ...]:
        """Returns the medians of p50, p90 and p99 over the rounds, in µs."""
        return tuple(median(figures[i] for figures in self._rounds) for i in range(len(FRACTIONS)))

    def ratio_to(self, peer: Rounds, index: int = 0) -> float:
        """Returns the median over the rounds of p50 divided by the peer's p50 in the same round; with `index` that of
        another fraction of `FRACTIONS`."""
        return median(mine[index] / theirs[index] for mine, theirs in zip(self._rounds, peer._rounds, strict=True))
