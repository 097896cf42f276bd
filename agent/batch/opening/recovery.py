"""What an earlier start of a batch has left: attempts that were cut off when its process was killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.batch.budget import reserve_usd
from agent.batch.journal.own_files import IN_RUNS, own_lines
from agent.batch.pool.run_facts import RunFacts
from agent.batch.time_text import utc_now
from wire.batch.outcome import Outcome, TaskStatus

if TYPE_CHECKING:
    from pathlib import Path

REASON = "the batch process ended in the middle of it"


def cut_off(task: str, attempt: int, digest: str, events: Path) -> Outcome:
    """The outcome of an attempt that nobody has seen end. What it has used is in its events; the most that the request
    may have cost that was in flight is reserved. Raises `FolderError`."""
    facts = RunFacts()
    try:
        for line in own_lines(events, own=IN_RUNS):
            facts.take(line)
    except OSError:
        pass  # it had not begun
    is_known = facts.result is not None or not (facts.step or facts.answered)
    reserved = 0.0 if is_known else reserve_usd(facts.model, 0, None) or 0.0
    now = utc_now()
    return Outcome(
        id=task, attempt=attempt, status=TaskStatus.INTERRUPTED, reason=REASON, digest=digest,
        usage=facts.usage, steps=facts.step, requests=facts.answered, rate_limited=facts.rate_limited,
        cost_usd=facts.known_usd if is_known and not facts.has_unknown_cost else None,
        known_cost_usd=facts.known_usd, reserved_usd=reserved,
        started=now, ended=now, provider=facts.provider, model=facts.model, session=facts.session,
    )  # fmt: skip
