"""The results of a batch by task, and the estimates from all of them. Each task has the same weight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.batch.evaluation.interval import estimate_mean
from agent.batch.evaluation.pass_at_k import choose_ks
from agent.batch.evaluation.repetitions import TaskRepetitions
from agent.batch.tasks.repeat import base_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agent.batch.evaluation.interval import Estimate
    from agent.batch.journal.shards import BatchResults
    from wire.batch.outcome import Outcome


class Evaluation:
    """Takes the final outcomes of a batch, in the order of its tasks."""

    def __init__(self) -> None:
        self.tasks: dict[str, TaskRepetitions] = {}
        """By the ids of the tasks that are repeated."""
        self.is_repeated = False
        """Whether a task has repetitions."""

    def add(self, outcome: Outcome) -> None:
        self.is_repeated |= outcome.repeat > 0
        self.of(outcome.id, outcome.repeat).add(outcome)

    def of(self, task: str, repeat: int | None) -> TaskRepetitions:
        """The repetitions of the task to which this one belongs; empty ones if it is new."""
        return self.tasks.setdefault(base_id(task, repeat), TaskRepetitions())

    @property
    def has_scores(self) -> bool:
        return any(task.scored or task.unscored for task in self.tasks.values())

    @property
    def has_partial_scores(self) -> bool:
        """Whether the mean score says more than pass@1."""
        return any(task.scored and task.score != task.pass_at(1) for task in self.tasks.values())

    @property
    def count(self) -> int:
        """Number of repetitions that count."""
        return self._sum(lambda task: task.count)

    @property
    def faults(self) -> int:
        return self._sum(lambda task: task.faults)

    @property
    def not_run(self) -> int:
        return self._sum(lambda task: task.not_run)

    @property
    def unscored(self) -> int:
        return self._sum(lambda task: task.unscored)

    def _sum(self, number: Callable[[TaskRepetitions], int]) -> int:
        return sum(map(number, self.tasks.values()))

    def ks(self) -> list[int]:
        """The numbers k for which there is a pass@k; empty if no repetition counts."""
        return choose_ks(max((task.count for task in self.tasks.values()), default=0))

    def pass_at(self, k: int) -> Estimate:
        """The mean pass@k of the tasks of which at least `k` repetitions count; the others are left out."""
        return _mean(task.pass_at(k) for task in self.tasks.values())

    def score(self) -> Estimate:
        """The mean over tasks of their mean scores. Without scores it is pass@1."""
        return _mean(task.score for task in self.tasks.values())


def _mean(values: Iterable[float | None]) -> Estimate:
    return estimate_mean(value for value in values if value is not None)


def read_evaluation(results: BatchResults) -> Evaluation:
    """The results so far of a batch. Raises `JournalError` and `FolderError`."""
    found = Evaluation()
    for outcome in results.outcomes():
        found.add(outcome)
    if left := set(results.not_run):
        for shard in results.shards:
            for task in shard.folder.read_tasks():
                if task.id in left:
                    left.discard(task.id)
                    found.of(task.id, task.repeat).not_run += 1
    return found
