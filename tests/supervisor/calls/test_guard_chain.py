"""A chain of guards judges as if each guard was asked alone, in order, whichever of them are asked at the same time."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from supervisor.calls.guard_chain import UNTOUCHED, GuardChain, Judgement, fold, rewrite_event, rounds_of
from wire.dialects.verdict import ALLOW, GuardVerdict, VerdictKind
from wire.frames import Event

PROMPT = Event("user_prompt", text="go")


@dataclass
class FakeGuard:
    """Gives one of `verdicts`: which one depends on the text that it sees."""

    name: str
    verdicts: tuple[GuardVerdict, ...] = (ALLOW,)
    is_independent: bool = False
    denies_on_failure: bool = False
    lets_asked_pass: bool = False
    guards: set[str] = field(default_factory=lambda: {"user_prompt"})

    def verdict(self, event: Event) -> GuardVerdict:
        given = self.verdicts[len(event.text or "") % len(self.verdicts)]
        if given.replace_text is not None:
            return GuardVerdict(VerdictKind.ALLOW, given.reason, replace_text=(event.text or "") + given.replace_text)
        return given


def appends(suffix: str, remark: str = "") -> GuardVerdict:
    return GuardVerdict(VerdictKind.ALLOW, remark, replace_text=suffix)


DENY = GuardVerdict(VerdictKind.DENY, "no")
VERDICTS = st.sampled_from(
    [
        *(ALLOW, ALLOW, DENY),
        GuardVerdict(VerdictKind.NO_VERDICT, "it ended"),
        GuardVerdict(VerdictKind.ALLOW, "seen"),
        *(appends("x"), appends("yz", "changed")),
        GuardVerdict(VerdictKind.ASK, "sure?"),
        GuardVerdict(VerdictKind.ALLOW, additional_context="more"),
    ]
)
GUARDS = st.lists(
    st.builds(
        FakeGuard,
        name=st.just(""),
        verdicts=st.lists(VERDICTS, min_size=1, max_size=3).map(tuple),
        is_independent=st.booleans(),
        denies_on_failure=st.booleans(),
        lets_asked_pass=st.booleans(),
    ),
    max_size=7,
).map(lambda guards: [_named(guard, number) for number, guard in enumerate(guards)])


def _named(guard: FakeGuard, number: int) -> FakeGuard:
    guard.name = f"g{number}"
    return guard


def in_turn(guards: list[FakeGuard]) -> tuple[Judgement, list[tuple[str, GuardVerdict]]]:
    """The model: each guard alone. Returns the judgement, and each verdict but a plain allow with its guard."""
    event, judgement, counted = PROMPT, UNTOUCHED, []
    for guard in guards:
        verdict = guard.verdict(event)
        if verdict is not ALLOW:
            counted.append((guard.name, verdict))
        judgement = fold(
            judgement,
            guard.name,
            verdict,
            deny_on_failure=guard.denies_on_failure,
            let_asked_pass=guard.lets_asked_pass,
        )
        if judgement.is_blocked:
            break
        if verdict.is_rewrite:
            event = rewrite_event(event, verdict)
    return judgement, counted


@given(GUARDS, st.data())
def test_a_chain_judges_as_if_each_guard_was_asked_alone(guards: list[FakeGuard], data: st.DataObject):
    chain = GuardChain(PROMPT, rounds_of(guards))
    counted: list[tuple[str, GuardVerdict]] = []
    asked: list[tuple[str, str]] = []
    while round_ := chain.asked:
        event, left = chain.event, list(round_)
        asked += [(guard.name, event.text or "") for guard in round_]
        while chain.asked is round_:
            guard = data.draw(st.sampled_from(left))
            left.remove(guard)
            counted += [(told.name, verdict) for told, verdict in chain.answered(guard, guard.verdict(event))]
    assert (chain.judgement, counted) == in_turn(guards)
    assert len(set(asked)) == len(asked), "no guard is asked twice about the same event"


@given(GUARDS)
def test_independent_guards_that_follow_one_another_are_one_round(guards: list[FakeGuard]):
    rounds = rounds_of(guards)
    assert [guard for round_ in rounds for guard in round_] == guards
    assert all(len(round_) == 1 or all(guard.is_independent for guard in round_) for round_ in rounds)
    for round_, following in pairwise(rounds):
        assert not (round_[-1].is_independent and following[0].is_independent)


@given(GUARDS, st.integers(0, 20), st.data())
def test_a_cancelled_chain_is_blocked_by_the_host_and_asks_no_more(
    guards: list[FakeGuard], answers: int, data: st.DataObject
):
    chain = GuardChain(PROMPT, rounds_of(guards))
    while answers and (round_ := chain.asked):
        event, waiting = chain.event, list(round_)
        while answers and chain.asked is round_:
            guard = data.draw(st.sampled_from(waiting))
            waiting.remove(guard)
            chain.answered(guard, guard.verdict(event))
            answers -= 1
    chain.cancel("interrupted")
    assert chain.judgement == Judgement(blocked_by="host", reason="interrupted")
    assert not chain.asked


@given(GUARDS, st.data())
def test_a_guard_that_guards_the_event_no_longer_is_not_asked_later(guards: list[FakeGuard], data: st.DataObject):
    """A reload may change what an extension guards between two rounds."""
    chain = GuardChain(PROMPT, rounds_of(guards))
    while round_ := chain.asked:
        gone = data.draw(st.lists(st.sampled_from(guards), max_size=2))
        for guard in gone:
            guard.guards.clear()
        event = chain.event
        for guard in round_:
            if chain.asked is round_:
                chain.answered(guard, guard.verdict(event))
        assert all(guard.guards for guard in chain.asked)


def test_a_chain_that_begins_blocked_asks_no_guard():
    blocked = Judgement(blocked_by="strict", reason="it is still starting")
    chain = GuardChain(PROMPT, rounds_of([FakeGuard("a")]), blocked)
    assert (chain.asked, chain.judgement) == ((), blocked)


def test_a_block_counts_only_when_the_guards_before_it_have_allowed():
    first, second = FakeGuard("first", is_independent=True), FakeGuard("second", is_independent=True)
    chain = GuardChain(PROMPT, rounds_of([first, second]))
    assert chain.asked == (first, second)
    assert chain.answered(second, DENY) == []
    assert chain.asked == (first, second)
    assert chain.answered(first, ALLOW) == [(second, DENY)]
    assert (chain.judgement.blocked_by, chain.asked) == ("second", ())


def test_the_guards_behind_a_rewrite_are_asked_again():
    first, second, third = (FakeGuard(name, is_independent=True) for name in ("first", "second", "third"))
    chain = GuardChain(PROMPT, rounds_of([first, second, third]))
    chain.answered(third, DENY)
    chain.answered(first, ALLOW)
    chain.answered(second, GuardVerdict(VerdictKind.ALLOW, replace_text="stop"))
    assert (chain.asked, chain.event.text) == ((third,), "stop")
    chain.answered(third, ALLOW)
    assert (chain.asked, chain.judgement) == ((), Judgement(text="stop"))
