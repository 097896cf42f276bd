"""Asks the guards of an event one after another. `GuardChain` waits for the judgement, `VerdictInFlight` does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.calls.guards import latest_start
from supervisor.calls.request import InFlight
from supervisor.calls.verdict import ALLOW, UNTOUCHED, Judgement, no_answer, read_verdict, rewritten
from supervisor.loop.future import Failure
from wire import frames

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.calls.guards import Guards
    from supervisor.extension.extension import Extension
    from supervisor.loop.future import Pending
    from supervisor.loop.loop import Loop
    from wire.dialects.base import Dialect

STARTERS_S = 0.02
"""Seconds between two checks by `VerdictInFlight` whether the starting extensions have started."""


class GuardChain:
    """Judges one event at a time and waits. This is the hot path of a run."""

    def __init__(self, loop: Loop, guards: Guards, dialect: Dialect) -> None:
        self._loop = loop
        self._guards = guards
        self._dialect = dialect

    def judge(self, event: frames.Event) -> Judgement:
        """Asks the guards of an event one after another, and waits for each verdict, until a guard blocks.

        Before that it waits for extensions that are still starting, since they may be guards. It waits for each of them
        until the extension's intercept timeout, counted from the extension's start. Raises `KeyError` for an event that
        cannot be guarded.
        """
        name = event.event
        guards = self._guards
        judgement = UNTOUCHED
        if not guards.is_complete:
            judgement = self._judge_start(name)
            if judgement.is_blocked:
                return judgement
        asked = (guards.by_event or guards.sort_by_event())[name]
        if not asked:
            return judgement
        question = self._dialect.question(event)
        guards_at_start = guards.by_event
        for extension in asked:
            if guards.by_event is not guards_at_start and name not in extension.guards:
                continue  # its new generation does not guard this event
            worker = extension.lead
            pending = worker.ask(question)
            worker.wait(pending, worker.timeouts.intercept)
            answer = pending.value
            verdict = read_verdict(name, answer) if type(answer) is frames.InterceptResponse else no_answer(pending)
            if verdict is ALLOW:
                continue
            if pending.failure is Failure.CANCELLED:
                return self._cancelled()
            judgement = guards.count_verdict(judgement, name, extension, verdict)
            if judgement.is_blocked:
                return judgement
            if verdict.is_rewrite:
                event = rewritten(event, verdict)
                question = self._dialect.question(event)
        return judgement

    def _judge_start(self, event: str) -> Judgement:
        """Waits for the extensions that are still starting and may guard this event. Returns the judgement with which
        the chain begins."""
        guards = self._guards
        before = len(guards.cancellations)
        if starting := guards.starting(event):
            self._loop.run_until(
                lambda: len(guards.cancellations) > before or all(extension.is_settled for extension in starting),
                latest_start(starting),
            )
        return self._cancelled() if len(guards.cancellations) > before else guards.judge_unstarted()

    def _cancelled(self) -> Judgement:
        return Judgement(blocked_by="host", reason=self._guards.cancellations[-1])


class VerdictInFlight(InFlight):
    """Judges one event without waiting: each answer starts the next step. `done` gets the judgement. Raises `KeyError`
    for an event that cannot be guarded."""

    def __init__(
        self, loop: Loop, guards: Guards, dialect: Dialect, event: frames.Event, done: Callable[[Judgement], None]
    ) -> None:
        super().__init__(loop)
        self._guards = guards
        self._dialect = dialect
        self._event = event
        guards.of(event.event)
        self._question = dialect.question(event)
        self._done = done
        self._left: list[Extension] = []
        self._judgement = UNTOUCHED
        loop.call_later(0, self._begin)

    def _begin(self) -> None:
        if self._cancelled is None and self._guards.waits_for_start(self._event.event):
            self._loop.call_later(STARTERS_S, self._begin)
            return
        self._judgement = self._guards.judge_unstarted()
        self._left = list(self._guards.of(self._event.event))
        self._next()

    def _next(self) -> None:
        if self._cancelled is not None:
            self._done(Judgement(blocked_by="host", reason=self._cancelled))
            return
        # The new generation of a reloaded extension may not guard this event.
        self._left = [extension for extension in self._left if self._event.event in extension.guards]
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
            self._judgement = self._guards.count_verdict(self._judgement, name, extension, verdict)
            if verdict.is_rewrite:
                self._event = rewritten(self._event, verdict)
                self._question = self._dialect.question(self._event)
        self._next()
