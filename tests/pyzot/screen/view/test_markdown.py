"""Blocks of Markdown: the same however the text comes in pieces, and nothing is lost when they are drawn."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pyzot.screen.view import markdown
from pyzot.screen.view.markdown import LONGEST, Blocks, render
from pyzot.screen.view.text import Palette, width_of
from tests.pyzot.screen.view.test_text import any_text, without_colours

COLOURED, PLAIN = Palette(has_colours=True), Palette(has_colours=False)
PIECES = [
    "\n", "\n\n", "# ", "## ", "```", "```py\n", "~~~", "````", "`", "- ", "* ", "1. ", "2) ", "  ", "    ", "\t", "> ",
    "**", "_", "~~", "[a](b)", "![a](b)", "[", "](", "<b>", "<div>\n", "|a|b|\n|-|-|\n", "| ", "***\n", "---\n",
    "word ", "漢字 ", "&amp;", "\\", "\x1b[31m", "\x1b]0;", "\r\n", "https://example.org/a/long/path ", "x" * 50,
]  # fmt: skip
documents = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=40).map("".join)


def blocks_of(*pieces):
    blocks = Blocks()
    found = [block for piece in pieces for block in blocks.add(piece)]
    last = blocks.finish()
    assert blocks.rest == ""
    return [*found, last] if last else found


def drawn(text, columns=40):
    return [without_colours(line) for line in render(text, columns, COLOURED)]


@given(documents, st.lists(st.integers(0, 200)))
def test_blocks_do_not_depend_on_the_pieces(text, cuts):
    ends = sorted(min(cut, len(text)) for cut in cuts)
    pieces = [text[begin:end] for begin, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    assert blocks_of(*pieces) == blocks_of(text) == blocks_of(*text)


@given(documents)
def test_blocks_have_all_lines(text):
    found = "\n".join(blocks_of(text)).split("\n")
    assert [line for line in found if line.strip()] == [line for line in text.split("\n") if line.strip()]


@given(documents, st.data())
def test_the_rest_is_the_text_of_no_block(text, data):
    cut = data.draw(st.integers(0, len(text)))
    blocks = Blocks()
    found = [*blocks.add(text[:cut]), blocks.rest]
    assert "\n".join(found).split() == text[:cut].split()


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("one\ntwo\n\nthree", ["one\ntwo", "three"]),
        ("\n\n\none\n\n\n", ["one"]),
        ("```\na\n\nb\n```\n\nc", ["```\na\n\nb\n```", "c"]),
        ("````\n```\n\n```\n````\n\nc", ["````\n```\n\n```\n````", "c"]),
        ("~~~\n```\n\n~~~\n\nc", ["~~~\n```\n\n~~~", "c"]),
        ("```\na\n\nb\n\nc", ["```\na\n\nb\n\nc"]),
        ("```code``` in a line\n\nb", ["```code``` in a line", "b"]),
        ("- a\n\n- b\n\nc", ["- a\n\n- b", "c"]),
        ("- a\n\n  more\n  - inner\n\n    deep\n\n- b", ["- a\n\n  more\n  - inner\n\n    deep\n\n- b"]),
        ("1. a\n\n2. b\n\n3. c\n\nend", ["1. a\n\n2. b\n\n3. c", "end"]),
        ("text\n\n- a", ["text", "- a"]),
        ("# a\ntext\n## b\n- c", ["# a", "text", "## b", "- c"]),
        ("```\n# a\nb\n```", ["```\n# a\nb\n```"]),
    ],
)
def test_where_blocks_end(text, blocks):
    assert blocks_of(f"{text}\n") == blocks


def test_a_line_that_has_not_ended_belongs_to_the_last_block():
    assert blocks_of("one\n\ntwo") == ["one\n\ntwo"]


def test_a_fence_that_never_ends_is_one_block_and_the_next_text_begins_anew():
    blocks = Blocks()
    assert blocks.add("```\n" + "a\n\n# b\n" * 9) == []
    assert blocks.finish() == ("```\n" + "a\n\n# b\n" * 9).rstrip("\n")
    assert blocks.add("a\n\nb\n") == ["a"]


@given(any_text | documents, st.integers(10, 200))
@example("[![a](b)](c)", 20)
@example("> " * 200 + "x", 10)
@example("- " * 200 + "x", 10)
@example("|a|\n|-|\n|" + "x" * 50 + "|", 10)
def test_no_row_is_wider_than_the_screen(text, columns):
    for block in blocks_of(text):
        rows = render(block, columns, COLOURED)
        assert [row for row in rows if width_of(row) > columns] == []
        assert not re.search(r"[\x00-\x09\x0b-\x1a\x1c-\x1f\x7f-\x9f]|\x1b(?!\[[0-9;:]*m)", "\n".join(rows))
        assert render(block, columns, PLAIN) == PLAIN.clean(block).split("\n")


@given(st.text("ab <>/!-?=\"'", min_size=1, max_size=30).map(str.strip).filter(lambda text: text[:1].isalpha()))
@example("Option<String>")
@example("a <b>c</b> <!-- d -->")
def test_no_letter_of_a_paragraph_is_lost(text):
    assert "".join(drawn(text, 200)).replace(" ", "") == text.replace(" ", "")


def test_a_block_that_looks_like_html_is_shown():
    assert drawn("<div>\nDone\n</div>") == ["<div> Done </div>"]


def test_a_heading_stands_at_the_left():
    assert render("# Title", 40, COLOURED) == ["\x1b[1;36mTitle\x1b[0m"]
    assert drawn("## Using C#") == ["Using C#"]
    assert drawn("# " + "word " * 20 + "end", 20) == ["word word word word"] * 5 + ["end"]
    assert drawn("# " + "# " * 4000 + "x", 100)[-1].endswith("x"), "read in one step"


def test_what_is_drawn():
    assert drawn("a **b** `c` [d](http://e)") == ["a b c d (http://e)"]
    assert drawn("- a\n  - b") == [" • a", "    • b"]
    assert drawn("3. a\n4. b") == [" 3 a", " 4 b"]
    assert drawn("```py\nx = 1\n```") == [" x = 1"]
    assert drawn("") == drawn("[a]: b") == []


def test_a_long_block_stays_plain():
    long = "**a** " * (LONGEST // 6)
    assert render(long, 40, COLOURED)[0] != long
    assert render(long + "**a** ", 40, COLOURED) == [long + "**a** "]


def test_the_libraries_can_be_loaded_before():
    markdown.prepare()
