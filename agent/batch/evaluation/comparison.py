"""Several batches against the first one, the base, task by task.

A task is compared by the mean score of its repetitions, also where one batch has more of them. Differences are paired:
each is between the results of one task in both batches, so that tasks that are hard for both do not hide it.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum
from math import fsum, isclose
from typing import TYPE_CHECKING

import msgspec

from agent.batch.evaluation.interval import Estimate, estimate_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent.batch.evaluation.evaluation import Evaluation
    from agent.batch.evaluation.repetitions import TaskRepetitions

ALIKE = 1e-9
"""Mean scores that differ by less, of the larger one or of 1, are the same: only their rounding differs."""


class Verdict(Enum):
    """How a task ended in a batch, held against the base."""

    WON = "won"
    LOST = "lost"
    SAME = "same"
    MISSING = "missing"
    """In one of both no repetition counts."""


class Use(msgspec.Struct, frozen=True):
    """Means for a repetition, over the tasks that both batches have."""

    base: float | None
    other: float | None

    @property
    def ratio(self) -> float | None:
        """None if one of both is unknown, or the base has none."""
        return self.other / self.base if self.base and self.other is not None else None


class Comparison:
    """One batch against the base."""

    def __init__(self, base: BatchToCompare, other: BatchToCompare) -> None:
        self._base, self._other = base.results.tasks, other.results.tasks
        self.verdicts = {task: self._verdict(task) for task in {**self._base, **self._other}}
        """By task; those of the base come first."""
        self.counts = Counter(self.verdicts.values())
        """How many tasks there are of each verdict."""
        self.common = [task for task, verdict in self.verdicts.items() if verdict is not Verdict.MISSING]
        """Tasks with a repetition that counts in both."""
        self.changed = [
            task
            for task in self.verdicts
            if task in base.versions and task in other.versions and base.versions[task] != other.versions[task]
        ]
        """Tasks that do not ask the same in both."""
        self.score = self._difference(lambda task: task.score)
        """Difference of the mean scores."""
        self.pass_rate = self._difference(lambda task: task.pass_rate)
        self.tokens = self._use(lambda task: task.tokens)
        self.seconds = self._use(lambda task: task.seconds)
        self.cost = self._use(lambda task: task.known_cost_usd)
        self.has_unknown_cost = any(
            tasks[task].unknown_costs for tasks in (self._base, self._other) for task in self.common
        )
        """Whether `cost` has less than was spent."""

    def difference(self, task: str) -> float | None:
        """Of the mean scores of a task; None if it is missing."""
        base, other = self._scores(task)
        return None if base is None or other is None else other - base

    def _scores(self, task: str) -> tuple[float | None, float | None]:
        pair = self._base.get(task), self._other.get(task)
        base, other = (None if one is None else one.score for one in pair)
        return base, other

    def _verdict(self, task: str) -> Verdict:
        base, other = self._scores(task)
        if base is None or other is None:
            return Verdict.MISSING
        if isclose(base, other, rel_tol=ALIKE, abs_tol=ALIKE):
            return Verdict.SAME
        return Verdict.WON if other > base else Verdict.LOST

    def _difference(self, value: Callable[[TaskRepetitions], float | None]) -> Estimate:
        pairs = [(value(self._base[task]), value(self._other[task])) for task in self.common]
        return estimate_mean(other - base for base, other in pairs if base is not None and other is not None)

    def _use(self, amount: Callable[[TaskRepetitions], float]) -> Use:
        if not self.common:
            return Use(None, None)
        base, other = (
            fsum(amount(tasks[task]) / tasks[task].count for task in self.common) / len(self.common)
            for tasks in (self._base, self._other)
        )
        return Use(base, other)


class BatchToCompare(msgspec.Struct, frozen=True):
    name: str
    """Its folder, as the user has named it."""
    results: Evaluation
    versions: Mapping[str, int]
    """As `task_versions` finds them."""


class NoCommonTasksError(ValueError):
    """A batch has no task of the base; the text names both."""


def compare_batches(batches: Sequence[BatchToCompare]) -> list[Comparison]:
    """Each batch but the first against the first. Raises `NoCommonTasksError`."""
    base, *others = batches
    for other in others:
        if base.results.tasks.keys().isdisjoint(other.results.tasks):
            raise NoCommonTasksError(
                f"{base.name} and {other.name} have no task in common: tasks are compared by their ids"
            )
    return [Comparison(base, other) for other in others]
