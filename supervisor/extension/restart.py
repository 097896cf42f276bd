"""When an extension's process that has ended is started again. Pure: the clock and the dice are the caller's."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wire.manifest import Restart as Policy

NEVER_AGAIN = 125
"""The exit code by which a program says that to start it again is of no use."""
HEALTHY_AFTER_S = 300.0
"""A process that ran so long has made up for all exits before it."""
JITTER = 0.25
"""Part of a wait by which it is made longer or shorter, so that those who fell together do not rise together."""


class Cause(Enum):
    """Why a process of an extension has ended."""

    EXIT = "exit"
    """By itself."""
    REFUSED = "refused"
    """The host ended it: it broke the handshake or closed its stdout."""
    STALLED = "stalled"
    """The host ended it: it had not answered for too long."""
    OVER_LIMIT = "over limit"
    """The host ended it: it used more than it may."""
    UNSTARTABLE = "unstartable"
    """There is nothing to start: no such program, not executable."""
    DISAGREES = "disagrees"
    """The host ended it: its registrations are not those of the other workers."""
    RESTARTED = "restarted"
    """A user asked for it."""


@dataclass(frozen=True)
class Ending:
    """How a process of an extension ended."""

    cause: Cause
    code: int | None
    """The exit status, or minus a signal's number; None where the host did not wait for it."""
    uptime_s: float
    was_ready: bool


@dataclass(frozen=True)
class History:
    """What is remembered of earlier exits."""

    exits: tuple[float, ...] = ()
    """When, on the caller's clock; only those within the policy's window."""
    row: int = 0
    """Exits since it was last healthy: the backoff grows with them."""
    unready: tuple[float, ...] = ()
    """When the last exits in a row before it was ready were. A start that takes a minute to fail would never fill the
    window."""


@dataclass(frozen=True)
class RestartIn:
    """It is started again."""

    delay_s: float


@dataclass(frozen=True)
class StayDown:
    """It is not started again, as the policy says."""

    why: str


@dataclass(frozen=True)
class GiveUp:
    """It is not started again, since that has been tried often enough."""

    exits: int
    span_s: float
    """From the first of these exits to the last."""


Decision = RestartIn | StayDown | GiveUp


def decide(
    policy: Policy, history: History, ending: Ending, *, now: float, dice: float, stop_on_limit: bool = False
) -> tuple[Decision, History]:
    """What becomes of an extension whose process has just ended, and what to remember. `dice` is from 0 to 1."""
    if ending.cause is Cause.RESTARTED:
        return RestartIn(0.0), History()
    if ending.was_ready and ending.uptime_s >= HEALTHY_AFTER_S:
        history = History()
    recent = (*(at for at in history.exits if now - at < policy.window_s), now)
    unready = () if ending.was_ready else (*history.unready, now)
    history = History(recent, history.row + 1, unready)
    if (why := _reason_to_leave(policy, ending, stop_on_limit)) is not None:
        return StayDown(why), history
    for exits in (recent, unready):
        if len(exits) >= policy.max:
            return GiveUp(len(exits), now - exits[0]), history
    return RestartIn(backoff(policy, history.row, dice)), history


def backoff(policy: Policy, row: int, dice: float) -> float:
    """Seconds to wait after so many exits in a row."""
    first, longest = policy.backoff_s
    wait = min(longest, first * 2.0 ** min(row - 1, 60))
    return wait * (1 - JITTER + 2 * JITTER * dice)


def _reason_to_leave(policy: Policy, ending: Ending, stop_on_limit: bool) -> str | None:
    if ending.cause is Cause.UNSTARTABLE or ending.cause is Cause.DISAGREES:
        return "it would fail again"
    if ending.cause is Cause.OVER_LIMIT and stop_on_limit:
        return "its limits say stop"
    if policy.policy == "temporary":
        return "its restart policy is temporary"
    if ending.cause is Cause.EXIT:
        if ending.code == NEVER_AGAIN or ending.code in policy.no_restart_exit:
            return f"exit {ending.code} asks for that"
        if ending.code == 0 and policy.policy == "transient":
            return "it ended without an error"
    return None
