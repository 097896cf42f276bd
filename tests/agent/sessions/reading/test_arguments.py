"""Arguments in words: texts stand as they are."""

from __future__ import annotations

import pytest

from agent.sessions.reading.arguments import named_arguments, texts_in


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (b'{"path": "a\\nb", "n": 1, "deep": {"x": [true]}}', [("path", "a\nb"), ("n", "1"), ("deep", '{"x":[true]}')]),
        (b"{}", []),
        (b"[1]", [("", "[1]")]),
        (b'{"a": ', [("", '{"a": ')]),
        (b'{"a":' + b"[" * 200 + b"]" * 200 + b"}", [("", '{"a":' + "[" * 200 + "]" * 200 + "}")]),
        (b"\xff", [("", "\ufffd")]),
    ],
)
def test_names_and_values(args, named):
    assert named_arguments(args) == named


def test_a_search_sees_every_text():
    assert texts_in(b'{"command": "say \\"hi\\"", "list": ["x", {"y": null}]}') == 'command: say "hi"\nlist: x\ny: null'
    assert texts_in(b"{bad") == "{bad"
    assert texts_in(b"[" * 200 + b"]" * 200) == "[" * 200 + "]" * 200
