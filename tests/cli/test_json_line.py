"""A JSON line controls no terminal, and says the same."""

from __future__ import annotations

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from cli.json_line import json_line

DIRECTION = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(["\x1b", "\x7f", "\x9b", *DIRECTION])))
def test_control_characters_are_escaped(text):
    line = json_line({"text": text}).decode()
    assert json.loads(line) == {"text": text}
    assert line.endswith("\n")
    assert not [char for char in line[:-1] if unicodedata.category(char) == "Cc" or char in DIRECTION]


def test_a_path_of_any_bytes_is_shown():
    assert json_line({"dir": "/a\udcff\x9b"}) == b'{"dir":"/a?\\u009b"}\n'
