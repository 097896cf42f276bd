"""Text that zot's decoder reads is read, and valid text stays unchanged."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.any_message import JSON
from wire.lenient_json import UNREADABLE, fault_of, read, reason, repair


@given(JSON, st.booleans())
def test_sound_text_is_left_alone(value: object, ascii_only: bool):
    text = json.dumps(value, ensure_ascii=ascii_only).encode()
    assert repair(text) is None
    assert read(text) == (value, text)


@given(st.text())
def test_lone_surrogates_become_the_replacement_character(text: str):
    value, mended = read(json.dumps(text).encode())
    assert value == json.loads(mended)
    assert value == text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (rb'"\ud83d"', "\ufffd"),
        (rb'"\ud83d\ud83d\ude00"', "\ufffd😀"),
        (rb'"\ude00\ud83d"', "\ufffd\ufffd"),
        (rb'"\\ud83d\ud83d"', "\\ud83d\ufffd"),
        (b'"\xe9"', "\ufffd"),
        (b'{"\xff":"\xed\xa0\x80"}', {"\ufffd": "\ufffd\ufffd\ufffd"}),
    ],
)
def test_each_defect_is_repaired(text: bytes, value: object):
    assert read(text)[0] == value
    assert json.loads(read(text)[1]) == value


@given(st.binary(max_size=100))
def test_reading_raises_its_documented_errors_only(text: bytes):
    try:
        value, mended = read(text)
    except UNREADABLE as error:
        said = reason(error)
    else:
        said = repr(value)
        assert mended == text or repair(text) == mended
    assert said


def test_deep_nesting_has_a_reason_of_its_own():
    with pytest.raises(RecursionError) as caught:
        read(b"[" * 100_000)
    assert reason(caught.value) == "nested too deeply"


@pytest.mark.parametrize(
    ("text", "fault", "column"),
    [
        (rb'{"a": "\\ \ud800"}', "\\ud800 is half of a character, without its other half", 11),
        (rb'{"a": "\ud800', "it ends in the middle", 14),
        (rb'{"a": "\\ud800"', "it ends in the middle", 16),
        (b"", "it is empty", 1),
    ],
)
def test_a_text_that_ends_too_early_or_seems_to_has_its_reason(text: bytes, fault: str, column: int):
    with pytest.raises(msgspec.DecodeError) as caught:
        msgspec.json.decode(text)
    said, place = fault_of(text, caught.value)
    assert place is not None
    assert (said, place.column) == (fault, column)
