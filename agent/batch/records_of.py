"""Makes the last record of a batch. Pure, but for the time of day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.batch.time_text import utc_now
from wire.batch import records
from wire.exit_codes import Status

if TYPE_CHECKING:
    from agent.batch.budget import Spent
    from agent.batch.request import StopReason
    from agent.batch.schedule import Halt
    from agent.batch.tally import Tally

NOT_RUN = "not_run"


def batch_end(
    reason: StopReason, halt: Halt, tally: Tally, *, tasks: int, spent: Spent, duration_s: float
) -> records.BatchEnd:
    left = tasks - tally.done
    statuses = dict(tally.statuses)
    if left:
        statuses[NOT_RUN] = left
    return records.BatchEnd(
        reason=reason,
        exit_code=exit_code(reason, is_signalled=bool(halt), is_all_ok=tally.is_all_ok and not left),
        tasks=tasks,
        statuses=statuses,
        usage=spent.usage,
        cost_usd=spent.cost_usd,
        known_cost_usd=spent.known_usd,
        duration_ms=round(duration_s * 1000),
        time=utc_now(),
    )


def exit_code(reason: StopReason, *, is_signalled: bool, is_all_ok: bool) -> int:
    """Of the process. A signal that came too late to keep anything from being done counts not."""
    if reason == "failed":
        return Status.ERROR.exit_code
    if reason == "stopped" or (reason == "drained" and is_signalled):
        return Status.INTERRUPTED.exit_code
    return Status.OK.exit_code if is_all_ok else Status.PARTIAL_BATCH.exit_code
