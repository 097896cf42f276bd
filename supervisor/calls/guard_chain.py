"""The chain of guards of one event. Pure: it says which guards to ask, takes their verdicts and gives the judgement.

The guards are asked in rounds. A round is the next guard or, if that guard is independent, all independent guards that
follow one another: they are asked at the same time. Verdicts count in the order of the guards, whatever the order in
which they come. The first block ends the chain. A rewrite ends the round: the guards behind it in the round are asked
again, about the rewritten event. So the judgement is the same as if each guard was asked alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from supervisor.calls.judgement import DENIABLE, UNTOUCHED, Judgement, fold, rewritten
from wire.dialects.verdict import ALLOW

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from wire.dialects.verdict import Verdict
    from wire.frames import Event


class Guard(Protocol):
    """The part of an extension that a chain reads."""

    name: str
    denies_on_failure: bool
    """Whether no verdict of this guard means deny."""
    lets_asked_pass: bool
    """Whether what a person should decide is allowed."""
    is_independent: bool

    @property
    def guards(self) -> Collection[str]:
        """The events that it guards now. A reload can change them."""
        ...


AGuard = TypeVar("AGuard", bound=Guard)


def rounds_of(guards: Iterable[AGuard]) -> tuple[tuple[AGuard, ...], ...]:
    """Divides guards into rounds: each is one guard, or independent guards that follow one another."""
    rounds: list[tuple[AGuard, ...]] = []
    for guard in guards:
        if rounds and guard.is_independent and rounds[-1][0].is_independent:
            rounds[-1] += (guard,)
        else:
            rounds.append((guard,))
    return tuple(rounds)


class GuardChain(Generic[AGuard]):
    """Ask each guard in `asked` about `event`, and pass its verdict to `answered`. When `asked` becomes another object,
    a new round has begun. When it is empty, the judgement is final."""

    def __init__(self, event: Event, rounds: Iterable[tuple[AGuard, ...]], judgement: Judgement = UNTOUCHED) -> None:
        """Verdicts count in the order of `rounds`, see `rounds_of`. The chain begins with `judgement`."""
        self.event = event
        """The event with all rewrites so far."""
        self.judgement = judgement
        self._rounds = iter(rounds)
        """The rounds that follow."""
        self.asked = () if judgement.is_blocked else next(self._rounds, ())
        """The guards of this round."""
        self._verdicts: list[Verdict | None] = []
        """The verdicts of this round, as far as they have come; unused in a round of one guard."""

    def answered(self, guard: AGuard, verdict: Verdict) -> Sequence[tuple[AGuard, Verdict]]:
        """Takes the verdict of a guard of this round. A failed request is no verdict. Returns the verdicts that count
        from now on, in order, without each plain allow."""
        asked = self.asked
        if len(asked) > 1:
            return self._answered_one_of(asked, guard, verdict)
        if verdict is ALLOW:
            self._next_round(())
            return ()
        if not self._ends_round(guard, verdict, ()):
            self._next_round(())
        return ((guard, verdict),)

    def _answered_one_of(
        self, asked: tuple[AGuard, ...], guard: AGuard, verdict: Verdict
    ) -> Sequence[tuple[AGuard, Verdict]]:
        """Counts the verdicts before which none is missing."""
        verdicts = self._verdicts = self._verdicts or [None] * len(asked)
        before = verdicts.index(None)
        verdicts[asked.index(guard)] = verdict
        news: list[tuple[AGuard, Verdict]] = []
        for place, came in enumerate(verdicts[before:], before):
            if came is None:
                return news
            if came is not ALLOW:
                news.append((asked[place], came))
                if self._ends_round(asked[place], came, asked[place + 1 :]):
                    return news
        self._next_round(())
        return news

    def _ends_round(self, guard: AGuard, verdict: Verdict, behind: tuple[AGuard, ...]) -> bool:
        """Counts a verdict. Returns whether it has ended the round, by a block, or by a rewrite that the guards
        `behind` it in this round must see."""
        self.judgement = fold(
            self.judgement,
            guard.name,
            verdict,
            deny_on_failure=guard.denies_on_failure and self.event.event in DENIABLE,
            let_asked_pass=guard.lets_asked_pass,
        )
        if self.judgement.is_blocked:
            self._end()
            return True
        if verdict.is_rewrite:
            self.event = rewritten(self.event, verdict)
            self._next_round(behind)
        return verdict.is_rewrite

    def _next_round(self, behind: tuple[AGuard, ...]) -> None:
        """Begins the round of these guards, or the next one. Guards that no longer guard the event are left out."""
        event = self.event.event
        asked = behind or next(self._rounds, ())
        while asked:
            if len(asked) > 1:
                asked = tuple([guard for guard in asked if event in guard.guards])
            elif event not in asked[0].guards:
                asked = ()
            if asked:
                break
            asked = next(self._rounds, ())
        self.asked = asked
        if self._verdicts:
            self._verdicts = []

    def _end(self) -> None:
        self._rounds, self.asked = iter(()), ()

    def cancel(self, reason: str) -> None:
        """Ends the chain with a block by the host."""
        self.judgement = Judgement(blocked_by="host", reason=reason)
        self._end()
