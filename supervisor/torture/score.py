"""The outcome of each fault, over all its repetitions, and the score of all. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from supervisor.torture.fault import Fault


class Outcome(Enum):
    """The outcome of one trial. Users see the values."""

    HELD = "held"
    NOT_HELD = "did not hold"
    NOT_APPLICABLE = "not applicable"


@dataclass
class Row:
    """The outcome of one fault over its trials."""

    fault: Fault
    trials: int = 0
    failed: int = 0
    outcome: Outcome = Outcome.NOT_APPLICABLE
    reason: str = ""
    """Why it did not hold, at its first failure; or why it is not applicable."""
    seconds: float = 0.0
    """Of the longest trial."""
    box: Path | None = None
    """The black box of its first failure; None without one."""

    def add(self, outcome: Outcome, reason: str, seconds: float) -> bool:
        """Counts a trial. Returns whether it is the first one that did not hold."""
        self.trials += 1
        self.seconds = max(self.seconds, seconds)
        is_first_failure = outcome is Outcome.NOT_HELD and not self.failed
        self.failed += outcome is Outcome.NOT_HELD
        if self.outcome is not Outcome.NOT_HELD:
            self.outcome, self.reason = outcome, reason
        return is_first_failure


@dataclass(frozen=True)
class Score:
    """The share of the applicable faults that held."""

    held: int
    applicable: int
    rows: int

    @property
    def percent(self) -> float:
        """From 0 to 100, rounded down to a tenth; 0 if no fault is applicable."""
        return self.held * 1000 // self.applicable / 10 if self.applicable else 0.0


def score_of(rows: Iterable[Row]) -> Score:
    """Rows without a trial count as not applicable."""
    found = list(rows)
    applicable = [row for row in found if row.outcome is not Outcome.NOT_APPLICABLE]
    held = sum(row.outcome is Outcome.HELD for row in applicable)
    return Score(held, len(applicable), len(found))
