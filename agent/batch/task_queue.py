"""The tasks of a batch that are to be started: new ones, and those whose next attempt is due, or comes later."""

from __future__ import annotations

from collections import deque
from functools import partial
from random import random
from typing import TYPE_CHECKING

from agent.batch import schedule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from supervisor.loop.loop import Loop
    from wire.batch.outcome import Outcome
    from wire.batch.task import Task


class TaskQueue:
    """In the order in which they start: attempts that are due, then new tasks."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._digests: dict[str, str] = {}
        self._new: deque[Task] = deque()
        self._due: deque[Task] = deque()
        self._later: dict[str, float] = {}
        """When the next attempt of a task may begin, on the loop's clock, by the ids of those that may not yet."""

    def add(self, tasks: Iterable[Task], digests: dict[str, str]) -> None:
        """Adds new tasks at the end, with the digest of each."""
        self._digests |= digests
        self._new.extend(tasks)

    @property
    def new(self) -> int:
        """Tasks that wait for their first attempt in this start of the batch."""
        return len(self._new)

    @property
    def due(self) -> int:
        """Tasks whose next attempt may begin."""
        return len(self._due)

    @property
    def later(self) -> int:
        """Tasks whose next attempt may not begin yet."""
        return len(self._later)

    @property
    def left(self) -> int:
        """All tasks that are to be started."""
        return self.new + self.due + self.later

    def take(self, step: schedule.Step) -> tuple[Task, str]:
        """Removes the task to start in this step, `RETRY` or `NEW`; with its digest."""
        task = (self._due if step is schedule.Step.RETRY else self._new).popleft()
        return task, self._digests.get(task.id, "")

    def put_back(self, task: Task) -> None:
        """Its next attempt follows at once."""
        self._due.append(task)

    def put_back_after(self, task: Task, outcome: Outcome, failed: int) -> None:
        """Its next attempt follows after the time that its failures tell; `failed` counts them."""
        chance = random()  # noqa: S311  nothing secret depends on it
        if wait := schedule.wait_s(outcome.error_kind, failed, chance):
            self._later[task.id] = self._loop.clock() + wait
            self._loop.call_later(wait, partial(self._come, task))
        else:
            self.put_back(task)

    def _come(self, task: Task) -> None:
        del self._later[task.id]
        self.put_back(task)

    def before(self, task: str) -> int | None:
        """The number of tasks that start before this one; None if it does not wait here, or may not start yet."""
        ids = (each.id for each in (*self._due, *self._new))
        return next((number for number, each in enumerate(ids) if each == task), None)

    def wait_of(self, task: str) -> float | None:
        """Seconds until the next attempt of this task may begin; None if none of it waits for its time."""
        return None if (at := self._later.get(task)) is None else max(0.0, at - self._loop.clock())
