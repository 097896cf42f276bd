"""Text from the system becomes text that JSON can hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from wire.text import counted, valid_text


@given(st.binary())
def test_text_from_the_system_becomes_valid_json_text(data):
    text = valid_text(data.decode("utf-8", "surrogateescape"))
    assert text == data.decode("utf-8", "replace")
    text.encode()


def test_a_number_stands_with_its_noun():
    said = [counted(count, "line") for count in (0, 1, 2)]
    assert said == ["0 lines", "1 line", "2 lines"]
    assert (counted(1, "process", "processes"), counted(2, "process", "processes")) == ("1 process", "2 processes")
