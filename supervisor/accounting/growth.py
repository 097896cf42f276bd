"""Tells memory that only grows from memory that is in use. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

GROWTH = 1.5
"""The memory of the last quarter, divided by that of the first. Growth must reach this ratio and `GROWTH_BYTES`."""
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
