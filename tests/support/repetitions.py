"""Outcomes of repetitions, and batches of tasks whose pass rates are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.batch.evaluation.evaluation import Evaluation
from tests.support.batch_journal import outcome
from wire.batch.outcome import Score, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from wire.batch.outcome import Outcome


def repetition(
    task: str, repeat: int, status: TaskStatus = TaskStatus.OK, score: float | Score | None = None, **fields: Any
) -> Outcome:
    """The outcome of `task#repeat`; with `repeat` 0, of a task that runs once."""
    told = Score(score) if isinstance(score, float) else score
    name = f"{task}#{repeat}" if repeat else task
    return outcome(name, status=status, repeat=repeat, score=told, **fields)


def passes(task: str, count: int, passed: int) -> list[Outcome]:
    """The outcomes of `count` repetitions, of which `passed` have passed."""
    ends = [TaskStatus.OK] * passed + [TaskStatus.CHECK_FAILED] * (count - passed)
    return [repetition(task, repeat, status) for repeat, status in enumerate(ends, 1)]


def evaluated(outcomes: Iterable[Outcome]) -> Evaluation:
    found = Evaluation()
    for one in outcomes:
        found.add(one)
    return found


def simulated(random: Random, rates: Iterable[float], repetitions: int, faults: float = 0.0) -> Evaluation:
    """One batch: each repetition passes with the rate of its task, or is a fault with probability `faults`."""

    def end(rate: float) -> TaskStatus:
        if random.random() < faults:
            return TaskStatus.CRASHED
        return TaskStatus.OK if random.random() < rate else TaskStatus.CHECK_FAILED

    return evaluated(
        repetition(str(task), k, end(rate)) for task, rate in enumerate(rates) for k in range(1, repetitions + 1)
    )
