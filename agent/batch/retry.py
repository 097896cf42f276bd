"""Decides whether an attempt of a task is its last one. Pure."""

from __future__ import annotations

from wire.batch.outcome import TaskStatus

BY_CAUSE = frozenset({TaskStatus.ERROR, TaskStatus.RATE_LIMIT})
"""What may pass or not: the run knows. What is neither of these nor a crash would end in the same way, or has been paid
for."""


def may_pass(status: TaskStatus, said: bool) -> bool:
    """Whether another attempt may end better. `said` is what the run says of its failure: a server that is overloaded
    or a connection that broke may pass, an invalid request or a cassette that differs does not."""
    return status is TaskStatus.CRASHED or (status in BY_CAUSE and said)


def is_final(status: TaskStatus, tries: int, retries: int, *, may_pass: bool) -> bool:
    """Whether the task is done with this attempt. `tries` counts the attempts that counted, this one included; of them
    `1 + retries` are made of a task whose failure may pass. An attempt that was interrupted is none: the next start of
    the batch runs the task again, however often that happens."""
    if status is TaskStatus.INTERRUPTED:
        return False
    return not may_pass or tries > retries
