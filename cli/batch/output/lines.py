"""A line for each attempt that has ended. Pure.

[ 12/1000] ok            fix-1  12.5 s  $0.0123
[ 13/1000] check_failed  fix-2  3m05s  $0.4  exit 1: 2 tests failed
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.number_format import dollars, elapsed
from wire.batch.outcome import TaskStatus
from wire.text import one_line, valid_text

if TYPE_CHECKING:
    from wire.batch.outcome import Outcome
    from wire.batch.records import TaskEnd

REASON_LENGTH = 300
"""Characters."""
_STATUS_WIDTH = len(TaskStatus.CHECK_FAILED.value)


def finished_line(end: TaskEnd, done: int, tasks: int) -> str:
    """The line about the end of an attempt. `done` tasks of `tasks` have ended, this one included if it is final."""
    outcome = end.outcome
    width = len(str(tasks))
    parts = [f"[{done:>{width}}/{tasks}] {outcome.status.value:<{_STATUS_WIDTH}}", *about(outcome)]
    if not end.final and outcome.status is not TaskStatus.INTERRUPTED:
        parts.append(f"(attempt {outcome.attempt}; it is tried again)")
    return "  ".join(parts)


def about(outcome: Outcome) -> list[str]:
    """The id, how long it took, what it cost, and why it is not ok."""
    cost = "cost not known" if outcome.cost_usd is None else dollars(outcome.cost_usd)
    reason = one_line(valid_text(outcome.reason), REASON_LENGTH)
    return [one_line(outcome.id, 200), elapsed(outcome.duration_ms / 1000), cost, *([reason] if reason else ())]
