"""Panels: the top one is drawn in its frame, the others by their titles, in the rows and columns that there are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyzot.events import PanelOpen, PanelRender
from pyzot.screen.view.panels import PanelStack
from pyzot.screen.view.text import Palette, width_of
from tests.pyzot.screen.view.test_text import any_text

PLAIN = Palette(has_colours=False)
texts = st.lists(any_text, max_size=12).map(tuple)
panels = st.lists(
    st.builds(PanelOpen, st.sampled_from("ab"), st.sampled_from("12"), any_text, texts, any_text), max_size=6
)


def opened(id_="1", lines=("one", "two"), *, extension="e", title="", footer=""):
    return PanelOpen(extension, id_, title, tuple(lines), footer)


def stack_of(*events):
    stack = PanelStack(PLAIN)
    for event in events:
        stack.open(event)
    return stack


def test_a_panel_in_its_frame():
    assert stack_of(opened(title="Todo", footer="q ends")).rows(20, 10) == [
        "╭─ Todo [e] ───────╮",
        "│ one              │",
        "│ two              │",
        "│ q ends           │",
        "╰──────────────────╯",
    ]
    assert stack_of().rows(20, 10) == []
    assert stack_of().top is None


def test_the_one_that_was_opened_last_is_on_top():
    stack = stack_of(opened("1"), opened("2"), opened("1", ["again"], extension="other"))
    rows = stack.rows(20, 10)
    assert rows[:2] == ["▸ [e]", "▸ [e]"]
    assert (stack.top.extension, stack.top.id) == ("other", "1")
    stack.open(opened("1", ["redrawn"]))
    assert (stack.top.extension, stack.top.id, stack.top.lines) == ("e", "1", ("redrawn",))
    assert stack.close("e", "1").lines == ("redrawn",)
    assert stack.close("e", "1") is None
    assert stack.top.lines == ("again",)
    stack.clear()
    assert stack.top is None


def test_a_panel_is_redrawn_where_it_is():
    stack = stack_of(opened("1"), opened("2"))
    stack.draw(PanelRender("e", "1", "new", ("x",), ""))
    stack.draw(PanelRender("e", "3", "of none", ("x",), ""))
    assert stack.top.id == "2"
    assert stack.rows(20, 10)[0] == "▸ new [e]"


def test_scrolling_ends_at_the_first_and_the_last_line():
    stack = stack_of(opened(lines=map(str, range(10))))
    stack.scroll(1)
    assert stack.rows(30, 6)[:2] == ["╭─ [e] 1-4 of 10 ────────────╮", f"│ {'0':26} │"]
    assert stack.shown_size == (26, 4)
    stack.scroll(1)
    assert stack.rows(30, 6)[1] == f"│ {'4':26} │"
    stack.scroll(100)
    assert [row[2] for row in stack.rows(30, 6)[1:-1]] == ["6", "7", "8", "9"]
    stack.scroll(-1)
    assert stack.rows(30, 6)[1][2] == "2"
    stack.scroll(-100)
    assert stack.rows(30, 6)[1][2] == "0"
    stack.scroll(100)
    stack.draw(PanelRender("e", "1", "", ("short",), ""))
    assert stack.rows(30, 6)[1][2:7] == "short"
    stack_of().scroll(1)


@given(panels, st.integers(10, 200), st.integers(1, 30), st.integers(-3, 3), st.booleans())
def test_panels_have_at_most_the_rows_and_columns(events, columns, rows, pages, has_colours):
    stack = PanelStack(Palette(has_colours=has_colours))
    for event in events:
        stack.open(event)
        stack.scroll(pages)
        shown = stack.rows(columns, rows)
        assert 1 <= len(shown) <= rows
        assert all(width_of(row) <= columns and "\n" not in row for row in shown)
        assert width_of(shown[-1]) == columns
        assert stack.shown_size[0] == columns - 4
        assert stack.shown_size[1] >= 1


def test_a_wide_letter_does_not_break_the_frame():
    rows = stack_of(opened(lines=["漢" * 20, "a\tb\nc", "\x1b[31mx"], title="漢" * 20)).rows(15, 10)
    assert {width_of(row) for row in rows} == {15}
