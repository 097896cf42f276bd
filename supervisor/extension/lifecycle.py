"""The states of a worker and of a generation: for each an enum and a table of transitions. Pure."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


class WorkerState(Enum):
    """The states of a worker."""

    ASLEEP = "asleep"
    """No process runs. The first request or event starts it; the registrations of its last start hold."""
    WAKING = "waking"
    """Its process is started because a request or event needs it, and has not said hello."""
    SPAWNED = "spawned"
    """Its process is started and has not said hello."""
    GREETED = "greeted"
    """It has said hello; its first registrations may still come."""
    READY = "ready"
    STOPPING = "stopping"
    """The host has asked it to stop."""
    EXITED = "exited"
    """Its process ended after the host had asked."""
    BACKOFF = "backoff"
    """Its process ended by itself, or the host gave it up. The next worker will be started."""
    FAILED = "failed"
    """Its process ended by itself, or the host gave it up. No next worker will be started."""
    STOPPED = "stopped"
    """A user has stopped the extension. The next worker is started when the user starts it again."""

    is_settled: bool
    """Its start is over, with or without success."""
    is_up: bool
    """It takes requests and events."""
    is_awaited: bool
    """Its process runs, and its hello is awaited."""
    is_down: bool
    """It is over, and no next worker will be started by itself."""

    def __init__(self, value: str) -> None:
        # Plain attributes: every call reads them, and a property of an enum takes 0.2 µs.
        self.is_settled = value not in ("waking", "spawned", "greeted")
        self.is_up = value in ("asleep", "waking", "greeted", "ready")
        self.is_awaited = value in ("waking", "spawned")
        self.is_down = value in ("exited", "failed", "stopped")


BEST_FIRST = (
    WorkerState.READY, WorkerState.GREETED, WorkerState.WAKING, WorkerState.ASLEEP, WorkerState.SPAWNED,
    WorkerState.BACKOFF, WorkerState.STOPPING, WorkerState.FAILED, WorkerState.EXITED,
    WorkerState.STOPPED,
)  # fmt: skip
"""The states of a worker, from the most useful to the least."""


class Trigger(Enum):
    """An occurrence that moves a worker to another state."""

    SLEPT = "slept"
    """No process will be started for it until one is needed."""
    WOKEN = "woken"
    """A process is needed, and is being started."""
    HELLO = "hello"
    SETTLED = "settled"
    """`ready` came, or was assumed."""
    STOP = "stop"
    GONE = "gone"
    """The process has ended."""
    REFUSED = "refused"
    """The host gave it up."""
    RETRY = "retry"
    """A next worker will be started."""
    ABANDONED = "abandoned"
    """No next worker will be started after all."""
    LOST = "lost"
    """Its process has ended in another host, which starts the next one."""
    AWAITED = "awaited"
    """A process that was never up in that host is up now, and says hello."""
    FOUND = "found"
    """The next process is up in that host."""
    UNUSED = "unused"
    """No process will be started for it."""
    HALTED = "halted"
    """A user has stopped the extension: no process will be started for it."""


_WORKER_TRANSITIONS: dict[tuple[WorkerState, Trigger], WorkerState] = {
    (WorkerState.SPAWNED, Trigger.SLEPT): WorkerState.ASLEEP,
    (WorkerState.ASLEEP, Trigger.WOKEN): WorkerState.WAKING,
    (WorkerState.WAKING, Trigger.HELLO): WorkerState.GREETED,
    (WorkerState.WAKING, Trigger.STOP): WorkerState.STOPPING,
    (WorkerState.WAKING, Trigger.REFUSED): WorkerState.FAILED,
    (WorkerState.WAKING, Trigger.GONE): WorkerState.FAILED,
    (WorkerState.SPAWNED, Trigger.HELLO): WorkerState.GREETED,
    (WorkerState.GREETED, Trigger.SETTLED): WorkerState.READY,
    (WorkerState.SPAWNED, Trigger.STOP): WorkerState.STOPPING,
    (WorkerState.GREETED, Trigger.STOP): WorkerState.STOPPING,
    (WorkerState.READY, Trigger.STOP): WorkerState.STOPPING,
    (WorkerState.SPAWNED, Trigger.REFUSED): WorkerState.FAILED,
    (WorkerState.GREETED, Trigger.REFUSED): WorkerState.FAILED,
    (WorkerState.READY, Trigger.REFUSED): WorkerState.FAILED,
    (WorkerState.SPAWNED, Trigger.GONE): WorkerState.FAILED,
    (WorkerState.GREETED, Trigger.GONE): WorkerState.FAILED,
    (WorkerState.READY, Trigger.GONE): WorkerState.FAILED,
    (WorkerState.STOPPING, Trigger.GONE): WorkerState.EXITED,
    (WorkerState.FAILED, Trigger.RETRY): WorkerState.BACKOFF,
    (WorkerState.EXITED, Trigger.RETRY): WorkerState.BACKOFF,
    (WorkerState.BACKOFF, Trigger.ABANDONED): WorkerState.FAILED,
    (WorkerState.SPAWNED, Trigger.LOST): WorkerState.BACKOFF,
    (WorkerState.GREETED, Trigger.LOST): WorkerState.BACKOFF,
    (WorkerState.READY, Trigger.LOST): WorkerState.BACKOFF,
    (WorkerState.BACKOFF, Trigger.FOUND): WorkerState.READY,
    (WorkerState.BACKOFF, Trigger.AWAITED): WorkerState.SPAWNED,
    (WorkerState.SPAWNED, Trigger.UNUSED): WorkerState.EXITED,
    (WorkerState.SPAWNED, Trigger.HALTED): WorkerState.STOPPED,
}


def advance(state: WorkerState, trigger: Trigger) -> WorkerState:
    """The next state. A trigger without a transition (a second `ready`, the exit of a worker that has failed) leaves
    the state unchanged."""
    return _WORKER_TRANSITIONS.get((state, trigger), state)


class GenerationState(Enum):
    """The states of a generation."""

    CANDIDATE = "candidate"
    """Its workers start beside those of the current generation. They get no requests and no events yet."""
    CURRENT = "current"
    """Its workers get all requests and events."""
    DRAINING = "draining"
    """Its workers finish their pending requests, or are being stopped. None is restarted."""
    GONE = "gone"
    """All its processes have ended."""


class GenerationTrigger(Enum):
    """An occurrence that moves a generation to another state."""

    PROMOTED = "promoted"
    DISMISSED = "dismissed"
    CLEARED = "cleared"


_GENERATION_TRANSITIONS = {
    (GenerationState.CANDIDATE, GenerationTrigger.PROMOTED): GenerationState.CURRENT,
    (GenerationState.CANDIDATE, GenerationTrigger.DISMISSED): GenerationState.DRAINING,
    (GenerationState.CURRENT, GenerationTrigger.DISMISSED): GenerationState.DRAINING,
    (GenerationState.DRAINING, GenerationTrigger.CLEARED): GenerationState.GONE,
}


def advance_generation(state: GenerationState, trigger: GenerationTrigger) -> GenerationState:
    """The next state. A trigger without a transition leaves the state unchanged."""
    return _GENERATION_TRANSITIONS.get((state, trigger), state)


def may_take_over(states: Collection[WorkerState]) -> bool:
    """Whether a candidate whose workers are in these states becomes the current generation."""
    return all(state is WorkerState.READY for state in states)
