"""The first denial blocks, rewrites chain, and a missing verdict means what its guard or strictness says."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from supervisor.calls.guard_chain import (
    ARGS_LIMIT,
    CONTEXT_LENGTH,
    DEFAULT_REASONS,
    DENIABLE,
    REASON_LENGTH,
    UNTOUCHED,
    Judgement,
    MissingVerdict,
    allowed_part,
    fold,
)
from tests.support.any_message import JSON
from wire.dialects.base import HOOK_POINTS
from wire.dialects.verdict import ALLOW, GuardVerdict, VerdictKind
from wire.dialects.zot import verdict_in
from wire.frames import InterceptResponse

EVENTS = ["tool_call", "turn_start", "assistant_message"]
VERDICTS = st.one_of(
    st.just(ALLOW),
    st.text(max_size=5).map(lambda reason: GuardVerdict(VerdictKind.DENY, reason)),
    st.text(max_size=5).map(lambda reason: GuardVerdict(VerdictKind.NO_VERDICT, reason)),
    st.binary(max_size=5).map(lambda args: GuardVerdict(VerdictKind.ALLOW, modified_args=args)),
    st.text(min_size=1, max_size=5).map(lambda text: GuardVerdict(VerdictKind.ALLOW, replace_text=text)),
)
CHAINS = st.lists(st.tuples(VERDICTS, st.booleans()), max_size=8)


def read_verdict(event: str, answer: InterceptResponse) -> GuardVerdict:
    """The verdict that a frame of a guard of zot counts for."""
    return allowed_part(event, verdict_in(answer))


def come_to(chain: list[tuple[GuardVerdict, bool]]) -> Judgement:
    judgement = UNTOUCHED
    for number, (verdict, deny) in enumerate(chain):
        judgement = fold(judgement, f"g{number}", verdict, deny_on_failure=deny)
    return judgement


def blocks(verdict: GuardVerdict, deny: bool) -> bool:
    return verdict.kind is VerdictKind.DENY or (verdict.kind is VerdictKind.NO_VERDICT and deny)


@given(CHAINS)
def test_the_first_denial_blocks(chain: list[tuple[GuardVerdict, bool]]):
    judgement = come_to(chain)
    blockers = [number for number, (verdict, deny) in enumerate(chain) if blocks(verdict, deny)]
    assert judgement.is_blocked is bool(blockers)
    assert judgement.blocked_by == (f"g{blockers[0]}" if blockers else None)
    if blockers and chain[blockers[0]][0].kind is VerdictKind.DENY:
        assert judgement.reason == chain[blockers[0]][0].reason


@given(CHAINS, CHAINS)
def test_nothing_counts_after_a_block(before: list[tuple[GuardVerdict, bool]], after: list[tuple[GuardVerdict, bool]]):
    judgement = come_to(before)
    if judgement.is_blocked:
        assert come_to([*before, *after]) == judgement


@given(CHAINS)
def test_the_last_rewrite_before_a_block_counts(chain: list[tuple[GuardVerdict, bool]]):
    judgement = come_to(chain)
    first = next((number for number, link in enumerate(chain) if blocks(*link)), len(chain))
    passed = [verdict for verdict, _ in chain[:first]]
    assert judgement.args == next((v.modified_args for v in reversed(passed) if v.modified_args is not None), None)
    assert judgement.text == next((v.replace_text for v in reversed(passed) if v.replace_text is not None), None)


@given(CHAINS)
def test_every_missing_verdict_before_the_block_is_reported(chain: list[tuple[GuardVerdict, bool]]):
    judgement = come_to(chain)
    first = next((number for number, link in enumerate(chain) if blocks(*link)), len(chain))
    assert judgement.missing == tuple(
        MissingVerdict(f"g{number}", verdict.reason, deny)
        for number, (verdict, deny) in enumerate(chain[: first + 1])
        if verdict.kind is VerdictKind.NO_VERDICT
    )


def test_a_denial_for_want_of_a_verdict_names_the_guard_and_why():
    judgement = fold(UNTOUCHED, "guard", GuardVerdict(VerdictKind.NO_VERDICT, "exit 9"), deny_on_failure=True)
    assert judgement.reason == "guard guard gave no verdict (exit 9), and its failure means deny"


@pytest.mark.parametrize("event", EVENTS)
def test_a_block_without_a_reason_has_the_default(event: str):
    assert read_verdict(event, InterceptResponse("1", block=True)) == GuardVerdict(
        VerdictKind.DENY, DEFAULT_REASONS[event]
    )
    assert read_verdict(event, InterceptResponse("1", block=True, reason="no")).reason == "no"
    assert read_verdict(event, InterceptResponse("1", block=True, replace_text="x")).kind is VerdictKind.DENY


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("block", [None, False])
def test_an_empty_answer_allows(event: str, block: bool | None):
    answer = InterceptResponse("1", block=block, modified_args=Raw(b"null"), replace_text="")
    assert read_verdict(event, answer) is ALLOW


@given(JSON, st.sampled_from([None, 2]))
def test_arguments_can_only_become_an_object(value: object, indent: int | None):
    text = json.dumps(value, indent=indent).encode()
    verdict = read_verdict("tool_call", InterceptResponse("1", modified_args=Raw(text)))
    if isinstance(value, dict):
        assert verdict == GuardVerdict(VerdictKind.ALLOW, modified_args=text)
    elif value is None:
        assert verdict is ALLOW
    else:
        assert verdict == GuardVerdict(VerdictKind.NO_VERDICT, "modified_args is not a JSON object")


@given(st.binary(max_size=30))
def test_arguments_that_are_no_json_are_no_verdict(text: bytes):
    verdict = read_verdict("tool_call", InterceptResponse("1", modified_args=Raw(text)))
    if verdict.kind is VerdictKind.NO_VERDICT:
        assert verdict.reason.startswith("modified_args is not ")
    else:
        assert verdict.modified_args is None or isinstance(json.loads(verdict.modified_args), dict)


def test_a_deeply_nested_rewrite_is_no_verdict():
    deep = Raw(b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}")
    verdict = read_verdict("tool_call", InterceptResponse("1", modified_args=deep))
    assert verdict == GuardVerdict(VerdictKind.NO_VERDICT, "modified_args is not JSON: nested too deeply")


def test_more_arguments_than_a_model_writes_are_no_verdict():
    answer = InterceptResponse("1", modified_args=Raw(b'{"a":[%b0]}' % (b"0," * (ARGS_LIMIT // 2))))
    verdict = read_verdict("tool_call", answer)
    assert (verdict.kind, verdict.reason) == (VerdictKind.NO_VERDICT, "modified_args has more than 1048576 bytes")


def test_the_reason_of_a_block_is_cut():
    verdict = read_verdict("tool_call", InterceptResponse("1", block=True, reason="no " * 1_000_000))
    assert len(verdict.reason) == REASON_LENGTH


def test_only_what_an_event_has_can_be_rewritten():
    answer = InterceptResponse("1", modified_args=Raw(b'{"a": 1}'), replace_text="new")
    assert read_verdict("tool_call", answer) == GuardVerdict(VerdictKind.ALLOW, modified_args=b'{"a": 1}')
    assert read_verdict("assistant_message", answer) == GuardVerdict(VerdictKind.ALLOW, replace_text="new")
    assert read_verdict("turn_start", answer) is ALLOW


# --- asking a person, context, errors, summaries ----------------------------------------------------------------

ALL = InterceptResponse(
    "1",
    ask=True,
    reason="why",
    additional_context=" more \n",
    error_handling="retry",
    retry_count=2,
    notification="note",
    session_summary="sum",
    system_prompt=" all new\n",
)


def test_each_event_has_its_own_outputs():
    ask, allow = VerdictKind.ASK, VerdictKind.ALLOW
    assert {event: read_verdict(event, ALL) for event in HOOK_POINTS} == {
        "session_start": GuardVerdict(allow, "why", additional_context="more"),
        "user_prompt": GuardVerdict(ask, "why", additional_context="more"),
        "turn_start": GuardVerdict(ask, "why"),
        "tool_call": GuardVerdict(ask, "why", additional_context="more"),
        "tool_result": GuardVerdict(ask, "why", additional_context="more"),
        "assistant_message": GuardVerdict(ask, "why"),
        "error": GuardVerdict(allow, "why", error_handling="retry", retry_count=2, notification="note"),
        "session_end": GuardVerdict(allow, "why", session_summary="sum"),
        "before_agent_start": GuardVerdict(allow, "why", system_prompt=" all new\n"),
    }


def test_what_has_happened_cannot_be_blocked():
    assert {"session_start", "session_end", "error", "before_agent_start"} == HOOK_POINTS - DENIABLE
    for event in HOOK_POINTS - DENIABLE - {"before_agent_start"}:
        assert read_verdict(event, InterceptResponse("1", block=True)) is ALLOW
        assert read_verdict(event, InterceptResponse("1", block=True, reason="no")).kind is VerdictKind.ALLOW


def test_no_verdict_of_a_dialect_stays_none():
    none = GuardVerdict(VerdictKind.NO_VERDICT, "nobody knows")
    assert allowed_part("tool_call", none) is none


def test_a_block_counts_more_than_a_question():
    assert read_verdict("tool_call", InterceptResponse("1", ask=True, block=True)).kind is VerdictKind.DENY


@pytest.mark.parametrize(("asked", "given"), [(None, 1), (0, 0), (-3, 0), (3, 3), (1000, 3)])
def test_retries_are_three_at_most(asked: int | None, given: int):
    answer = InterceptResponse("1", error_handling="retry", retry_count=asked)
    assert read_verdict("error", answer).retry_count == given


def test_context_is_cut():
    verdict = read_verdict("user_prompt", InterceptResponse("1", additional_context="x" * 10**6))
    assert len(verdict.additional_context) == CONTEXT_LENGTH
    assert verdict.additional_context.endswith("x …")


def test_what_a_person_should_decide_is_refused_unless_it_may_pass():
    question = GuardVerdict(VerdictKind.ASK, "it deletes", modified_args=b"{}", additional_context="seen")
    refused = fold(UNTOUCHED, "g", question, deny_on_failure=False)
    assert (refused.blocked_by, refused.args, refused.contexts) == ("g", None, ())
    assert refused.reason == "it deletes (guard g wants a person to decide, and no user can be asked here)"
    passed = fold(UNTOUCHED, "g", question, deny_on_failure=False, let_asked_pass=True)
    assert (passed.blocked_by, passed.args, passed.contexts) == (None, b"{}", ("seen",))
    assert passed.explanation == "g: it deletes"


def test_contexts_are_joined_in_order_and_the_last_word_on_an_error_counts():
    judgement = UNTOUCHED
    for name, verdict in {
        "a": GuardVerdict(VerdictKind.ALLOW, additional_context="one", error_handling="retry", retry_count=3),
        "b": GuardVerdict(VerdictKind.ALLOW, "seen", additional_context="two", session_summary="short"),
        "c": GuardVerdict(VerdictKind.ALLOW, error_handling="retry", retry_count=1),
    }.items():
        judgement = fold(judgement, name, verdict, deny_on_failure=False)
    assert judgement.additional_context == "one\n\ntwo"
    assert (judgement.error_handling, judgement.handled_by, judgement.retry_count) == ("retry", "c", 3)
    assert (judgement.session_summary, judgement.explanation) == ("short", "b: seen")
    aborted = fold(judgement, "d", GuardVerdict(VerdictKind.ALLOW, error_handling="abort"), deny_on_failure=False)
    assert (aborted.error_handling, aborted.handled_by) == ("abort", "d")
