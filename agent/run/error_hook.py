"""Asks the guards of errors what to do about one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from wire import frames

if TYPE_CHECKING:
    from agent.abort import Abort
    from supervisor.supervisor import Supervisor
    from wire.frames import ErrorContext


class Retries(NamedTuple):
    """The retries that a guard wants in all, and the guard's name; 0 and "" if none wants any."""

    most: int = 0
    guard: str = ""


def ask_about_error(
    supervisor: Supervisor, abort: Abort, error: str, context: ErrorContext, *, recoverable: bool
) -> Retries:
    """Waits for the guards of `error`, which are not asked after an abort. `recoverable`: whether a retry is possible;
    if not, their wish for one is ignored."""
    if abort.requested or not supervisor.guards.of("error"):
        return Retries()
    judgement = supervisor.intercept(frames.Event("error", error=error, error_context=context, recoverable=recoverable))
    if abort.is_requested() or judgement.error_handling != "retry" or not recoverable:
        return Retries()
    return Retries(judgement.retry_count, judgement.handled_by)
