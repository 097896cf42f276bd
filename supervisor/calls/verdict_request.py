"""Asks the guards of an event. `VerdictRequests.judge` waits for the judgement, `VerdictRequests.begin` does not."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from supervisor.calls.guard_chain import UNTOUCHED, GuardChain, Judgement, verdict_of
from supervisor.calls.guards import latest_start
from supervisor.calls.request_in_flight import RequestInFlight
from supervisor.loop.loop import Timestamp
from wire.dialects.base import GuardAnswer
from wire.dialects.verdict import ALLOW

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.calls.guards import Guards
    from supervisor.calls.permissions import Question
    from supervisor.extension.extension import Extension
    from supervisor.loop.future import Pending
    from supervisor.loop.loop import Loop
    from wire import frames
    from wire.dialects.verdict import GuardVerdict

    Chain = GuardChain[Extension]


GIVEN_UP = "no verdict is waited for any longer"


class Asked(NamedTuple):
    """A question to a guard that has ended. Both times are of the loop's clock."""

    guard: Extension
    asked_at: float
    answered_at: float
    verdict: GuardVerdict


class Judged(NamedTuple):
    """An event that guards were asked about."""

    event: frames.Event
    judgement: Judgement
    began: Timestamp
    asked: Sequence[Asked]
    """The questions to the guards, in the order in which they ended."""


class VerdictRequests:
    """Judges events: `judge` one at a time, and waits. This is the hot path of a run."""

    def __init__(self, loop: Loop, guards: Guards) -> None:
        self._loop = loop
        self._guards = guards
        self.on_judged: list[Callable[[Judged], None]] = []
        """Each gets each judged event."""
        self._asked: list[Asked] | None = None
        """The questions about the event that `judge` judges now; None if `on_judged` is empty."""

    def begin(self, event: frames.Event, done: Callable[[Judgement], None]) -> RequestInFlight:
        """Asks the guards; `done` gets the judgement. Raises `KeyError` for an event that cannot be guarded."""
        began = Timestamp.now()

        def judged(judgement: Judgement) -> None:
            self._tell(Judged(event, judgement, began, in_flight.answers))
            done(judgement)

        in_flight = VerdictInFlight(self._loop, self._guards, event, judged)
        return in_flight

    def _tell(self, judged: Judged) -> None:
        for callback in self.on_judged:
            callback(judged)

    def judge_and_tell(self, event: frames.Event) -> Judgement:
        """Does what `judge` does, and then calls `on_judged`."""
        if not self._guards.of(event.event):
            return self.judge(event)
        began = Timestamp.now()
        asked: list[Asked] = []
        self._asked = asked
        try:
            judgement = self.judge(event)
        finally:
            self._asked = None
        self._tell(Judged(event, judgement, began, asked))
        return judgement

    def judge(self, event: frames.Event) -> Judgement:
        """Asks the guards of an event, and waits for the judgement.

        Before that it waits for extensions that are still starting, since they may be guards: for each of them until
        the extension's intercept timeout, counted from the extension's start. Raises `KeyError` for an event that
        cannot be guarded.
        """
        guards, name = self._guards, event.event
        before = len(guards.cancellations)
        judgement = UNTOUCHED if guards.is_complete else self._judge_starts(name)
        if not (rounds := guards.rounds(name)):
            return judgement
        if len(rounds) == 1 and len(rounds[0]) == 1 and judgement is UNTOUCHED:
            # Most events have one guard, which allows: then there is nothing to fold.
            guard = rounds[0][0]
            requests = guard.lead.requests
            pending = requests.ask(event)
            requests.wait(pending, requests.timeouts.intercept)
            answer = pending.value
            if type(answer) is GuardAnswer and answer.verdict is ALLOW and len(guards.cancellations) == before:
                if self._asked is not None:
                    self._asked.append(Asked(guard, pending.asked_at, self._loop.clock(), ALLOW))
                return judgement
            chain = GuardChain(event, rounds, can_ask=guards.permissions.can_ask)
            self._take(chain, guard, pending, before)
            return chain.judgement
        chain = GuardChain(event, rounds, judgement, guards.permissions.can_ask)
        while asked := chain.asked:
            if len(asked) == 1:
                self._take(chain, asked[0], self._ask(asked[0], chain.event), before)
            else:
                self._ask_all(chain, asked, chain.event, before)
        return chain.judgement

    def _ask(self, guard: Extension, event: frames.Event) -> Pending:
        """Asks one guard, and waits."""
        requests = guard.lead.requests
        pending = requests.ask(event)
        requests.wait(pending, requests.timeouts.intercept)
        return pending

    def _ask_all(self, chain: Chain, asked: Sequence[Extension], event: frames.Event, before: int) -> None:
        """Asks the guards of a round at the same time, and waits until the round has ended."""
        open_requests = [guard.lead.requests for guard in asked]
        pendings = [requests.ask(event) for requests in open_requests]
        for guard, requests, pending in zip(asked, open_requests, pendings, strict=True):
            timeout_s = requests.timeouts.intercept
            if chain.asked is asked:
                requests.wait(pending, timeout_s)
                self._take(chain, guard, pending, before)
            elif not pending.done:  # the round has ended without this answer, whose deadline stays
                expire = partial(requests.expire, pending, timeout_s)
                pending.on_done = self._loop.call_at(pending.asked_at + timeout_s, expire).cancel

    def _take(self, chain: Chain, guard: Extension, pending: Pending, before: int) -> None:
        """Passes the verdict in an answer to the chain; cancels the chain if there are more than `before` cancellations
        by now."""
        if len(cancellations := self._guards.cancellations) > before:
            chain.cancel(cancellations[-1])
            return
        event = chain.event
        verdict = verdict_of(event.event, pending)
        if self._asked is not None:
            self._asked.append(Asked(guard, pending.asked_at, self._loop.clock(), verdict))
        if news := chain.answered(guard, verdict):
            self._guards.report(event, news)
        while chain.question is not None:
            self._ask_person(chain, *chain.question, before)

    def _ask_person(self, chain: Chain, guard: Extension, verdict: GuardVerdict, before: int) -> None:
        """Puts the question of a guard to a person, waits without a deadline, and passes the verdict to the chain."""
        guards, event = self._guards, chain.event
        question = guards.permissions.ask(guard.name, event, verdict)
        guards.permissions.wait(question.has_ended)
        guards.permissions.cancel(question, GIVEN_UP)  # does nothing if it has ended
        reason = guards.cancelled_since(before)
        if reason is None and question.decision == "cancelled" and guards.permissions.can_ask():
            reason = question.reason
        if reason is not None:
            chain.cancel(reason)
        else:
            guards.report(event, chain.answered(guard, question.verdict))

    def _judge_starts(self, event: str) -> Judgement:
        """Waits for the extensions that are still starting and may guard this event. Returns the judgement with which
        the chain begins."""
        guards = self._guards
        before = len(guards.cancellations)
        while guards.must_wait(event) and len(guards.cancellations) == before:
            self._loop.run_until(
                lambda: not guards.must_wait(event) or len(guards.cancellations) > before,
                latest_start(guards.starting(event)),
            )
        if (reason := guards.cancelled_since(before)) is not None:
            return Judgement(blocked_by="host", reason=reason)
        return guards.judge_unstarted(event)


