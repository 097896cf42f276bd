"""Asks the guards of errors what to do about one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from wire import frames

if TYPE_CHECKING:
    from agent.abort import Abort
    from supervisor.supervisor import Supervisor
    from wire.frames import ErrorContext, ErrorHandling


class Handling(msgspec.Struct, frozen=True):
    """What a guard wants to be done."""

    kind: ErrorHandling | None = None
    """None if no guard has said anything."""
    guard: str = ""
    retries: int = 0
    """How often the same may be tried again in all; 0 unless `kind` is `retry`."""


NOTHING = Handling()


class ErrorHook:
    """Asks about each error of one prompt."""

    def __init__(self, supervisor: Supervisor, abort: Abort) -> None:
        self._supervisor = supervisor
        self._abort = abort

    def ask(self, error: str, context: ErrorContext, *, recoverable: bool) -> Handling:
        """Waits for the guards of `error`. `recoverable` says whether a retry is possible; else it is not made. After
        an abort they are not asked."""
        if self._abort.requested or not self._supervisor.guards.of("error"):
            return NOTHING
        judgement = self._supervisor.intercept(
            frames.Event("error", error=error, error_context=context, recoverable=recoverable)
        )
        if self._abort.is_requested() or judgement.error_handling is None:
            return NOTHING
        is_retry = judgement.error_handling == "retry" and recoverable
        return Handling(judgement.error_handling, judgement.handled_by, judgement.retry_count if is_retry else 0)
