"""The event stream of a run whose prompt was never sent: nothing but its outcome, so that readers always find one."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from agent.output.result_record import result_record
from agent.run.cost import NOTHING
from supervisor.home.files import write_all
from wire import events
from wire.exit_codes import Status

if TYPE_CHECKING:
    from wire.batch.outcome import TaskStatus


def write_unstarted(stdout: int, stderr: int, status: TaskStatus, reason: str) -> int:
    """Writes `error`, `result` and `done`, and the reason to standard error. A status that no run has of itself becomes
    `error`. Returns the exit status of the process."""
    word = next((each for each in Status if each.value == status.value), Status.ERROR)
    result = result_record(word, reason, text="", steps=0, usage=NOTHING, duration_s=0, session="", extensions={})
    records = (events.Error(reason), result, events.Done())
    with suppress(OSError):  # the batch has gone, or the disk is full
        write_all(stderr, f"zot: {reason}\n".encode("utf-8", "backslashreplace"))
    with suppress(OSError):
        write_all(stdout, b"".join(map(events.encode, records)))
    return word.exit_code
