"""Compares the tasks of a start with the results in the folder: done or not, changed since, gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.batch.tasks.digest import names_files

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from agent.batch.journal.state import BatchState
    from agent.batch.tasks.digest import Digests
    from wire.batch.outcome import TaskStatus
    from wire.batch.task import Task

AT_ONCE = 1000
"""Maximum number of tasks that are compared with their results before the first run starts."""


class Comparison:
    """With many tasks their digests take long: those of done tasks without files are left to `look_on`, while runs are
    under way. A file may be changed by a run, so tasks with files are compared at once."""

    def __init__(self, tasks: Sequence[Task], state: BatchState, digests: Digests, *, at_once: bool) -> None:
        """With `at_once` nothing is left to `look_on`."""
        self.done: dict[str, TaskStatus] = {}
        self.rest: dict[str, str] = {}
        """The digests of the tasks that are not done."""
        self.changed: list[str] = []
        """The done tasks whose inputs have changed since, as far as they were compared."""
        self.gone: list[str] = []
        """The tasks in the folder that this start has not."""
        self._later: list[Task] = []
        self._state = state
        self._digests = digests
        is_later = len(tasks) > AT_ONCE and not at_once
        find, digest_of, there = state.tasks.get, digests.of, 0
        for task in tasks:  # in one pass: with many tasks, each look into a large dict waits for the memory
            name, history = task.id, find(task.id)
            there += history is not None
            if history is None or history.status is None:
                self.rest[name] = digest_of(task)
                continue
            self.done[name] = history.status
            if is_later and not names_files(task):
                self._later.append(task)
            elif history.digest and history.digest != digest_of(task):
                self.changed.append(name)
        if there < len(state.tasks):
            now = {task.id for task in tasks}
            self.gone = [name for name in state.tasks if name not in now]

    @property
    def is_complete(self) -> bool:
        """Whether all tasks are compared."""
        return not self._later

    def look_on(self, redo: Collection[str]) -> Iterator[None]:
        """Compares the rest, step by step, but for the tasks that run again: their results are on the way out."""
        for task in self._later:
            if task.id not in redo and (old := self._state.history(task.id).digest) and old != self._digests.of(task):
                self.changed.append(task.id)
            yield
        self._later = []
