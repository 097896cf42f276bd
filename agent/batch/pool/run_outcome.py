"""Makes the outcome of an attempt from what the batch knows of its run. Pure.

Why the batch ended the run counts first, then how its process ended, then what the run itself said.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import msgspec

from agent.batch.retry import may_pass
from wire.batch.outcome import Outcome, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.batch.pool.run_facts import RunFacts
    from supervisor.process.child import ExitStatus
    from wire.batch.link import Ended


class EndReason(msgspec.Struct, frozen=True):
    """Why the batch has ended a run."""

    status: TaskStatus
    reason: str


class Attempt(msgspec.Struct, frozen=True):
    """What identifies an attempt and goes unchanged into its outcome."""

    task: str
    number: int
    digest: str = ""
    meta: dict[str, object] = {}


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended, as its batch has seen it."""

    end_reason: EndReason | None
    """None if the run ended by itself."""
    exit: ExitStatus | None
    """None if the process could not be started."""
    said: Ended | None
    """The last word of the run on the link."""
    was_told_to_end: bool = False
    """Whether the batch has ended the run."""
    last_words: Sequence[str] = ()
    """The last lines of its standard error, if it has `said` nothing."""
    started: str
    ended: str
    duration_s: float
    paused_s: float
    requests: int
    memory_peak: int


def outcome_of(attempt: Attempt, facts: RunFacts, ending: Ending) -> Outcome:
    """The outcome. It is `ok` only if the run has said so."""
    status, reason = _status(facts, ending)
    result, said = facts.result, ending.said
    return Outcome(
        id=attempt.task,
        attempt=attempt.number,
        status=status,
        reason=reason,
        error_kind=msgspec.UNSET if result is None or status.value != result.status else result.error_kind,
        may_pass=may_pass(status, said is not None and said.may_pass),
        text="" if result is None else result.text,
        answer=msgspec.UNSET if result is None else result.answer,
        sent=msgspec.UNSET if result is None else result.sent,
        steps=facts.step if result is None else result.steps,
        usage=facts.usage,
        cost_usd=None if facts.has_unknown_cost else facts.known_usd if result is None else result.usage.cost_usd,
        known_cost_usd=facts.known_usd,
        reserved_usd=facts.lost.at_most_usd,
        lost=facts.lost if facts.lost.requests else None,
        answers=facts.whole,
        largest_answer=facts.largest_answer,
        duration_ms=round(ending.duration_s * 1000),
        paused_ms=round(ending.paused_s * 1000),
        requests=max(ending.requests, facts.answered),
        rate_limited=facts.rate_limited,
        started=ending.started,
        ended=ending.ended,
        provider=facts.provider,
        model=facts.model,
        session=facts.session,
        exit_status=None if ending.exit is None else ending.exit.code,
        cpu_s=0.0 if ending.exit is None else round(ending.exit.cpu_s, 3),
        memory_peak_bytes=ending.memory_peak,
        extensions={} if result is None else result.extensions,
        setup=None if said is None else said.setup,
        check=None if said is None else said.check,
        diff="" if said is None else said.diff,
        digest=attempt.digest,
        meta=attempt.meta,
    )


def _status(facts: RunFacts, ending: Ending) -> tuple[TaskStatus, str]:
    if ending.end_reason is not None:
        return ending.end_reason.status, ending.end_reason.reason
    if ending.said is not None:  # what it has done is whole, however its process ended after that
        if ending.said.status is TaskStatus.INTERRUPTED and not (ending.was_told_to_end or ending.said.has_no_room):
            return TaskStatus.CRASHED, f"the batch did not end the run, and it says: {ending.said.reason}"
        return ending.said.status, ending.said.reason
    return TaskStatus.CRASHED, crash_reason(ending.exit, ending.last_words, had_result=facts.result is not None)


def crash_reason(exit_status: ExitStatus | None, last_words: Sequence[str], *, had_result: bool = False) -> str:
    """One line: how the process of a run died, and the last lines that it wrote to standard error."""
    if exit_status is None:
        how = "the process of the run is gone, nobody can tell how it ended"
    elif exit_status.code < 0:
        how = f"the run was ended by {exit_status}"
        if exit_status.code == -signal.SIGKILL:
            how += " (nobody here has sent it: the kernel does that when the memory of the machine is used up)"
    else:
        how = f"the run ended with {exit_status} before it had told how"
    if had_result:
        how += ", after its last record"
    if exit_status is not None and exit_status.code < 0:  # its own warnings say nothing about a signal
        last_words = [line for line in last_words if not line.startswith("zot: ")]
    words = " | ".join(line for line in last_words if line.strip())
    return f"{how}: {words}" if words else how
