"""Secrets in frames, also within JSON escapes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.traces.mask import MASK, SHORTEST, Masking, is_maskable, without_escapes

TOKENS = [
    "sk-" + "a1B2-" * 6,
    "ghp_0123456789abcdefABCDEF",
    "github_pat_11ABCDEFG0123456789_abc",
    "xoxb-123456789012-abcdef",
    "xoxa-2-123456789012",
    "xoxp-123456789012-abcdef",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA-0123456789abcdefghijklmnopqrstu",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow/IBA+AK=\nabc\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAK\ncut off",
]


def nest(text: str, levels: int, *, is_ascii: bool) -> str:
    for _level in range(levels):
        text = json.dumps({"text": text}, ensure_ascii=is_ascii)
    return text


def unnest(text: str, levels: int) -> str:
    for _level in range(levels):
        text = json.loads(text)["text"]
    return text


values = st.text(min_size=SHORTEST, max_size=20).filter(
    lambda text: len(without_escapes(text)) >= SHORTEST and is_maskable(text)
)


@given(values, st.text(max_size=10), st.text(max_size=10), st.integers(1, 4), st.booleans())
def test_a_value_is_in_no_text_at_any_depth_of_json(
    value: str, before: str, after: str, levels: int, is_ascii: bool
) -> None:
    masked = Masking([value]).mask(nest(f"{before}{value}{after}", levels, is_ascii=is_ascii))
    if masked is None:
        return
    try:
        text = unnest(masked, levels)
    except ValueError:  # a value such as `": "` is also a part of the JSON itself
        text = masked
    assert value not in text.replace(MASK, "\0")


@pytest.mark.parametrize("token", TOKENS)
@given(st.text(max_size=5), st.integers(0, 3), st.booleans())
def test_a_token_of_a_known_form_is_masked_at_any_depth_of_json(
    token: str, before: str, levels: int, is_ascii: bool
) -> None:
    masked = Masking([]).mask(nest(f"{before}\n{token}", levels, is_ascii=is_ascii))
    assert masked is None or token[:30].rpartition("\n")[2] not in without_escapes(masked)


@pytest.mark.parametrize("token", TOKENS)
def test_the_rest_of_the_frame_stays_as_it_was(token: str) -> None:
    frame = json.dumps({"type": "tool_call", "id": "7", "args": {"text": f"before {token}"}, "more": [1.0, "é"]})
    masked = Masking([]).mask(frame)
    assert masked is not None
    assert json.loads(masked)["args"] == {"text": f"before {MASK}"}
    assert json.loads(masked)["more"] == [1.0, "é"]


def test_a_bearer_token_is_masked_and_a_bearer_of_news_is_not() -> None:
    masking = Masking([])
    assert masking.mask('{"h":"Authorization: Bearer abcdef12345/+="}') == '{"h":"Authorization: ' + MASK + '"}'
    assert masking.mask('{"h":"the bearer of news"}') == '{"h":"the bearer of news"}'


def test_a_token_that_is_escaped_letter_by_letter_leaves_the_frame_out() -> None:
    token = "".join(f"\\u{ord(each):04x}" for each in TOKENS[0])
    assert Masking([]).mask(f'{{"text":"{token}"}}') is None
    value = "".join(f"\\u{ord(each):04X}" for each in "hunter2!")
    assert Masking(["hunter2!"]).mask(f'{{"text":"{value}"}}') is None


@given(st.text(max_size=50))
def test_texts_without_secrets_stay_as_they_are(text: str) -> None:
    frame = json.dumps({"text": text})
    assert Masking([]).mask(frame) == frame


def test_short_values_are_not_masked() -> None:
    assert Masking(["yes", ""]).mask("yes or no") == "yes or no"


@pytest.mark.parametrize("piece", ["\\", "eyJ", "bearer ", "-----BEGIN ", "sk-", "\\n", "\\u00"])
def test_texts_that_nearly_match_many_times_take_no_long_time(piece: str) -> None:
    text = f'{{"text":"{piece * (32_768 // len(piece))}z"}}'
    for _ in range(8):  # with a part that is tried anew at each place, minutes
        Masking(["hunter2!"]).mask(text)


@pytest.mark.parametrize("value", ["true", "NULL", "test", "12345", "abc"])
def test_words_that_every_frame_may_have_are_not_masked(value: str) -> None:
    text = json.dumps({"a": value, "b": True})
    assert Masking([value]).mask(text) == text
