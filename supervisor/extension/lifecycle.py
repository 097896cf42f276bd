"""The life of one process of an extension, as one enum and one table of transitions."""

from __future__ import annotations

from enum import Enum


class State(Enum):
    SPAWNED = "spawned"
    """Started; has not said hello."""
    GREETED = "greeted"
    """Has said hello; its first registrations may still be on their way."""
    READY = "ready"
    STOPPING = "stopping"
    """Has been asked to stop."""
    EXITED = "exited"
    """Ended because it was asked to."""
    BACKOFF = "backoff"
    """Ended on its own or was given up on; another process will take its place."""
    FAILED = "failed"
    """The same, and none will."""

    is_settled: bool
    """Nothing more is to be expected of its start."""
    is_up: bool
    """It can be asked and told things."""

    def __init__(self, value: str) -> None:
        # Set once for each member: a property of an enum takes 0.2 µs, and every call looks at it.
        self.is_settled = value not in ("spawned", "greeted")
        self.is_up = value in ("greeted", "ready")


class Trigger(Enum):
    HELLO = "hello"
    SETTLED = "settled"
    """`ready` came, or was assumed."""
    STOP = "stop"
    GONE = "gone"
    """The process has ended."""
    REFUSED = "refused"
    """The host gave up on it."""
    RETRY = "retry"
    """Another process is to take its place."""
    ABANDONED = "abandoned"
    """Nothing is to take its place after all."""


_TRANSITIONS: dict[tuple[State, Trigger], State] = {
    (State.SPAWNED, Trigger.HELLO): State.GREETED,
    (State.GREETED, Trigger.SETTLED): State.READY,
    (State.SPAWNED, Trigger.STOP): State.STOPPING,
    (State.GREETED, Trigger.STOP): State.STOPPING,
    (State.READY, Trigger.STOP): State.STOPPING,
    (State.SPAWNED, Trigger.REFUSED): State.FAILED,
    (State.GREETED, Trigger.REFUSED): State.FAILED,
    (State.READY, Trigger.REFUSED): State.FAILED,
    (State.SPAWNED, Trigger.GONE): State.FAILED,
    (State.GREETED, Trigger.GONE): State.FAILED,
    (State.READY, Trigger.GONE): State.FAILED,
    (State.STOPPING, Trigger.GONE): State.EXITED,
    (State.FAILED, Trigger.RETRY): State.BACKOFF,
    (State.EXITED, Trigger.RETRY): State.BACKOFF,
    (State.BACKOFF, Trigger.ABANDONED): State.FAILED,
}


def advance(state: State, occurrence: Trigger) -> State:
    """The next state; the same one where the occurrence means nothing (a second `ready`, the end of a failed child)."""
    return _TRANSITIONS.get((state, occurrence), state)
