"""Plain lines: texts of extensions are cleaned there, too."""

from __future__ import annotations

from pyzot.screen.plain import PlainScreen


def test_a_text_of_an_extension_is_cleaned(capsys):
    screen = PlainScreen({})
    screen.insert("\x1b[2Jtext\ud83d")
    screen.suggest("/resume \x1b[2J")
    assert capsys.readouterr().out == "for the next line: text\ngo on with: /resume …\n"
