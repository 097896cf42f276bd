"""Any answers of guards and tools: a call ends, its tool runs only if admitted, and nothing withheld comes through."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.calls.guard_chain import UNTOUCHED, Judgement
from supervisor.calls.guarded_call import CallStep, GuardedCall
from wire import frames

JUDGEMENTS = st.sampled_from(
    [
        *[UNTOUCHED] * 3,
        Judgement(blocked_by="g", reason="no", contexts=("secret",)),
        Judgement(args=b'{"a":2}', contexts=("seen",)),
        Judgement(args=b'{"a":1,"a":2}'),
        Judgement(result=frames.ModifiedResult([frames.ContentBlock("text", text="new")])),
        Judgement(error_handling="retry", retry_count=3, handled_by="g"),
        Judgement(error_handling="abort", handled_by="g"),
    ]
)
ABORT = "abort"


@given(st.lists(st.one_of(JUDGEMENTS, st.just(ABORT)), max_size=10), st.lists(st.booleans(), max_size=4), st.booleans())
def test_a_call_ends_and_what_is_blocked_stays_so(judgements: list, fails: list[bool], is_guarded: bool):
    call = GuardedCall("t1", "echo", b'{"a":1}')
    runs, asked, blocked, admitted = 0, [], False, False
    while call.step is not CallStep.ENDED:
        if call.step is CallStep.RUNNING:
            runs += 1
            is_error = fails.pop() if fails else False
            call.ran([frames.ContentBlock("text", text="out")], is_error=is_error)
            continue
        step, event = call.step, call.question
        assert event.event == step.value
        asked.append(step)
        judgement = judgements.pop() if judgements else UNTOUCHED
        if judgement is ABORT:
            call.abort("enough", is_guarded=is_guarded)
            assert (call.failure == "aborted: enough") is (is_guarded or step is CallStep.ADMISSION)
            continue
        call.judged(judgement)
        blocked = blocked or (judgement.is_blocked and step is not CallStep.RECOVERY)
        admitted = admitted or call.step is CallStep.RUNNING
    assert runs <= 4
    assert bool(runs) is admitted
    assert asked[0] is CallStep.ADMISSION
    assert asked.count(CallStep.REVIEW) <= 1
    if blocked:
        assert call.failure
        assert "secret" not in call.contexts
    before = call.failure, call.changed, call.contexts
    call.judged(Judgement(result=frames.ModifiedResult([])))
    call.abort("late")
    assert (call.failure, call.changed, call.contexts) == before


def test_a_question_is_one_line_however_the_model_has_written_the_arguments():
    call = GuardedCall("t1", "echo", b'{\r\n  "a": "b\\n"\n}')
    assert frames.encode(call.question).count(b"\n") == 1
    call.judged(UNTOUCHED)
    call.ran([], is_error=False)
    assert frames.encode(call.question).count(b"\n") == 1
    assert json.loads(bytes(call.question.tool_args)) == {"a": "b\n"}


def test_the_question_about_a_result_has_the_arguments_that_the_tool_got():
    call = GuardedCall("t1", "echo", b'{"a":1}')
    call.judged(Judgement(args=b'{"a":2}'))
    call.ran([], is_error=False)
    assert bytes(call.question.tool_args) == b'{"a":2}'
    refused = GuardedCall("t1", "echo", b"{}")
    refused.refuse("no such tool")
    assert (refused.step, refused.question) == (CallStep.REVIEW, refused.result), "it ran with none"


@pytest.mark.parametrize(
    ("judgement", "source"),
    [
        (UNTOUCHED, "yolo"),
        (Judgement(was_asked=True), "policy"),
        (Judgement(decided_for="g"), "user"),
        (Judgement(blocked_by="g", reason="no"), "policy"),
        (Judgement(blocked_by="g", reason="no", decided_for="g"), "user"),
        (Judgement(blocked_by="h", reason="no", decided_for="g"), "policy"),
        (Judgement(blocked_by="host", reason="interrupted"), "policy"),
    ],
)
def test_observers_hear_who_has_decided(judgement: Judgement, source: str):
    call = GuardedCall("t1", "echo", b"{}")
    call.judged(judgement)
    decision = call.take_decision()
    assert decision is not None
    assert (decision.source, decision.stage) == (source, "pre_execution")


def test_observers_hear_that_the_user_has_withheld_a_result():
    call = GuardedCall("t1", "echo", b"{}")
    call.judged(UNTOUCHED)
    call.ran([], is_error=False)
    call.judged(Judgement(blocked_by="g", reason="the user refused", decided_for="g"))
    decision = call.take_decision()
    assert decision is not None
    assert (decision.decision, decision.source, decision.stage) == ("denied", "user", "tool_execution")
