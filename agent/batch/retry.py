"""Decides whether an attempt of a task is its last one. Pure."""

from __future__ import annotations

from wire.batch.outcome import RETRYABLE, TaskStatus


def counts_as_try(status: TaskStatus) -> bool:
    """Whether an attempt uses up one of the tries of its task. One that was interrupted does not: the next start of the
    batch runs the task again, however often that happens."""
    return status is not TaskStatus.INTERRUPTED


def is_final(status: TaskStatus, tries: int, retries: int) -> bool:
    """Whether the task is done with this attempt. `tries` counts the attempts that counted, this one included; of them
    `1 + retries` are made of a task whose status may pass."""
    if status is TaskStatus.INTERRUPTED:
        return False
    return status not in RETRYABLE or tries > retries
