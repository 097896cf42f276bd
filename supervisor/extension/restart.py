"""Whether and when a worker that has ended is restarted. Pure: the caller gives the time and a random number."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from wire.manifest import Restart as Policy

NEVER_AGAIN = 125
"""Exit code with which a program asks not to be restarted."""
HEALTHY_AFTER_S = 300.0
"""Seconds after which a worker that got ready is healthy: earlier exits are forgotten."""
JITTER = 0.25
"""Largest random change of a delay, as a fraction of the delay: workers that ended together do not start together."""


class EndCause(Enum):
    """Why a worker has ended."""

    EXIT = "exit"
    """Its process ended by itself or by a signal."""
    REFUSED = "refused"
    """The host gave it up: it broke the handshake or closed its stdout."""
    STALLED = "stalled"
    """The host gave it up: it did not answer."""
    OVER_LIMIT = "over limit"
    """A sample found it over its limits, or the kernel killed it at its memory limit."""
    UNSTARTABLE = "unstartable"
    """Its program cannot be started: it is missing or not executable."""
    DISAGREES = "disagrees"
    """The host gave it up: its registrations differ from the other workers'."""


class WorkerEnding(msgspec.Struct, frozen=True):
    """How a worker ended."""

    cause: EndCause
    code: int | None
    """The exit status, or minus a signal's number; None if the host gave it up while its process ran."""
    uptime_s: float
    was_ready: bool


class PastExits(msgspec.Struct, frozen=True):
    """Earlier exits in one slot."""

    exits: tuple[float, ...] = ()
    """Times of the exits within the policy's window, on the caller's clock."""
    row: int = 0
    """Number of exits since a worker was last healthy. The delay grows with it."""
    unready: tuple[float, ...] = ()
    """Times of the last exits in a row of workers that never got ready, without the policy's window: starts that take
    a minute to fail would never fill it."""
    over_limit: int = 0
    """Number of exits of `row` that were for a limit."""
    since: float | None = None
    """Time of the first exit of `row`; None without one."""


class RestartIn(msgspec.Struct, frozen=True):
    """The next worker is started after the delay."""

    delay_s: float


class StayDown(msgspec.Struct, frozen=True):
    """No next worker is started: the policy or the limits say so."""

    why: str


class GiveUp(msgspec.Struct, frozen=True):
    """No next worker is started: the workers in this slot have ended too often."""

    exits: int
    span_s: float
    """Seconds from the first of these exits to the last."""


Decision = RestartIn | StayDown | GiveUp


def decide(
    policy: Policy, history: PastExits, ending: WorkerEnding, *, now: float, dice: float, stop_on_limit: bool = False
) -> tuple[Decision, PastExits]:
    """Decides what follows the end of a worker at time `now`. Also returns the history with this exit. `dice` is a
    random number from 0 to 1. With `stop_on_limit` a worker over its limits is not restarted."""
    if ending.was_ready and ending.uptime_s >= HEALTHY_AFTER_S:
        history = PastExits()
    recent = (*(at for at in history.exits if now - at < policy.window_s), now)
    unready = () if ending.was_ready else (*history.unready, now)
    over_limit = history.over_limit + (ending.cause is EndCause.OVER_LIMIT)
    since = now if history.since is None else history.since
    history = PastExits(recent, history.row + 1, unready, over_limit, since)
    if (why := _reason_to_stay_down(policy, ending, stop_on_limit)) is not None:
        return StayDown(why), history
    for exits in (recent, unready):
        if len(exits) >= policy.max:
            return GiveUp(len(exits), now - exits[0]), history
    return RestartIn(backoff(policy, history.row, dice)), history


def backoff(policy: Policy, row: int, dice: float) -> float:
    """The delay in seconds after `row` exits in a row. `dice` is a random number from 0 to 1."""
    first, longest = policy.backoff_s
    wait = min(longest, first * 2.0 ** min(row - 1, 60))
    return wait * (1 - JITTER + 2 * JITTER * dice)


def _reason_to_stay_down(policy: Policy, ending: WorkerEnding, stop_on_limit: bool) -> str | None:
    if ending.cause is EndCause.UNSTARTABLE or ending.cause is EndCause.DISAGREES:
        return "it would fail again"
    if ending.cause is EndCause.OVER_LIMIT and stop_on_limit:
        return "its limits say stop"
    if policy.policy == "temporary":
        return "its restart policy is temporary"
    if ending.cause is EndCause.EXIT:
        if ending.code == NEVER_AGAIN or ending.code in policy.no_restart_exit:
            return f"exit {ending.code} asks for that"
        if ending.code == 0 and policy.policy == "transient":
            return "it ended without an error"
    return None
