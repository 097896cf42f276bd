"""What is said of a worker that has ended. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.extension.restart import Cause, Decision, Ending, GiveUp, RestartIn

if TYPE_CHECKING:
    from supervisor.extension.notices import Kind


@dataclass(frozen=True)
class ExitMessage:
    """A line for the user, in two parts: what an extension may have had a hand in, and what to do about it."""

    kind: Kind
    message: str
    evidence: str
    failure: str
    """Why the extension is of no use now: the answer to whoever asks something of it."""


def exit_message(
    extension: str,
    ending: Ending,
    decision: Decision,
    *,
    reason: str,
    told: str,
    exit_status: str | None,
    last_words: str,
    log: str,
    is_silent: bool,
) -> ExitMessage:
    """`reason` is why it ended, `told` the same with what it was doing; `last_words` end a sentence. A policy that is
    temporary has been chosen by somebody: `is_silent` leaves it out."""
    place = f" (log: {log})"
    if isinstance(decision, GiveUp):
        last = exit_status if ending.cause is Cause.EXIT else reason
        failure = f"{decision.exits} exits in {decision.span_s:.0f} s, last {last}{last_words}"
        return ExitMessage("failed", failure, f"; given up: zot ext restart {extension} tries again{place}", failure)
    if isinstance(decision, RestartIn):
        wait = f"{decision.delay_s:.1f} s"
        kind: Kind = "limit" if ending.cause is Cause.OVER_LIMIT else "exited"
        evidence = f"{last_words}; starting it again in {wait}{place}"
        return ExitMessage(kind, told, evidence, f"{reason}; it is started again in {wait}")
    then = "" if is_silent else f"; not started again: {decision.why}"
    kind = "exited" if ending.was_ready and ending.cause is Cause.EXIT else "failed"
    if ending.cause is Cause.OVER_LIMIT:
        kind = "limit"
    return ExitMessage(kind, told, f"{last_words}{then}{place}", reason)
