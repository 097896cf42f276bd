"""The line editor: keys, history, completion, the end of input."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("typed", "lines"),
    [
        (b"abc\r", ["abc"]),
        (b"ac\x1b[Db\r", ["abc"]),
        (b"bc\x01a\x05d\r", ["abcd"]),
        (b"abc\x15d\r", ["d"]),
        (b"ab\x7fc\r", ["ac"]),
        ("é".encode()[:1], []),
        ("né\r".encode(), ["né"]),
        (b"one\rtwo\r\x1b[A\x1b[A\r", ["one", "two", "one"]),
        (b"one\rt\x1b[A\x1b[B!\r", ["one", "t!"]),
        (b"x\x04\r", ["x"]),
    ],
)
def test_the_line_editor(typed, lines):
    from cli.ext.drive.line_editor import LineEditor

    whole, in_pieces = LineEditor(), LineEditor()
    assert whole.feed(typed) == lines
    assert [line for byte in typed for line in in_pieces.feed(bytes([byte]))] == lines


def test_the_end_of_input_and_completion():
    from cli.ext.drive.line_editor import LineEditor, Typed

    editor = LineEditor(lambda text: [line for line in ("tool shout ", "tool shut ") if line.startswith(text)])
    assert editor.feed(b"t\t") == []
    assert (editor.text, editor.choices) == ("tool sh", ["tool shout ", "tool shut "])
    assert editor.feed(b"o\t") == []
    assert (editor.text, editor.choices) == ("tool shout ", [])
    assert editor.window(5) == ("out ", 4)
    editor.clear()
    assert editor.feed(b"\x04") == [Typed.END]
