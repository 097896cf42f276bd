"""Which tasks get a page of their own, if not all can have one. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.report.batch.figures import OpenTaskState
from wire.batch.outcome import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cli.report.batch.figures import TaskFigures

PAGES = 1000
"""Default of the maximum number of pages."""
LISTED = 15
"""Tasks in each list of extremes."""


def slowest(tasks: Iterable[TaskFigures]) -> list[TaskFigures]:
    """By the duration of the attempt that counts."""
    found = [(told.duration_s, task) for task in tasks if (told := task.told) is not None]
    return [task for _, task in sorted(found, key=lambda pair: (-pair[0], pair[1].id))][:LISTED]


def most_expensive(tasks: Iterable[TaskFigures]) -> list[TaskFigures]:
    """By the cost of all attempts, where it is known and not 0."""
    found = [(cost, task) for task in tasks if (cost := task.cost_usd)]
    return [task for _, task in sorted(found, key=lambda pair: (-pair[0], pair[1].id))][:LISTED]


def most_tried(tasks: Iterable[TaskFigures]) -> list[TaskFigures]:
    """By the number of attempts, with two at least."""
    found = [task for task in tasks if len(task.attempts) > 1]
    return sorted(found, key=lambda task: (-len(task.attempts), task.id))[:LISTED]


def tasks_with_pages(tasks: Sequence[TaskFigures], most: int) -> list[TaskFigures]:
    """At most `most` of the tasks that were begun: first those that have failed, then the ones that are listed as
    extremes, then those that run or were interrupted; of the rest every n-th, so that all of the batch is seen."""
    begun = [task for task in tasks if task.attempts or task.running]
    if len(begun) <= most:
        return begun
    first = [task for task in begun if task.has_failed]
    first += [*slowest(begun), *most_expensive(begun), *most_tried(begun)]
    first += [task for task in begun if isinstance(task.state, OpenTaskState)]
    chosen = {task.id: task for task in first}
    chosen = dict(list(chosen.items())[:most])
    rest = [task for task in begun if task.state is TaskStatus.OK and task.id not in chosen]
    room = min(most - len(chosen), len(rest))
    chosen |= {task.id: task for task in (rest[index * len(rest) // room] for index in range(room))}
    return list(chosen.values())
