"""Asks the guards of an event. `VerdictRequests.judge` waits for the judgement, `VerdictInFlight` does not."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from supervisor.calls.guard_chain import GuardChain
from supervisor.calls.guards import latest_start
from supervisor.calls.request import InFlight
from supervisor.calls.verdict import UNTOUCHED, Judgement, verdict_of
from supervisor.loop.future import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.calls.guards import Guards
    from supervisor.extension.extension import Extension
    from supervisor.extension.worker import Worker
    from supervisor.loop.future import Pending
    from supervisor.loop.loop import Loop
    from wire import frames
    from wire.dialects.base import Dialect

    Chain = GuardChain[Extension]


class VerdictRequests:
    """Judges one event at a time and waits. This is the hot path of a run."""

    def __init__(self, loop: Loop, guards: Guards, dialect: Dialect) -> None:
        self._loop = loop
        self._guards = guards
        self._dialect = dialect

    def judge(self, event: frames.Event) -> Judgement:
        """Asks the guards of an event, and waits for the judgement.

        Before that it waits for extensions that are still starting, since they may be guards: for each of them until
        the extension's intercept timeout, counted from the extension's start. Raises `KeyError` for an event that
        cannot be guarded.
        """
        guards = self._guards
        judgement = UNTOUCHED if guards.is_complete else self._judge_starts(event.event)
        if not (found := guards.of(event.event)):
            return judgement
        chain = GuardChain(event, found, judgement)
        while asked := chain.next_round():
            question = self._dialect.question(chain.event)
            if len(asked) == 1:
                worker = asked[0].lead
                self._take(chain, asked[0], worker, worker.ask(question))
            else:
                self._take_all(chain, [(guard, guard.lead, guard.lead.ask(question)) for guard in asked])
        return chain.judgement

    def _take(self, chain: Chain, guard: Extension, worker: Worker, pending: Pending) -> None:
        """Waits for the answer of a guard, and passes the verdict to the chain."""
        worker.wait(pending, worker.timeouts.intercept)
        if pending.failure is Failure.CANCELLED:
            chain.cancel(pending.reason)
        else:
            self._guards.count(chain, guard, verdict_of(chain.event.event, pending))

    def _take_all(self, chain: Chain, asked: Sequence[tuple[Extension, Worker, Pending]]) -> None:
        """Does the same for guards that were asked at the same time, as long as their verdicts can count."""
        for guard, worker, pending in asked:
            if chain.is_asking:
                self._take(chain, guard, worker, pending)
            else:  # its answer still has a deadline
                timeout_s = worker.timeouts.intercept
                self._loop.call_later(timeout_s, partial(worker.expire, pending, timeout_s))

    def _judge_starts(self, event: str) -> Judgement:
        """Waits for the extensions that are still starting and may guard this event. Returns the judgement with which
        the chain begins."""
        guards = self._guards
        before = len(guards.cancellations)
        if starting := guards.starting(event):
            self._loop.run_until(
                lambda: len(guards.cancellations) > before or all(extension.is_settled for extension in starting),
                latest_start(starting),
            )
        if len(guards.cancellations) > before:
            return Judgement(blocked_by="host", reason=guards.cancellations[-1])
        return guards.judge_unstarted()


class VerdictInFlight(InFlight):
    """Judges one event without waiting: each answer starts the next step. `done` gets the judgement. Raises `KeyError`
    for an event that cannot be guarded."""

    def __init__(
        self, loop: Loop, guards: Guards, dialect: Dialect, event: frames.Event, done: Callable[[Judgement], None]
    ) -> None:
        super().__init__(loop)
        guards.of(event.event)
        self._guards = guards
        self._dialect = dialect
        self._event = event
        self._done = done
        self._chain: Chain | None = None
        self._rounds = 0
        self._cancellations = len(guards.cancellations)
        loop.call_later(0, self._begin)

    def cancel(self, reason: str) -> None:
        super().cancel(reason)
        if self._chain is None:
            self._loop.call_later(0, self._begin)

    def _begin(self) -> None:
        """Starts the chain, unless the verdict must wait for a starting extension: then it is called again."""
        guards, event = self._guards, self._event.event
        if self._chain is not None:
            return
        if self._cancelled is None and len(guards.cancellations) > self._cancellations:
            self._cancelled = guards.cancellations[-1]
        if self._cancelled is None and guards.must_wait(event):
            guards.call_at_change(event, self._begin)
            return
        self._chain = GuardChain(self._event, guards.of(event), guards.judge_unstarted())
        self._next_round(self._chain)

    def _next_round(self, chain: Chain) -> None:
        self._rounds += 1
        if self._cancelled is not None:
            chain.cancel(self._cancelled)
        if not (asked := chain.next_round()):
            self._done(chain.judgement)
            return
        question = self._dialect.question(chain.event)
        for guard in asked:
            worker = guard.lead
            then = partial(self._answered, chain, self._rounds, guard)
            self._await(worker, worker.ask(question), worker.timeouts.intercept, then)

    def _answered(self, chain: Chain, asked_in_round: int, guard: Extension, pending: Pending) -> None:
        if asked_in_round != self._rounds:
            return  # the round ended without this verdict
        if pending.failure is Failure.CANCELLED and self._cancelled is None:
            self._cancelled = pending.reason
        if self._cancelled is None:
            self._guards.count(chain, guard, verdict_of(chain.event.event, pending))
        if self._cancelled is not None or not chain.is_asking:
            self._next_round(chain)
