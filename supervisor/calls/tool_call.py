"""Calls a tool of an extension without waiting: checks the arguments, chooses a worker, retries if allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.calls.request import Answer, InFlight, read_answer
from supervisor.loop.future import Failure
from wire import frames

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.calls.merged_registrations import OwnedTool
    from supervisor.extension.worker import Worker
    from supervisor.loop.future import Pending
    from supervisor.loop.loop import Loop


ToolAnswer = Answer[frames.ToolResult]


def unfit(owned: OwnedTool, args: bytes) -> ToolAnswer | None:
    """The failure of a call whose arguments do not fit the tool's schema; None if they fit."""
    checker = owned.tool.checker
    fault = checker.fault(args)
    if checker.trouble:
        name = owned.tool.name
        owned.owner.notices.warn(f"schema {name}", f"calls of its tool {name!r} are not checked: {checker.trouble}")
    return None if fault is None else Answer(None, Failure.INVALID_ARGS, fault)


def second_worker(owned: OwnedTool, first: Worker, pending: Pending) -> Worker | None:
    """The worker for a retry, if `first` died with the call, the tool allows it and another worker is up; else None."""
    if pending.failure is not Failure.DIED or not owned.tool.retry:
        return None
    other = owned.owner.least_busy(besides=first)
    return other if other.state.is_up else None


def _reported(owned: OwnedTool, pending: Pending) -> ToolAnswer:
    """The answer of a call that has ended. Counts an error; a fault of the extension becomes a notice."""
    extension = owned.owner
    answer = read_answer(pending, frames.ToolResult, "tool call", extension.account)
    if answer.frame is not None:
        extension.account.errors += bool(answer.frame.is_error)
    elif answer.failure not in (Failure.CANCELLED, Failure.DIED):  # the user knows of these already
        extension.notices.tell("warning", f"its tool {owned.tool.name} failed: {answer.reason}")
    return answer


class ToolCallInFlight(InFlight):
    """A call of a tool. `done` gets the answer, `on_progress` each progress message. If the arguments do not fit the
    tool's schema, the call fails and is not sent. If the worker dies, the call is made once more, provided that the
    tool allows a retry and another worker is up."""

    def __init__(
        self,
        loop: Loop,
        owned: OwnedTool,
        args: bytes,
        done: Callable[[ToolAnswer], None],
        on_progress: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(loop)
        self._on_progress = on_progress
        self._owned = owned
        self._args = args
        self._done = done
        if (refusal := unfit(owned, args)) is not None:
            loop.call_later(0, lambda: done(refusal))
            return
        self._call(owned.owner.least_busy(), may_retry=True)

    def _call(self, worker: Worker, *, may_retry: bool) -> None:
        def ended(pending: Pending) -> None:
            other = second_worker(self._owned, worker, pending) if may_retry else None
            if self._cancelled is not None and other is not None:
                self._done(Answer(None, Failure.CANCELLED, self._cancelled))
            elif other is not None:
                self._call(other, may_retry=False)
            else:
                self._done(_reported(self._owned, pending))

        patience_s = self._owned.patience_s
        pending = worker.call(self._owned.tool.name, self._args, patience_s)
        pending.on_progress = self._on_progress
        self._await(worker, pending, patience_s, ended)
