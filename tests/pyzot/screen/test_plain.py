"""Plain lines: texts of extensions are cleaned there, too."""

from __future__ import annotations

from types import SimpleNamespace

from pyzot.screen.plain import PlainScreen


def test_a_text_of_an_extension_is_cleaned(capsys):
    screen = PlainScreen({})
    screen.conversation = SimpleNamespace(arguments_of=lambda _command: [("id\x1b[2J", "\x1b]0;title\x07")])
    screen.insert("\x1b[2Jtext\ud83d")
    screen.suggest("/model ")
    screen.suggest("/resume ")
    assert capsys.readouterr().out == "for the next line: text\nid  \ngo on with: /resume …\n"
