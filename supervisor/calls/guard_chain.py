"""The chain of guards of one event. Pure: it says which guards to ask, takes their verdicts and gives the judgement.

The guards are asked in rounds. A round is the next guard or, if that guard is independent, all independent guards that
follow one another: they are asked at the same time. Verdicts count in the order of the guards, whatever the order in
which they come. The first block ends the chain. A rewrite ends the round: the guards behind it are asked again, about
the rewritten event. So the judgement is the same as if each guard was asked alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from supervisor.calls.verdict import ALLOW, UNTOUCHED, Judgement, fold, rewritten

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from supervisor.calls.verdict import Verdict
    from wire.frames import Event


class Guard(Protocol):
    """The part of an extension that a chain reads."""

    name: str
    denies_on_failure: bool
    """Whether no verdict of this guard means deny."""
    is_independent: bool

    @property
    def guards(self) -> Collection[str]:
        """The events that it guards now. A reload can change them."""
        ...


AGuard = TypeVar("AGuard", bound=Guard)


class GuardChain(Generic[AGuard]):
    """Repeat until `next_round` returns no guard: ask each of them about `event`, and pass each verdict to `answered`.
    Then `judgement` is final."""

    __slots__ = ("_asked", "_guards", "_next", "_verdicts", "event", "judgement")

    def __init__(self, event: Event, guards: Sequence[AGuard], judgement: Judgement = UNTOUCHED) -> None:
        """`guards` are in the order in which their verdicts count; the chain does not change the sequence. `judgement`
        is the one with which the chain begins."""
        self.event = event
        """The event with all rewrites so far."""
        self.judgement = judgement
        self._guards = guards
        self._next = len(guards) if judgement is not UNTOUCHED and judgement.is_blocked else 0
        """The place in `guards` of the first guard that is not in this round or an earlier one."""
        self._asked: Sequence[AGuard] = ()
        """The guards of this round whose verdicts do not count yet."""
        self._verdicts: list[Verdict | None] = []
        """The verdicts of the guards in `_asked`, as far as they have come."""

    def next_round(self) -> Sequence[AGuard]:
        """Begins the next round, and returns the guards to ask at the same time. Returns none at the end of the chain.
        A guard that no longer guards the event is left out."""
        guards, begin, count = self._guards, self._next, len(self._guards)
        if begin:
            while begin < count and self.event.event not in guards[begin].guards:
                begin += 1
        end = begin + 1
        if begin < count and guards[begin].is_independent:
            while end < count and guards[end].is_independent and self.event.event in guards[end].guards:
                end += 1
        self._next = end
        self._asked = asked = guards[begin:end]
        self._verdicts = [None] * len(asked)
        return asked

    @property
    def is_asking(self) -> bool:
        """Whether this round waits for a verdict that can count."""
        return bool(self._asked)

    def answered(self, guard: AGuard, verdict: Verdict) -> Sequence[tuple[AGuard, Verdict]]:
        """Takes the verdict of a guard of this round. A failed request is no verdict. Returns the verdicts that count
        from now on, in order, without each plain allow."""
        asked = self._asked
        if len(asked) == 1 and verdict is ALLOW:
            self._asked = ()
            return ()
        self._verdicts[asked.index(guard)] = verdict
        news: list[tuple[AGuard, Verdict]] = []
        for place, (guard, given) in enumerate(zip(asked, self._verdicts, strict=True)):
            if given is None:
                self._asked, self._verdicts = asked[place:], self._verdicts[place:]
                return news
            if given is ALLOW:
                continue
            news.append((guard, given))
            self.judgement = fold(self.judgement, guard.name, given, deny_on_failure=guard.denies_on_failure)
            if self.judgement.is_blocked:
                self._next = len(self._guards)
                break
            if given.is_rewrite:
                self.event = rewritten(self.event, given)
                self._next -= len(asked) - place - 1
                break
        self._asked = ()
        return news

    def cancel(self, reason: str) -> None:
        """Ends the chain with a block by the host."""
        self.judgement = Judgement(blocked_by="host", reason=reason)
        self._next = len(self._guards)
        self._asked = ()