class VerdictInFlight(RequestInFlight):
    """Judges one event without waiting: each answer starts the next step. `done` gets the judgement. Raises `KeyError`
    for an event that cannot be guarded."""

    def __init__(self, loop: Loop, guards: Guards, event: frames.Event, done: Callable[[Judgement], None]) -> None:
        super().__init__(loop)
        guards.rounds(event.event)
        self._guards = guards
        self._event = event
        self._done = done
        self._chain: Chain | None = None
        self._question: Question | None = None
        """The question that a person has to decide now."""
        self._before = len(guards.cancellations)
        self.answers: list[Asked] = []
        """The questions that have ended."""
        loop.call_later(0, self._begin)

    def cancel(self, reason: str) -> None:
        super().cancel(reason)
        if self._chain is None:
            self._loop.call_later(0, self._begin)
        if self._question is not None:
            self._guards.permissions.cancel(self._question, reason)

    @property
    def waits_for_person(self) -> bool:
        return self._question is not None

    def _begin(self) -> None:
        """Starts the chain; if the verdict must wait for a starting extension, tries again later."""
        guards, event = self._guards, self._event.event
        if self._chain is not None:
            return
        if self._cancel_reason is None and guards.must_wait(event):
            guards.call_at_change(event, self._begin)
            return
        rounds, judgement = guards.rounds_about(self._event), guards.judge_unstarted(event)
        self._chain = GuardChain(self._event, rounds, judgement, guards.permissions.can_ask)
        self._ask(self._chain)

    @property
    def _cancel_reason(self) -> str | None:
        """Why this verdict was cancelled, alone or with all others; None if it was not."""
        return self._guards.cancelled_since(self._before) if self._cancelled is None else self._cancelled

    def _ask(self, chain: Chain) -> None:
        if (reason := self._cancel_reason) is not None:
            chain.cancel(reason)
        if not chain.asked:
            self._done(chain.judgement)
            return
        for guard in chain.asked:
            requests = guard.lead.requests
            then = partial(self._answered, chain, chain.asked, guard)
            self._await(requests, requests.ask(chain.event), requests.timeouts.intercept, then)

    def _answered(self, chain: Chain, asked: Sequence[Extension], guard: Extension, pending: Pending) -> None:
        if chain.asked is asked:  # else the round has ended without this answer
            verdict = verdict_of(self._event.event, pending)
            self.answers.append(Asked(guard, pending.asked_at, self._loop.clock(), verdict))
            self._take(chain, guard, verdict)

    def _take(self, chain: Chain, guard: Extension, verdict: GuardVerdict) -> None:
        """Passes a verdict to the chain, and takes the next step."""
        asked, event = chain.asked, chain.event
        if self._cancel_reason is None:
            self._guards.report(event, chain.answered(guard, verdict))
        if self._cancel_reason is not None or chain.asked is not asked:
            self._ask(chain)
        elif chain.question is not None and self._question is None:
            self._ask_person(chain, *chain.question)

    def _ask_person(self, chain: Chain, guard: Extension, verdict: GuardVerdict) -> None:
        """Puts the question of a guard to a person. There is no deadline."""
        asked = chain.asked
        question = self._question = self._guards.permissions.ask(guard.name, chain.event, verdict)

        def decided() -> None:
            self._question = None
            if chain.asked is asked:  # else the chain was cancelled in the same pass
                self._take(chain, guard, question.verdict)

        question.on_end = lambda: self._loop.call_later(0, decided)
