"""What an earlier start of a batch has left: attempts that were cut off when its process was killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.batch.budget import BYTES_PER_TOKEN
from agent.batch.journal.own_files import IN_RUNS, own_lines
from agent.batch.pool.run_facts import RunFacts
from agent.batch.time_text import utc_now
from wire.batch.outcome import Outcome, TaskStatus

if TYPE_CHECKING:
    from pathlib import Path

REASON = "the batch process ended in the middle of it"
OVERHEAD_TOKENS = 2_000
"""Of the system prompt and the built-in tools in a first request, which no event shows."""
_UNHEARD = frozenset({"connection", "dropped", "timeout", "worker"})
"""Kinds of failures after which the events do not show whether the server has worked for the request."""
_SENT = (b'{"type":"user_message"', b'{"type":"tool_result"')
"""Events whose texts the next request sends."""
_ASKS = (b'{"type":"turn_start"', b'{"type":"compact_start"')
"""Events that precede a request, which is in flight until its `usage`."""


def cut_off(task: str, attempt: int, digest: str, events: Path, *, was_paused: bool = False) -> Outcome:
    """The outcome of an attempt that nobody has seen end. Its events show how much it has used, and of a request that
    was in flight the input: all that the last one has read and written, and the messages after it. One that waited for
    a rate limit (`was_paused`) has cost nothing, nor has one that the run says was refused. Raises `FolderError`."""
    facts = RunFacts()
    before, new, is_asking = OVERHEAD_TOKENS, 0, False
    try:
        for line in own_lines(events, own=IN_RUNS):
            used, told = facts.usage.total, facts.answered
            facts.take(line)
            if facts.answered > told:
                before, new, is_asking = facts.usage.total - used, 0, False
            elif line.startswith(_ASKS):
                is_asking = True
            elif line.startswith(_SENT):
                new += len(line)
    except OSError:
        pass  # it had not begun
    refused = facts.result is not None and facts.result.error_kind and facts.result.error_kind not in _UNHEARD
    if is_asking and not (refused or was_paused):
        facts.lose(before + new // BYTES_PER_TOKEN)
    now = utc_now()
    return Outcome(
        id=task, attempt=attempt, status=TaskStatus.INTERRUPTED, reason=REASON, digest=digest,
        usage=facts.usage, steps=facts.step, requests=facts.answered, rate_limited=facts.rate_limited,
        cost_usd=None if facts.has_unknown_cost else facts.known_usd, known_cost_usd=facts.known_usd,
        reserved_usd=facts.lost.at_most_usd, lost=facts.lost if facts.lost.requests else None,
        answers=facts.whole, largest_answer=facts.largest_answer,
        started=now, ended=now, provider=facts.provider, model=facts.model, session=facts.session,
    )  # fmt: skip
