"""Repetitions of tasks, as `--repeat` makes them. Each is a task of its own, with the id `ID#K`. Pure."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wire.batch.task import Task

SEED = "ZOT_SEED"
SEEDS = 2**31
"""Seeds are below this: most programs take such a one."""


def repeated(tasks: Sequence[Task], times: int) -> list[Task]:
    """Each task `times` times. All first repetitions come before all second ones: a batch that stops early has the same
    number of each task, or one less."""
    return [replace(task, id=f"{task.id}#{k}", repeat=k) for k in range(1, times + 1) for task in tasks]


def base_id(task_id: str, repeat: int | None) -> str:
    """The id of the task that this one repeats; the id itself without `repeat`."""
    return task_id.removesuffix(f"#{repeat}") if repeat else task_id


def seed(task: str, repeat: int) -> int:
    """The seed of a repetition, the same in every batch: so two batches can be compared pair by pair."""
    digest = hashlib.sha256(f"{repeat} {task}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:4], "big") % SEEDS


def variables(task: Task) -> dict[str, str]:
    """The environment variables of a repetition; none of a task that runs once. Its own `env` may set another seed."""
    if task.repeat is None:
        return {}
    base = base_id(task.id, task.repeat)
    chosen = task.env.get(SEED)
    return {
        "ZOT_TASK": base,
        "ZOT_REPEAT": str(task.repeat),
        SEED: str(seed(base, task.repeat)) if chosen is None else chosen,
    }
