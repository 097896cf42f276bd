"""Comments and commas behind the last item are replaced by spaces, and nothing else changes."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.settings.mcp_file import plain_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a": 1} // end', {"a": 1}),
        (b'/* \xc3\xa9 \n */ {"a": [1, 2,],}', {"a": [1, 2]}),
        (b'{"a": "// no", "b": "/* no */", "c": ",}"}', {"a": "// no", "b": "/* no */", "c": ",}"}),
        (b'{"a": "\\"// no"}', {"a": '"// no'}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b'{"a": 1, // the last\n}', {"a": 1}),
        (b'{"a": 1} /* without an end', {"a": 1}),
    ],
)
def test_what_editors_let_people_write(text: bytes, value: object) -> None:
    assert msgspec.json.decode(plain_json(text)) == value


def test_places_stay() -> None:
    text = b'{ // one\n  /* two\n three */ "a": x }'
    plain = plain_json(text)
    assert len(plain) == len(text)
    assert plain.index(b"x }") == text.index(b"x }")
    assert plain.count(b"\n") == 2


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_json_stays_as_it_is(value: object) -> None:
    text = msgspec.json.encode(value)
    assert plain_json(text) == text


@given(st.binary(max_size=200))
def test_any_bytes_keep_their_length(text: bytes) -> None:
    assert len(plain_json(text)) == len(text.removeprefix(b"\xef\xbb\xbf"))


def test_many_beginnings_of_comments_cost_no_square() -> None:
    assert plain_json(b"/* " * 300_000).strip() == b""
