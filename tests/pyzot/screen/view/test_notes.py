"""Notes of extensions: the newest ones, one line each, in the rows that there are."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from pyzot.screen.view.notes import LIMIT, Notes
from pyzot.screen.view.text import Palette, width_of
from tests.pyzot.screen.view.test_text import any_text, without_colours

PLAIN = Palette(has_colours=False)


def notes_of(*messages):
    notes = Notes(PLAIN)
    for message in messages:
        notes.add("e", "info", message)
    return notes


def test_all_notes_are_shown_if_there_is_room():
    assert notes_of("a", "b", "c").lines(40, 3) == ["[e] a", "[e] b", "[e] c"]
    assert notes_of().lines(40, 3) == []


def test_those_that_are_left_out_are_counted():
    assert notes_of(*"abcde").lines(40, 3) == ["… 3 earlier notes", "[e] d", "[e] e"]
    assert notes_of(*"abcde").lines(40, 2) == ["… 4 earlier notes", "[e] e"]


def test_in_one_row_stands_the_newest_note():
    assert notes_of(*"abcde").lines(40, 1) == ["[e] e"]
    assert notes_of(*"abcde").lines(40, 0) == notes_of("a").lines(40, -1) == []


def test_notes_are_taken_back_by_their_sender_alone():
    notes = notes_of("a")
    notes.add("other", "error", "b")
    notes.take_back("e")
    assert notes.lines(40, 5) == ["[other] b"]
    notes.take_back("nobody")
    assert notes.lines(40, 5)
    notes.clear()
    assert notes.lines(40, 5) == []


def test_a_flood_of_long_notes_is_not_kept():
    notes = notes_of(*("x" * 5000 for _ in range(LIMIT + 5)))
    assert len(notes.lines(2000, 1000)) == LIMIT
    assert {len(line) for line in notes.lines(2000, 1000)} == {1004}
    notes.take_back("nobody")
    notes.add("e", "info", "")
    assert len(notes.lines(40, 1000)) == LIMIT


def test_the_level_is_a_colour():
    notes = Notes(Palette(has_colours=True))
    for level in ("info", "error", "shout"):
        notes.add("e", level, "x")
    assert [line[:5] for line in notes.lines(40, 3)] == ["\x1b[34m", "\x1b[31m", "\x1b[34m"]


@given(st.lists(any_text, max_size=10), st.integers(1, 30), st.integers(-1, 12))
@example(["a"] * 10, 10, 3)
def test_notes_have_at_most_the_rows_and_columns(messages, columns, rows):
    shown = notes_of(*messages).lines(columns, rows)
    assert len(shown) == max(0, min(rows, len(messages)))
    assert all(width_of(row) <= columns and "\n" not in without_colours(row) for row in shown)
