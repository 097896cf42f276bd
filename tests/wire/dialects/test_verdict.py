"""A verdict that a host passes on in zot's protocol is the same verdict for the run that reads it."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from wire import frames
from wire.dialects.verdict import ALLOW, GuardVerdict, VerdictKind, answer_frame
from wire.dialects.zot import verdict_in

TEXTS = st.one_of(st.just(""), st.text(max_size=20))
RAW = st.recursive(st.integers(-9, 9) | TEXTS, lambda each: st.dictionaries(TEXTS, each, max_size=3), max_leaves=5)
OPTIONAL_TEXT = st.none() | TEXTS


@st.composite
def answers(draw: st.DrawFn) -> frames.InterceptResponse:
    """Any answer of a guard."""
    given: dict[str, object] = {"type": "event_intercept_response", "id": draw(TEXTS)}
    for name in ("block", "ask"):
        given[name] = draw(st.none() | st.booleans())
    for name in (
        "reason", "replace_text", "additional_context", "notification", "session_summary", "system_prompt",
    ):  # fmt: skip
        given[name] = draw(OPTIONAL_TEXT)
    if draw(st.booleans()):
        given["modified_args"] = draw(RAW)
    if draw(st.booleans()):
        given["modified_result"] = {"content": [{"type": "text", "text": draw(TEXTS)}]}
    given["error_handling"] = draw(st.sampled_from([None, "retry", "skip", "abort"]))
    given["retry_count"] = draw(st.none() | st.integers(0, 5))
    return msgspec.json.decode(msgspec.json.encode(given), type=frames.InterceptResponse)


@given(answers())
def test_a_verdict_comes_through_a_host_unchanged(answer: frames.InterceptResponse) -> None:
    verdict = verdict_in(answer)
    passed_on = msgspec.json.decode(frames.encode(answer_frame("7", verdict)), type=frames.InterceptResponse)
    assert passed_on.id == "7"
    again = verdict_in(passed_on)
    assert again == verdict
    assert (again is ALLOW) == (verdict is ALLOW) or again.kind is VerdictKind.ALLOW


def test_to_allow_costs_no_member() -> None:
    assert frames.encode(answer_frame("7", ALLOW)) == b'{"type":"event_intercept_response","id":"7"}\n'


def test_a_denial_keeps_its_reason() -> None:
    frame = answer_frame("7", GuardVerdict(VerdictKind.DENY, "no"))
    assert (frame.block, frame.reason, frame.ask) == (True, "no", None)
