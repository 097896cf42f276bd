"""The first denial blocks, rewrites chain, and a missing verdict means what its guard or strictness says."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from supervisor.calls.verdict import (
    ALLOW,
    ARGS_LIMIT,
    DEFAULT_REASONS,
    REASON_LENGTH,
    UNTOUCHED,
    Judgement,
    Missing,
    Verdict,
    VerdictKind,
    fold,
    read_verdict,
)
from tests.support.any_message import JSON
from wire.frames import InterceptResponse

EVENTS = ["tool_call", "turn_start", "assistant_message"]
VERDICTS = st.one_of(
    st.just(ALLOW),
    st.text(max_size=5).map(lambda reason: Verdict(VerdictKind.DENY, reason)),
    st.text(max_size=5).map(lambda reason: Verdict(VerdictKind.NO_VERDICT, reason)),
    st.binary(max_size=5).map(lambda args: Verdict(VerdictKind.ALLOW, modified_args=args)),
    st.text(min_size=1, max_size=5).map(lambda text: Verdict(VerdictKind.ALLOW, replace_text=text)),
)
CHAINS = st.lists(st.tuples(VERDICTS, st.booleans()), max_size=8)


def come_to(chain: list[tuple[Verdict, bool]]) -> Judgement:
    judgement = UNTOUCHED
    for number, (verdict, deny) in enumerate(chain):
        judgement = fold(judgement, f"g{number}", verdict, deny_on_failure=deny)
    return judgement


def blocks(verdict: Verdict, deny: bool) -> bool:
    return verdict.kind is VerdictKind.DENY or (verdict.kind is VerdictKind.NO_VERDICT and deny)


@given(CHAINS)
def test_the_first_denial_blocks(chain: list[tuple[Verdict, bool]]):
    judgement = come_to(chain)
    blockers = [number for number, (verdict, deny) in enumerate(chain) if blocks(verdict, deny)]
    assert judgement.is_blocked is bool(blockers)
    assert judgement.blocked_by == (f"g{blockers[0]}" if blockers else None)
    if blockers and chain[blockers[0]][0].kind is VerdictKind.DENY:
        assert judgement.reason == chain[blockers[0]][0].reason


@given(CHAINS, CHAINS)
def test_nothing_counts_after_a_block(before: list[tuple[Verdict, bool]], after: list[tuple[Verdict, bool]]):
    judgement = come_to(before)
    if judgement.is_blocked:
        assert come_to([*before, *after]) == judgement


@given(CHAINS)
def test_the_last_rewrite_before_a_block_counts(chain: list[tuple[Verdict, bool]]):
    judgement = come_to(chain)
    first = next((number for number, link in enumerate(chain) if blocks(*link)), len(chain))
    passed = [verdict for verdict, _ in chain[:first]]
    assert judgement.args == next((v.modified_args for v in reversed(passed) if v.modified_args is not None), None)
    assert judgement.text == next((v.replace_text for v in reversed(passed) if v.replace_text is not None), None)


@given(CHAINS)
def test_every_missing_verdict_before_the_block_is_reported(chain: list[tuple[Verdict, bool]]):
    judgement = come_to(chain)
    first = next((number for number, link in enumerate(chain) if blocks(*link)), len(chain))
    assert judgement.missing == tuple(
        Missing(f"g{number}", verdict.reason, deny)
        for number, (verdict, deny) in enumerate(chain[: first + 1])
        if verdict.kind is VerdictKind.NO_VERDICT
    )


def test_a_denial_for_want_of_a_verdict_names_the_guard_and_why():
    judgement = fold(UNTOUCHED, "guard", Verdict(VerdictKind.NO_VERDICT, "exit 9"), deny_on_failure=True)
    assert judgement.reason == "guard guard gave no verdict (exit 9), and its failure means deny"


@pytest.mark.parametrize("event", EVENTS)
def test_a_block_without_a_reason_has_the_default(event: str):
    assert read_verdict(event, InterceptResponse("1", block=True)) == Verdict(VerdictKind.DENY, DEFAULT_REASONS[event])
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
        assert verdict == Verdict(VerdictKind.ALLOW, modified_args=text)
    elif value is None:
        assert verdict is ALLOW
    else:
        assert verdict == Verdict(VerdictKind.NO_VERDICT, "modified_args is not a JSON object")


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
    assert verdict == Verdict(VerdictKind.NO_VERDICT, "modified_args is not JSON: nested too deeply")


def test_more_arguments_than_a_model_writes_are_no_verdict():
    answer = InterceptResponse("1", modified_args=Raw(b'{"a":[%b0]}' % (b"0," * (ARGS_LIMIT // 2))))
    verdict = read_verdict("tool_call", answer)
    assert (verdict.kind, verdict.reason) == (VerdictKind.NO_VERDICT, "modified_args has more than 1048576 bytes")


def test_the_reason_of_a_block_is_cut():
    verdict = read_verdict("tool_call", InterceptResponse("1", block=True, reason="no " * 1_000_000))
    assert len(verdict.reason) == REASON_LENGTH


def test_only_what_an_event_has_can_be_rewritten():
    answer = InterceptResponse("1", modified_args=Raw(b'{"a": 1}'), replace_text="new")
    assert read_verdict("tool_call", answer) == Verdict(VerdictKind.ALLOW, modified_args=b'{"a": 1}')
    assert read_verdict("assistant_message", answer) == Verdict(VerdictKind.ALLOW, replace_text="new")
    assert read_verdict("turn_start", answer) is ALLOW
