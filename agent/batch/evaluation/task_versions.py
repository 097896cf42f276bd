"""Whether a task asks the same in two batches. Digests of results cannot tell: they differ with the model, too, and
models are what batches are compared for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.batch.tasks.repeat import base_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wire.batch.task import Task

ASKED = ("prompt", "files", "output_schema", "setup", "check")
"""Fields of a task that, with `score`, say what is to be done and how it is judged. Others say who does it, and how."""


def task_versions(tasks: Iterable[Task], score: str | None = None) -> dict[str, int]:
    """A hash of what each task asks, by the id of the task that is repeated. `score` is the command for all tasks
    without one of their own. Files count by their names."""
    return {base_id(task.id, task.repeat): hash(_asked(task, score)) for task in tasks}


def _asked(task: Task, score: str | None) -> str:
    return repr([getattr(task, name) for name in ASKED] + [task.score or score])
