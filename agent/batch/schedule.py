"""Decides what a batch does next: start a retry, start a new task, wait, or end; and whether an attempt of a task is
its last one. Pure.

A retry comes before all new tasks: a task that fails twice is known early, and nothing waits at the end for the tasks
that failed at the beginning.
"""

from __future__ import annotations

import signal
from enum import Enum, IntEnum

import msgspec

from agent.batch.request import StopReason  # noqa: TC001  (msgspec reads the annotations)
from wire.batch.outcome import TaskStatus


class Step(Enum):
    RETRY = "retry"
    NEW = "new"
    WAIT = "wait"
    """For a run to end, for the time of a retry, or for the user."""
    END = "end"


class Halt(IntEnum):
    """How far signals have brought a batch to its end. Each includes those before it."""

    NONE = 0
    DRAIN = 1
    """No new starts; running ones end."""
    STOP = 2
    """Running ones are aborted."""
    KILL = 3
    """Running ones are killed."""


def after_signal(halt: Halt, number: signal.Signals) -> Halt:
    """Ctrl-C goes one step further. SIGTERM and SIGHUP come from those who do not wait for the ends of runs (a service
    manager, a terminal that is closed), so the first one stops."""
    least = Halt.DRAIN if number is signal.SIGINT else Halt.STOP
    return Halt(min(max(halt + 1, least), Halt.KILL))


class Situation(msgspec.Struct, frozen=True):
    """A batch at one moment."""

    jobs: int
    busy: int
    """Attempts that are about to start, run, or are being recorded."""
    retries: int
    """Tasks that wait for their next attempt."""
    waiting: int
    """Tasks that wait for their first attempt in this start of the batch."""
    later: int = 0
    """Tasks whose next attempt may not begin yet."""
    is_paused: bool = False
    is_draining: bool = False
    is_stopping: bool = False
    limit: StopReason | None = None
    """The limit of the batch that is used up."""

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to start."""
        return not (self.retries or self.waiting or self.later)


def next_step(now: Situation) -> Step:
    if now.is_stopping or now.is_draining or now.limit is not None or now.is_done:
        return Step.WAIT if now.busy else Step.END
    if now.is_paused or now.busy >= now.jobs or not (now.retries or now.waiting):
        return Step.WAIT
    return Step.RETRY if now.retries else Step.NEW


def stop_reason(now: Situation, *, was_interrupted: bool) -> StopReason:
    """Why a batch ends whose next step is `END`. `was_interrupted` says that an attempt was cut short: then a batch
    that has nothing left to start is not done either: somebody has ended its run, as with `zot stop`."""
    if now.is_stopping and (was_interrupted or not now.is_done):
        return "stopped"
    if now.is_done and not was_interrupted:
        return "done"
    return now.limit or ("drained" if now.is_draining else "stopped")


BY_CAUSE = frozenset({TaskStatus.ERROR, TaskStatus.RATE_LIMIT})
"""Statuses of which the run says whether the failure may pass. Any other one, except a crash, would come again, or its
attempt has been paid for."""

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
