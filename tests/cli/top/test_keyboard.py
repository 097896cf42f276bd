"""The keys that the bytes of a terminal stand for."""

from __future__ import annotations

import pytest

from cli.top.keyboard import Keys


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"q", ["q"]),
        (b"\x1b[A\x1b[B\x1b[5~\x1b[6~", ["up", "down", "pageup", "pagedown"]),
        (b"\x1bOA\x1b[H\x1b[1~\x1bOF", ["up", "home", "home", "end"]),
        (b"\x1b[1;5A\x1b[5;2~", ["up", "pageup"]),
        (b"\r\n\x7f\x15", ["enter", "enter", "backspace", "erase"]),
        ("é☃".encode(), ["é", "☃"]),
        (b"\x1b[99~\x1b[Z\x00\x01", []),
        (b"\xff\xfeq", ["q"]),
    ],
)
def test_bytes_of_a_terminal_become_keys(data, keys):
    assert Keys().feed(data) == keys


def test_a_sequence_may_come_in_pieces_and_an_escape_alone():
    keys = Keys()
    assert keys.feed(b"\x1b") == []
    assert keys.has_open_sequence
    assert keys.feed(b"[") + keys.feed(b"A") == ["up"]
    assert not keys.has_open_sequence
    keys.feed(b"\x1b")
    assert (keys.end_sequence(), keys.end_sequence()) == (["escape"], [])
