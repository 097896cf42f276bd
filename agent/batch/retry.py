"""Decides whether an attempt of a task is its last one. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.batch.outcome import TaskStatus

if TYPE_CHECKING:
    import msgspec

BY_CAUSE = frozenset({TaskStatus.ERROR, TaskStatus.RATE_LIMIT})
"""What may pass or not: the run knows. What is neither of these nor a crash would end in the same way, or has been paid
for."""

FIRST_WAIT_S = 2.0
"""Seconds: the worker has sent the request three times by then, with up to 1 s between two of them."""
LONGEST_WAIT_S = 60.0
JITTER = 0.25
"""The part of a wait that chance may take off."""


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


def wait_s(error_kind: str | msgspec.UnsetType, failed: int, chance: float) -> float:
    """Seconds until the next attempt of a task of which `failed` attempts have failed, the last one with a request of
    this kind; 0 after another failure. `chance` is a random number from 0 to 1: tasks that have failed together do not
    come back together."""
    if not error_kind:
        return 0.0
    return float(min(FIRST_WAIT_S * 2 ** min(failed - 1, 10), LONGEST_WAIT_S)) * (1 - JITTER * chance)
