"""The questions of guards to a person: each ends once, and a chain goes on as if the guard had said it itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.calls.guard_chain import REASON_LENGTH, UNTOUCHED, GuardChain, Judgement, fold, rewrite_event, rounds_of
from supervisor.calls.permissions import ClosedQuestionError, Permissions, Question, decided
from tests.supervisor.calls.test_guard_chain import PROMPT, FakeGuard
from wire.dialects.verdict import ALLOW, GuardVerdict, VerdictKind

if TYPE_CHECKING:
    from wire.frames import Event

ASK = GuardVerdict(VerdictKind.ASK, "sure?", replace_text="go on", additional_context="more")


def expecting() -> tuple[Permissions, list[str], list[str]]:
    """Permissions with a person; the ids that were asked, and each end."""
    asked: list[str] = []
    ended: list[str] = []
    permissions = Permissions()
    permissions.expect_person(
        lambda question: asked.append(question.id),
        lambda question: ended.append(f"{question.id} {question.decision} {question.reason}".strip()),
        lambda _predicate: None,
    )
    return permissions, asked, ended


def test_without_a_person_nobody_can_be_asked():
    assert not Permissions().can_ask()


def test_an_allowed_verdict_keeps_its_outputs():
    allowed = decided("g", ASK, is_allowed=True)
    judgement = fold(UNTOUCHED, "g", allowed, deny_on_failure=False)
    assert (judgement.is_blocked, judgement.text, judgement.contexts) == (False, "go on", ("more",))
    assert judgement.decided_for == "g"


@pytest.mark.parametrize(
    ("asked", "said", "reason"),
    [
        ("", "", "the user refused (guard g asked)"),
        ("it writes", "", "the user refused (guard g asked: it writes)"),
        ("", "not today", "the user refused: not today (guard g asked)"),
        ("it writes", "not today", "the user refused: not today (guard g asked: it writes)"),
    ],
)
def test_a_refused_verdict_blocks_with_the_words_of_the_user_and_of_the_guard(asked: str, said: str, reason: str):
    refused = decided("g", GuardVerdict(VerdictKind.ASK, asked, replace_text="x"), is_allowed=False, reason=said)
    judgement = fold(UNTOUCHED, "g", refused, deny_on_failure=False)
    assert judgement == Judgement(blocked_by="g", reason=reason, decided_for="g")


def test_the_reason_of_a_refusal_is_cut():
    asked = GuardVerdict(VerdictKind.ASK, "g" * REASON_LENGTH)
    refused = decided("g", asked, is_allowed=False, reason="u" * REASON_LENGTH)
    assert len(refused.reason) == REASON_LENGTH
    assert refused.reason.startswith("the user refused: uuu")


def test_a_guard_that_denies_behind_an_allowed_question_is_not_the_user():
    judgement = fold(UNTOUCHED, "a", decided("a", ASK, is_allowed=True), deny_on_failure=False)
    judgement = fold(judgement, "b", GuardVerdict(VerdictKind.DENY, "no"), deny_on_failure=False)
    assert (judgement.blocked_by, judgement.decided_for) == ("b", "a")


@pytest.mark.parametrize("answer", ["allow", "deny"])
def test_an_unknown_or_answered_question_is_refused_and_the_open_ones_are_named(answer: str):
    permissions, _, ended = expecting()
    with pytest.raises(ClosedQuestionError, match=r"^no question 'q1' waits for a decision; none does$"):
        getattr(permissions, answer)("q1")
    for _ in range(3):
        permissions.ask("g", PROMPT, ASK)
    getattr(permissions, answer)("q2")
    with pytest.raises(ClosedQuestionError, match=r"^no question 'q2' waits for a decision; q1 and q3 do$"):
        getattr(permissions, answer)("q2")
    getattr(permissions, answer)("q1")
    with pytest.raises(ClosedQuestionError, match=f"^no question '{'x' * 40}' waits for a decision; q3 does$"):
        getattr(permissions, answer)("x" * 1000)
    assert [end.split()[0] for end in ended] == ["q2", "q1"]


def test_who_has_left_is_asked_no_more_and_decides_nothing():
    permissions, _, ended = expecting()
    question = permissions.ask("g", PROMPT, ASK)
    permissions.leave("stdin has ended")
    assert ended == ["q1 cancelled stdin has ended"]
    assert (question.verdict, permissions.can_ask()) == (ASK, False)
    with pytest.raises(ClosedQuestionError):
        permissions.allow("q1")


STEPS = st.sampled_from(["ask", "allow", "deny", "cancel", "cancel_all"])


@given(st.lists(st.tuples(STEPS, st.integers(1, 9)), max_size=30))
def test_each_question_ends_once_whatever_happens(steps: list[tuple[str, int]]):
    permissions, asked, ended = expecting()
    called: list[str] = []
    questions: list[Question] = []
    for step, number in steps:
        before = set(permissions.open_ids)
        if step == "ask":
            question = permissions.ask("g", PROMPT, ASK)
            question.on_end = lambda question=question: called.append(question.id)
            questions.append(question)
        elif step == "cancel_all":
            permissions.cancel_all("enough")
            assert permissions.open_ids == []
        elif step == "cancel":
            if number <= len(questions):
                permissions.cancel(questions[number - 1], "enough")
        else:
            try:
                getattr(permissions, step)(f"q{number}")
            except ClosedQuestionError:
                assert f"q{number}" not in before
    assert asked == [question.id for question in questions]
    assert len(set(asked)) == len(asked)
    assert called == [end.split()[0] for end in ended]
    assert sorted([*called, *permissions.open_ids]) == sorted(asked)
    assert all(question.has_ended() == (question.id in called) for question in questions)
    undecided = [question for question in questions if question.decision in (None, "cancelled")]
    assert all(question.verdict is ASK for question in undecided)


# --- in a chain -----------------------------------------------------------------------------------------------

VERDICTS = st.sampled_from(
    [
        ALLOW,
        GuardVerdict(VerdictKind.DENY, "no"),
        GuardVerdict(VerdictKind.ALLOW, "changed", replace_text="x"),
        *[GuardVerdict(VerdictKind.ASK, "sure?"), GuardVerdict(VerdictKind.ASK, additional_context="more")] * 2,
        GuardVerdict(VerdictKind.ASK, "changed", replace_text="y"),
    ]
)


class AskingGuard(FakeGuard):
    def verdict(self, event: Event) -> GuardVerdict:
        return self.verdicts[len(event.text or "") % len(self.verdicts)]


GUARDS = st.lists(
    st.builds(
        AskingGuard,
        name=st.just(""),
        verdicts=st.lists(VERDICTS, min_size=1, max_size=2).map(tuple),
        is_independent=st.booleans(),
        lets_asked_pass=st.sampled_from([False, False, True]),
    ),
    max_size=5,
)


@given(GUARDS, st.data())
def test_a_chain_judges_as_if_each_guard_had_the_decision_of_the_person(guards: list[AskingGuard], data: st.DataObject):
    """Questions are answered at any time, also while other guards of the round have not given their verdicts; and the
    person may leave."""
    for number, guard in enumerate(guards):
        guard.name = f"g{number}"
    permissions, asked, _ = expecting()
    chain = GuardChain(PROMPT, rounds_of(guards), can_ask=permissions.can_ask)
    decisions: dict[str, bool | None] = {}
    while round_ := chain.asked:
        event, left = chain.event, list(round_)
        question: Question | None = None
        while chain.asked is round_:
            if chain.question is not None and question is None:
                guard, verdict = chain.question
                question = permissions.ask(guard.name, chain.event, verdict)
                assert chain.event == event, "it is asked about the event with all rewrites so far"
            if question is not None and (not left or data.draw(st.booleans())):
                assert chain.question is not None
                decision = data.draw(st.sampled_from([True, True, False, None]))
                decisions[question.extension] = decision
                if decision is None:
                    permissions.leave("gone")
                elif decision:
                    permissions.allow(question.id)
                else:
                    permissions.deny(question.id, "not so")
                guard, ended, question = chain.question[0], question, None
                chain.answered(guard, ended.verdict)
            else:
                guard = data.draw(st.sampled_from(left))
                left.remove(guard)
                chain.answered(guard, guard.verdict(event))
    assert chain.judgement == in_turn(guards, decisions)
    assert (chain.question, permissions.open_ids) == (None, [])
    assert len(asked) == len(decisions), "no guard's question is asked twice"


def in_turn(guards: list[AskingGuard], decisions: dict[str, bool | None]) -> Judgement:
    """The model: each guard alone."""
    event, judgement, is_there = PROMPT, UNTOUCHED, True
    for guard in guards:
        verdict = guard.verdict(event)
        if verdict.kind is VerdictKind.ASK and not guard.lets_asked_pass and is_there:
            decision = decisions[guard.name]
            is_there = decision is not None
            if decision is not None:
                verdict = decided(guard.name, verdict, is_allowed=decision, reason="not so")
        judgement = fold(judgement, guard.name, verdict, deny_on_failure=False, let_asked_pass=guard.lets_asked_pass)
        if judgement.is_blocked:
            break
        if verdict.is_rewrite:
            event = rewrite_event(event, verdict)
    return judgement
