"""Text from the system becomes text that JSON can hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from wire.text import valid_text


@given(st.binary())
def test_text_from_the_system_becomes_valid_json_text(data):
    text = valid_text(data.decode("utf-8", "surrogateescape"))
    assert text == data.decode("utf-8", "replace")
    text.encode()
