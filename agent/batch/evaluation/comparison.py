"""Several batches against the first one, the base, task by task.

A task is compared by the mean score of its repetitions, also where one batch has more of them; unless both batches have
scores, by pass@1. Differences are paired: each is between the results of one task in both batches, so that tasks that
are hard for both do not hide it.
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


class Pair(msgspec.Struct, frozen=True):
    """Means over the tasks that both batches have: of a repetition, and then of the tasks."""

    base: float | None
    """None without a common task."""
    other: float | None

    @property
    def ratio(self) -> float | None:
        """None without a common task, and if the base has nothing."""
        return self.other / self.base if self.base and self.other is not None else None


class Difference(msgspec.Struct, frozen=True):
    means: Pair
    estimate: Estimate
    """Of the other one minus the base."""


class Comparison:
    """One batch against the base."""

    def __init__(self, base: BatchToCompare, other: BatchToCompare) -> None:
        self.base, self.other = base, other
        self.has_scores = base.results.has_scores and other.results.has_scores
        """Whether both have scores: of one without, they would be no more than what has passed."""
        self.has_partial_scores = self.has_scores and (
            base.results.has_partial_scores or other.results.has_partial_scores
        )
        """Whether the difference of the mean scores says more than that of pass@1."""
        self._tasks = base.results.tasks, other.results.tasks
        self.verdicts = {task: self._verdict(task) for task in {**self._tasks[0], **self._tasks[1]}}
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
        self.pass_at_1 = self._difference(lambda of: of.pass_at(1))
        self.score = self._difference(self._value)
        """Of the mean scores; unless both have scores, that of pass@1."""
        self.tokens = self._use(lambda of: of.tokens)
        self.seconds = self._use(lambda of: of.seconds)
        self.cost = self._use(lambda of: of.known_cost_usd)
        self.has_unknown_cost = any(tasks[task].unknown_costs for tasks in self._tasks for task in self.common)
        """Whether `cost` has less than was spent."""

    def difference(self, task: str) -> float | None:
        """Of the mean scores, or of pass@1, of a task; None if it is missing."""
        base, other = self._values(task, self._value)
        return None if base is None or other is None else _difference(base, other)

    def _value(self, of: TaskRepetitions) -> float | None:
        return of.score if self.has_scores else of.pass_at(1)

    def _values(self, task: str, value: Callable[[TaskRepetitions], float | None]) -> list[float | None]:
        return [value(tasks[task]) if task in tasks else None for tasks in self._tasks]

    def _verdict(self, task: str) -> Verdict:
        difference = self.difference(task)
        if difference is None:
            return Verdict.MISSING
        return Verdict.WON if difference > 0 else Verdict.LOST if difference < 0 else Verdict.SAME

    def _difference(self, value: Callable[[TaskRepetitions], float | None]) -> Difference:
        pairs = [self._values(task, value) for task in self.common]
        known = [(base, other) for base, other in pairs if base is not None and other is not None]
        return Difference(_means(known), estimate_mean(_difference(base, other) for base, other in known))

    def _use(self, amount: Callable[[TaskRepetitions], float]) -> Pair:
        base, other = self._tasks
        return _means(
            [(amount(base[task]) / base[task].count, amount(other[task]) / other[task].count) for task in self.common]
        )


def _difference(base: float, other: float) -> float:
    return 0.0 if isclose(base, other, rel_tol=ALIKE, abs_tol=ALIKE) else other - base


def _means(pairs: Sequence[tuple[float, float]]) -> Pair:
    if not pairs:
        return Pair(None, None)
    return Pair(*(fsum(values) / len(pairs) for values in zip(*pairs, strict=True)))


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
