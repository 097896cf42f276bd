"""Asks extensions without waiting: for a host that serves several clients at once. Each ends exactly once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.calls.guards import Answer, no_answer, rewritten, second_worker, unfit
from supervisor.calls.verdict import ALLOW, UNTOUCHED, Judgement, read_verdict
from supervisor.loop.pending import Failure
from wire import frames

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.calls.guards import Calls, OwnedTool
    from supervisor.extension.extension import Extension
    from supervisor.extension.worker import Worker
    from supervisor.loop.loop import Loop, Timer
    from supervisor.loop.pending import Pending
    from supervisor.registry.registration import Command
    from wire.dialects.base import Dialect


STARTERS_S = 0.02
"""How often a verdict that waits for extensions which are still starting looks whether they have."""


@dataclass(frozen=True)
class OwnedCommand:
    """A slash command and the extension that runs it."""

    command: Command
    owner: Extension


@dataclass(frozen=True)
class CommandAnswer:
    """What became of a command. A failure has a reason and no frame."""

    frame: frames.CommandResponse | None
    failure: Failure | None = None
    reason: str = ""
    worker: Worker | None = None
    """Who answered."""


class Asked:
    """Something that was asked. `cancel` ends it early; its callback is called either way, exactly once, and never
    from within the call that asked or cancelled."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._worker: Worker | None = None
        self._pending: Pending | None = None
        self._timer: Timer | None = None
        self._cancelled: str | None = None

    def cancel(self, reason: str) -> None:
        self._cancelled = reason
        if self._pending is not None and self._worker is not None:
            self._worker.cancel(self._pending, reason)

    def _await(self, worker: Worker, pending: Pending, timeout_s: float, then: Callable[[Pending], None]) -> None:
        def done() -> None:
            if self._timer is not None:
                self._timer.cancel()
            if pending.failure is not None and pending.failure not in (Failure.CANCELLED, Failure.TIMEOUT):
                worker.account.errors += 1
            self._loop.call_later(0, lambda: then(pending))

        self._worker, self._pending = worker, pending
        if pending.done:
            done()
            return
        pending.on_done = done
        self._timer = self._loop.call_later(timeout_s, lambda: worker.expire(pending, timeout_s))


class AskedTool(Asked):
    """`on_progress` hears what the tool says meanwhile."""

    def __init__(
        self,
        loop: Loop,
        calls: Calls,
        owned: OwnedTool,
        args: bytes,
        done: Callable[[Answer], None],
        on_progress: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(loop)
        self._on_progress = on_progress
        self._calls = calls
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
                self._done(self._calls.answered(self._owned, pending))

        patience_s = self._owned.patience_s
        pending = worker.call(self._owned.tool.name, self._args, patience_s)
        pending.on_progress = self._on_progress
        self._await(worker, pending, patience_s, ended)


class AskedCommand(Asked):
    def __init__(self, loop: Loop, owned: OwnedCommand, args: str, done: Callable[[CommandAnswer], None]) -> None:
        super().__init__(loop)

        def ended(pending: Pending) -> None:
            if pending.failure is not None:
                done(CommandAnswer(None, pending.failure, pending.reason))
            elif isinstance(pending.value, frames.CommandResponse):
                done(CommandAnswer(pending.value, worker=worker))
            else:
                said = pending.value.__struct_config__.tag
                owned.owner.account.errors += 1
                done(CommandAnswer(None, Failure.BAD_ANSWER, f"it answered a command with {said}"))

        worker = owned.owner.least_busy()
        self._await(worker, worker.invoke(owned.command.name, args), worker.timeouts.command, ended)


class AskedVerdict(Asked):
    """The chain of guards, one step each time that one has answered."""

    def __init__(
        self, loop: Loop, calls: Calls, dialect: Dialect, event: frames.Event, done: Callable[[Judgement], None]
    ) -> None:
        super().__init__(loop)
        self._calls = calls
        self._dialect = dialect
        self._event = event
        calls.guards_of(event.event)  # raises KeyError for what cannot be guarded
        self._question = dialect.question(event)
        self._done = done
        self._left: list[Extension] = []
        self._judgement = UNTOUCHED
        loop.call_later(0, self._begin)

    def _begin(self) -> None:
        """Once those have started that may turn out to guard it."""
        if self._cancelled is None and self._calls.awaits(self._event.event):
            self._loop.call_later(STARTERS_S, self._begin)
            return
        self._judgement = self._calls.unstarted(UNTOUCHED)
        self._left = list(self._calls.guards_of(self._event.event))
        self._next()

    def _next(self) -> None:
        if self._cancelled is not None:
            self._done(Judgement(blocked_by="host", reason=self._cancelled))
            return
        self._left = [one for one in self._left if self._event.event in one.guards]  # after a reload some may not
        if self._judgement.is_blocked or not self._left:
            self._done(self._judgement)
            return
        extension = self._left.pop(0)
        worker = extension.least_busy()
        pending = worker.ask(self._question)
        self._await(worker, pending, worker.timeouts.intercept, lambda ended: self._answered(extension, ended))

    def _answered(self, extension: Extension, pending: Pending) -> None:
        answer, name = pending.value, self._event.event
        verdict = read_verdict(name, answer) if type(answer) is frames.InterceptResponse else no_answer(pending)
        if pending.failure is Failure.CANCELLED and self._cancelled is None:
            self._cancelled = pending.reason
        if verdict is not ALLOW and self._cancelled is None:
            self._judgement = self._calls.add(self._judgement, name, extension, verdict)
            if verdict.is_rewrite:
                self._event = rewritten(self._event, verdict)
                self._question = self._dialect.question(self._event)
        self._next()
