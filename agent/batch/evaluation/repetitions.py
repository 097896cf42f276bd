"""The repetitions of one task, summed up.

A repetition counts if its run has ended in a way that says something about the agent (`SCORED`), and if its `score`
command, if it has one, told a value. Every other end is a fault: something broke, or was set up wrongly. Faults and
runs without a value are counted apart and enter no estimate. Only final outcomes are repetitions: an attempt that was
followed by another one is none.
"""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

import msgspec

from agent.batch.evaluation.pass_at_k import pass_at_k
from wire.batch.outcome import SCORED, TaskStatus

if TYPE_CHECKING:
    from wire.batch.outcome import Outcome

LARGEST = 1e100
"""A score beyond it counts as this one: sums and squares of scores have to be numbers."""


class TaskRepetitions(msgspec.Struct, gc=False):
    """The final outcomes of a task. Tokens, US dollars and seconds are sums over the repetitions that count."""

    passed: int = 0
    """Repetitions that count and have passed."""
    faults: int = 0
    not_run: int = 0
    """Repetitions without a final outcome."""
    unscored: int = 0
    """Runs that would count, but their `score` command told no value."""
    scored: int = 0
    """Repetitions that count and have a score."""
    scores: list[float] = []
    """Of the repetitions that count, in their order: the value of the score, without a score 1 if passed, else 0."""
    tokens: int = 0
    known_cost_usd: float = 0.0
    unknown_costs: int = 0
    """Repetitions whose cost is not known; `known_cost_usd` is then the least that they have cost."""
    seconds: float = 0.0
    """Time of the runs, without those in which they waited for a rate limit."""

    def add(self, outcome: Outcome) -> None:
        """Counts one final outcome."""
        value = None if outcome.score is None else outcome.score.value
        if not self.add_end(outcome.status, value, has_command=outcome.score is not None):
            return
        self.tokens += outcome.usage.total
        self.known_cost_usd += outcome.known_cost_usd if outcome.cost_usd is None else outcome.cost_usd
        self.unknown_costs += outcome.cost_usd is None
        self.seconds += max(0, outcome.duration_ms - outcome.paused_ms) / 1000

    def add_end(self, status: TaskStatus, value: float | None, *, has_command: bool) -> bool:
        """Counts how one run has ended, with the `value` of its `score` command if it has one. Returns whether it
        counts."""
        if status not in SCORED:
            self.faults += 1
            return False
        if has_command and value is None:
            self.unscored += 1
            return False
        passed = has_passed(status, value, has_command=has_command)
        self.passed += passed
        self.scored += value is not None
        self.scores.append(float(passed) if value is None else max(-LARGEST, min(value, LARGEST)))
        return True

    @property
    def count(self) -> int:
        """Number of repetitions that count."""
        return len(self.scores)

    @property
    def score(self) -> float | None:
        """The mean score; None if no repetition counts."""
        return fsum(self.scores) / self.count if self.scores else None

    def pass_at(self, k: int) -> float | None:
        """pass@k; None if fewer than `k` repetitions count."""
        return pass_at_k(self.count, self.passed, k) if k <= self.count else None


def has_passed(status: TaskStatus, value: float | None, *, has_command: bool) -> bool:
    """Whether a run has passed: it is `ok`, and has no `score` command or a score of at least 1."""
    return status is TaskStatus.OK and (not has_command or (value is not None and value >= 1))
