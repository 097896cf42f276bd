"""Asks the guards of errors what to do about one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from wire import frames

if TYPE_CHECKING:
    from agent.abort import Abort
    from supervisor.supervisor import Supervisor
    from wire.frames import ErrorContext


class Retries(NamedTuple):
    """How often a guard wants the same to be tried again in all, and which guard."""

    most: int = 0
    guard: str = ""


def ask_about_error(
    supervisor: Supervisor, abort: Abort, error: str, context: ErrorContext, *, recoverable: bool
) -> Retries:
    """Waits for the guards of `error`. `recoverable` says whether a retry is possible; else none is made. After an
    abort they are not asked."""
    if abort.requested or not supervisor.guards.of("error"):
        return Retries()
    judgement = supervisor.intercept(frames.Event("error", error=error, error_context=context, recoverable=recoverable))
    if abort.is_requested() or judgement.error_handling != "retry" or not recoverable:
        return Retries()
    return Retries(judgement.retry_count, judgement.handled_by)
