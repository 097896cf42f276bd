"""The median of a sample and its 95 % interval, without an assumption about the distribution. Pure."""

from __future__ import annotations

from math import comb
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE = 0.95
FEWEST = 6
"""Fewer values cannot give such an interval: 2 / 2 ** 5 is more than 5 %."""


class Interval(NamedTuple):
    middle: float
    low: float
    high: float


def of_median(values: Sequence[float]) -> Interval:
    """The interval between the order statistics that cover the median with `CONFIDENCE`; of fewer than `FEWEST` values
    the whole range."""
    ordered = sorted(values)
    outside = _outside(len(ordered))
    return Interval(median(ordered), ordered[outside], ordered[-1 - outside])


def _outside(count: int) -> int:
    """The number of values on each side that are outside. Of `count` values k lie below the true median with the
    probability of k heads in as many throws of a coin."""
    below, least = 0, 0.0
    while below < count // 2:
        least += comb(count, below) / 2**count
        if 2 * least > 1 - CONFIDENCE:
            break
        below += 1
    return max(below - 1, 0)
