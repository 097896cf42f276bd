"""Foreign text on a terminal: it keeps its colours, and does nothing else. Cutting and wrapping count columns."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from pyzot.screen.view.text import RESET, Palette, fit, width_of, wrap

PALETTES = {True: Palette(has_colours=True), False: Palette(has_colours=False)}
SGR = re.compile(r"\x1b\[[0-9;:]*m")
BIDI = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
PIECES = [
    "\x1b", "\x1b[", "\x9b", "\x1b]", "\x9d", "\x1bP", "\x90", "\x1b_", "\x1b^", "\x1bX", "\x07", "\x1b\\", "\x9c", "m",
    "[", "31", ";", ":", "?25l", "2J", "\n", "\r", "\r\n", "\t", "\b", "\x7f", "\x85", "\u202e", "\u2066", "\u061c",
    "\ud83d", "\udc00", "\x1b[31m", "\x1b[0m", "\x1b[m", "\x1bc", "\x1b(0", "\x1b#8", "\x1b]0;title\x07",
    "\x1b]8;;u\x1b\\", "\x1b[200~", "\x1b[6n", "a", " ", "漢", "e\u0301", "👩\u200d💻", "\u200b", "é",
]  # fmt: skip
hostile = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=30).map("".join)
any_text = hostile | st.binary(max_size=200).map(lambda data: data.decode("utf-8", "replace")) | st.text()
any_latin = st.binary(max_size=200).map(lambda data: data.decode("latin-1"))
WORDS = ["\x1b[31m", "\x1b[0m", "\x1b[1;44m", "漢", "e\u0301", "👩\u200d💻", " ", "  ", "word"]
letters = st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])
lines = st.lists(st.sampled_from(WORDS) | st.text(letters, max_size=3), max_size=40).map("".join)


def is_harmless(character):
    return character == "\n" or (unicodedata.category(character) not in ("Cc", "Cs") and character not in BIDI)


def without_colours(text):
    return SGR.sub("", text)


@given(any_text | any_latin, st.booleans())
@example("\x1b\x1b[2J", True)
@example("\x1b[\x80" + "2J", True)
@example("\x1b[" + "1" * 65 + "m", True)
@example("\x1b[31\x1b[0m", True)
@example("\ud83d", False)
@example("\u061cabc", False)
def test_a_text_can_colour_itself_and_nothing_else(text, has_colours):
    cleaned = PALETTES[has_colours].clean(text)
    assert [character for character in without_colours(cleaned) if not is_harmless(character)] == []
    if not has_colours:
        assert "\x1b" not in cleaned
    for line in cleaned.split("\n"):
        assert "\x1b" not in line or line.endswith(RESET)
    assert PALETTES[has_colours].one_line(text).count("\n") == 0


@given(any_text | any_latin)
def test_a_clean_text_stays(text):
    for palette in PALETTES.values():
        cleaned = palette.clean(text)
        assert without_colours(palette.clean(cleaned)) == without_colours(cleaned)


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Cf"])))
def test_letters_stay_as_they_are(text):
    assert PALETTES[False].clean(text) == text


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\tb", "a    b"),
        ("50 %\r\n100 %", "50 %\n100 %"),
        ("\x1b[31mred", "\x1b[31mred\x1b[0m"),
        ("\x1b[2J\x1b[Hx", "x"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r0m\x1b\\x", "x"),
        ("\x1b_payload\x1b\\x", "x"),
        ("\x00\x08", "␀␈"),
        ("\x1b[38:5:1mx", "\x1b[38:5:1mx\x1b[0m"),
        ("a\u202eb", "ab"),
        ("a\ud83db", "ab"),
    ],
)
def test_the_sequences_of_a_text(text, cleaned):
    assert PALETTES[True].clean(text) == cleaned
    assert PALETTES[False].clean(text) == without_colours(cleaned)


@pytest.mark.parametrize(
    "piece", ["\x1b[", "\x1b]", "\x1bP", "\x1b[3", "\x1b ", "\x9b1;", "a\x1b", "\x1b]x\x1b", "\x1b[1m"]
)
def test_many_escapes_are_read_once(piece):
    """A second look at each would take minutes."""
    assert without_colours(PALETTES[True].clean(piece * (200_000 // len(piece)))).strip("a") == ""


def test_a_text_of_many_lines_keeps_them():
    assert PALETTES[True].clean("\x1b[31mx\n" * 20_000).count("\x1b[31mx\x1b[0m\n") == 20_000


@given(any_text, st.booleans())
def test_the_width_of_a_clean_line_is_that_of_its_letters(text, has_colours):
    for line in PALETTES[has_colours].clean(text).split("\n"):
        assert width_of(line) == get_cwidth(without_colours(line))


@given(lines | any_text.map(lambda text: PALETTES[True].clean(text).replace("\n", "")), st.integers(-2, 30))
def test_a_fitted_line_has_at_most_the_columns(line, columns):
    fitted = fit(line, columns)
    assert width_of(fitted) <= max(0, columns)
    if width_of(line) <= columns:
        assert fitted == line
    elif columns > 0:
        assert without_colours(fitted).endswith("…")
        assert without_colours(line).startswith(without_colours(fitted)[:-1])
        assert "\x1b" not in fitted or fitted.endswith(RESET)


@given(lines, st.integers(2, 30))
def test_wrapped_rows_have_all_letters_and_at_most_the_columns(line, columns):
    line = PALETTES[True].clean(line)
    rows = wrap(line, columns)
    assert all(width_of(row) <= columns for row in rows)
    assert "".join(map(without_colours, rows)).replace(" ", "") == without_colours(line).replace(" ", "")
    assert all(SGR.findall(row)[-1:] in ([], [RESET]) for row in rows)


@given(lines)
def test_wrapping_to_no_column_ends(line):
    assert "".join(map(without_colours, wrap(line, 0))).replace(" ", "") == without_colours(line).replace(" ", "")


def test_a_wrapped_line_keeps_its_colours_and_is_cut_between_words():
    assert wrap("\x1b[31mone two three\x1b[0m four", 8) == [
        "\x1b[31mone two\x1b[0m", "\x1b[31mthree\x1b[0m", "four"
    ]  # fmt: skip
    assert wrap("x" * 20, 8) == ["x" * 8, "x" * 8, "x" * 4]
    assert wrap("漢字漢字", 5) == ["漢字", "漢字"]


def test_no_style_and_no_text_is_not_painted():
    assert PALETTES[True].paint("", "x") == PALETTES[False].paint("red", "x") == "x"
    assert PALETTES[True].paint("red", "") == ""
    assert PALETTES[True].paint("red", "x") == "\x1b[31mx\x1b[0m"


def test_one_line_cuts_in_the_middle_of_a_sequence():
    assert PALETTES[True].one_line("ab\x1b[31mcd", 5) == "ab"
    assert PALETTES[True].one_line(" a\n\n\tb  c ") == "a b c"
