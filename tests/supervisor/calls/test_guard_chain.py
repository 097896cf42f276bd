"""A chain of guards judges as if each guard was asked alone, in order, whichever of them are asked at the same time."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from supervisor.calls.guard_chain import GuardChain
from supervisor.calls.verdict import ALLOW, UNTOUCHED, Judgement, Verdict, VerdictKind, fold, rewritten
from wire.frames import Event

PROMPT = Event("user_prompt", text="go")


@dataclass
class FakeGuard:
    """Gives one of `verdicts`: which one depends on the text that it sees."""

    name: str
    verdicts: tuple[Verdict, ...] = (ALLOW,)
    is_independent: bool = False
    denies_on_failure: bool = False
    guards: set[str] = field(default_factory=lambda: {"user_prompt"})

    def verdict(self, event: Event) -> Verdict:
        given = self.verdicts[len(event.text or "") % len(self.verdicts)]
        if given.replace_text is not None:
            return Verdict(VerdictKind.ALLOW, given.reason, replace_text=(event.text or "") + given.replace_text)
        return given


def appends(suffix: str, remark: str = "") -> Verdict:
    return Verdict(VerdictKind.ALLOW, remark, replace_text=suffix)


DENY = Verdict(VerdictKind.DENY, "no")
VERDICTS = st.sampled_from(
    [
        *(ALLOW, ALLOW, DENY),
        Verdict(VerdictKind.NO_VERDICT, "it ended"),
        Verdict(VerdictKind.ALLOW, "seen"),
        *(appends("x"), appends("yz", "changed")),
    ]
)
GUARDS = st.lists(
    st.builds(
        FakeGuard,
        name=st.just(""),
        verdicts=st.lists(VERDICTS, min_size=1, max_size=3).map(tuple),
        is_independent=st.booleans(),
        denies_on_failure=st.booleans(),
    ),
    max_size=7,
).map(lambda guards: [_named(guard, number) for number, guard in enumerate(guards)])


def _named(guard: FakeGuard, number: int) -> FakeGuard:
    guard.name = f"g{number}"
    return guard


def in_turn(guards: list[FakeGuard]) -> tuple[Judgement, list[tuple[str, Verdict]]]:
    """The model: each guard alone. Returns the judgement, and each verdict but a plain allow with its guard."""
    event, judgement, counted = PROMPT, UNTOUCHED, []
    for guard in guards:
        verdict = guard.verdict(event)
        if verdict is not ALLOW:
            counted.append((guard.name, verdict))
        judgement = fold(judgement, guard.name, verdict, deny_on_failure=guard.denies_on_failure)
        if judgement.is_blocked:
            break
        if verdict.is_rewrite:
            event = rewritten(event, verdict)
    return judgement, counted


@given(GUARDS, st.data())
def test_a_chain_judges_as_if_each_guard_was_asked_alone(guards: list[FakeGuard], data: st.DataObject):
    chain = GuardChain(PROMPT, guards)
    counted: list[tuple[str, Verdict]] = []
    asked: list[tuple[str, str]] = []
    while round_ := chain.next_round():
        event, left = chain.event, list(round_)
        asked += [(guard.name, event.text or "") for guard in round_]
        while chain.is_asking:
            guard = data.draw(st.sampled_from(left))
            left.remove(guard)
            counted += [(told.name, verdict) for told, verdict in chain.answered(guard, guard.verdict(event))]
    assert (chain.judgement, counted) == in_turn(guards)
    assert len(set(asked)) == len(asked), "no guard is asked twice about the same event"


@given(GUARDS)
def test_independent_guards_that_follow_one_another_are_asked_at_the_same_time(guards: list[FakeGuard]):
    round_ = GuardChain(PROMPT, guards).next_round()
    expected = guards[:1]
    for guard in guards[1:]:
        if not (guard.is_independent and expected[-1].is_independent):
            break
        expected.append(guard)
    assert list(round_) == expected


@given(GUARDS, st.integers(0, 20), st.data())
def test_a_cancelled_chain_is_blocked_by_the_host_and_asks_no_more(
    guards: list[FakeGuard], answers: int, data: st.DataObject
):
    chain = GuardChain(PROMPT, guards)
    round_, left = chain.next_round(), answers
    while round_ and left:
        event, waiting = chain.event, list(round_)
        while chain.is_asking and left:
            guard = data.draw(st.sampled_from(waiting))
            waiting.remove(guard)
            chain.answered(guard, guard.verdict(event))
            left -= 1
        round_ = chain.next_round() if not chain.is_asking else round_
    chain.cancel("interrupted")
    assert chain.judgement == Judgement(blocked_by="host", reason="interrupted")
    assert not chain.is_asking
    assert not chain.next_round()


@given(GUARDS, st.data())
def test_a_guard_that_guards_the_event_no_longer_is_not_asked_later(guards: list[FakeGuard], data: st.DataObject):
    """A reload may change what an extension guards between two rounds."""
    chain = GuardChain(PROMPT, guards)
    is_first = True
    while round_ := chain.next_round():
        assert is_first or all("user_prompt" in guard.guards for guard in round_)
        is_first, event = False, chain.event
        for guard in round_:
            if chain.is_asking:
                chain.answered(guard, guard.verdict(event))
        for guard in data.draw(st.lists(st.sampled_from(guards), max_size=2)):
            guard.guards.clear()


def test_a_chain_that_begins_blocked_asks_no_guard():
    blocked = Judgement(blocked_by="strict", reason="it is still starting")
    chain = GuardChain(PROMPT, [FakeGuard("a")], blocked)
    assert not chain.next_round()
    assert chain.judgement == blocked


def test_a_block_counts_only_when_the_guards_before_it_have_allowed():
    first, second = FakeGuard("first", is_independent=True), FakeGuard("second", is_independent=True)
    chain = GuardChain(PROMPT, [first, second])
    chain.next_round()
    assert chain.answered(second, DENY) == []
    assert chain.is_asking
    assert chain.answered(first, ALLOW) == [(second, DENY)]
    assert (chain.judgement.blocked_by, chain.is_asking) == ("second", False)


def test_the_guards_behind_a_rewrite_are_asked_again():
    first, second, third = (FakeGuard(name, is_independent=True) for name in ("first", "second", "third"))
    chain = GuardChain(PROMPT, [first, second, third])
    chain.next_round()
    chain.answered(third, DENY)
    chain.answered(first, ALLOW)
    chain.answered(second, Verdict(VerdictKind.ALLOW, replace_text="stop"))
    assert not chain.is_asking
    assert chain.next_round() == [third]
    assert chain.event.text == "stop"
    chain.answered(third, ALLOW)
    assert chain.next_round() == []
    assert chain.judgement == Judgement(text="stop")
