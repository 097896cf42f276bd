"""A line for each attempt that has ended. Pure.

[ 12/1000] ok            fix-1  12.5 s  $0.0123
[ 13/1000] check_failed  fix-2  3m05s  $0.4  exit 1: 2 tests failed
[ 13/1000] tried again   fix-3  3.2 s  $0  rate_limit: HTTP 529: overloaded
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from cli.number_format import dollars, elapsed
from wire.batch.outcome import TaskStatus
from wire.text import one_line, valid_text

if TYPE_CHECKING:
    from wire.batch.records import TaskEnd

REASON_LENGTH = 160
"""Characters, where no terminal tells how many there is room for."""
SHORTEST_REASON = 20
"""Characters that a reason has also in a narrow terminal."""
TRIED_AGAIN = "tried again"
"""In place of the status of an attempt that is not the end of its task."""
_STATUS_WIDTH = len(TaskStatus.CHECK_FAILED.value)


def finished_line(end: TaskEnd, done: int, tasks: int, width: int | None = None) -> str:
    """The line about the end of an attempt. `done` tasks of `tasks` have ended, this one included if it is final. The
    reason is cut so that the line has `width` columns; None: there is no terminal."""
    outcome = end.outcome
    cost = "cost not known" if outcome.cost_usd is None else dollars(outcome.cost_usd)
    count = f"[{done:>{len(str(tasks))}}/{tasks}]"
    is_tried_again = not end.final and outcome.status is not TaskStatus.INTERRUPTED
    status = f"{TRIED_AGAIN if is_tried_again else outcome.status.value:<{_STATUS_WIDTH}}"
    line = f"{count} {status}  {one_line(outcome.id, 200)}  {elapsed(outcome.duration_ms / 1000)}  {cost}"
    reason = first_line(outcome.reason)
    if is_tried_again:
        reason = f"{outcome.status.value}: {reason}" if reason else outcome.status.value
    return f"{line}  {cut_to(reason, width, line)}" if reason else line


def first_line(reason: str) -> str:
    """What has happened; the lines after it say what to do about it, or show details."""
    lines = valid_text(reason).strip().splitlines()
    return one_line(lines[0], REASON_LENGTH) if lines else ""


def cut_to(reason: str, width: int | None, line: str) -> str:
    """The reason as it fits behind `line` and two spaces."""
    if width is None:
        return reason
    return one_line(reason, max(SHORTEST_REASON, width - cell_len(line) - 2))
