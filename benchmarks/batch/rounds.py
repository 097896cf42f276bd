"""Figures of several contenders that take turns."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class Spread:
    """One figure, or the ratio of two in the same round, over all rounds."""

    def __init__(self, values: Sequence[float]) -> None:
        self.middle = median(values)
        self.lowest, self.highest = min(values), max(values)

    @classmethod
    def of_ratios(cls, these: Sequence[float], those: Sequence[float]) -> Spread:
        return cls([this / that for this, that in zip(these, those, strict=True)])

    @property
    def cells(self) -> tuple[float, float, float]:
        return self.middle, self.lowest, self.highest

    def __str__(self) -> str:
        return f"{self.middle:.3g} ({self.lowest:.3g} to {self.highest:.3g})"
