"""The decisions of `zot top`: order, filter, scrolling, modes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.top.model import BY_KEY, COLUMNS, SORT_KEYS, Mode, TopView, fit, press, sort_names
from cli.top.rows import TopRow
from tests.support.busy_stats import BUSY
from tests.support.recorded_stats import extension_stats


@pytest.mark.parametrize(
    ("view", "names"),
    [
        (TopView(sort="cpu"), ["busy", "fat", "gone", "waits"]),
        (TopView(sort="cpu", reverse=True), ["gone", "waits", "fat", "busy"]),
        (TopView(sort="rss"), ["fat", "busy", "gone", "waits"]),
        (TopView(sort="name"), ["busy", "fat", "gone", "waits"]),
        (TopView(sort="name", reverse=True), ["waits", "gone", "fat", "busy"]),
        (TopView(sort="state"), ["gone", "waits", "busy", "fat"]),
        (TopView(sort="p99"), ["busy", "fat", "gone", "waits"]),
        (TopView(sort="p99", reverse=True), ["busy", "fat", "gone", "waits"]),
        (TopView(filter="FA"), ["fat", "gone"]),
        (TopView(filter="nothing"), []),
    ],
)
def test_order_and_filter(view, names):
    assert sort_names(BUSY, view) == names


@pytest.mark.parametrize("key", SORT_KEYS)
def test_every_column_can_be_sorted_by(key):
    assert sorted(sort_names(BUSY, TopView(sort=key))) == sorted(BUSY)


NAMES = [f"x{number:03}" for number in range(300)]
ROWS = [TopRow(name) for name in NAMES]


def pressed(*keys: str, view: TopView | None = None, rows: int = 300, page: int = 19) -> TopView:
    view = view or TopView()
    for key in keys:
        view = press(view, key, rows=ROWS[:rows], page=page)
    return view


def test_another_row_is_selected_and_stays_on_the_page():
    assert pressed("down", "down", "up").selected == "x001"
    assert pressed("up").selected == "x000"
    assert (pressed("pagedown").selected, pressed("pagedown").first) == ("x019", 1)
    assert (pressed("end").selected, pressed("end").first) == ("x299", 281)
    assert pressed("end", "down", "pagedown").selected == "x299"
    assert (pressed("end", "home").selected, pressed("end", "home").first) == ("x000", 0)
    assert (pressed("end", rows=5).selected, pressed("end", rows=5).first) == ("x004", 0)
    assert pressed("down", "r", "l", "enter", rows=0) == TopView()


@given(st.lists(st.sampled_from(["up", "down", "pageup", "pagedown", "home", "end"])), st.integers(1, 40))
def test_the_selected_row_is_always_shown(keys, page):
    view = pressed(*keys, rows=30, page=page)
    shown = NAMES[:30][view.first : view.first + page]
    assert not keys or view.selected in shown
    assert len(shown) == min(30, page)


def test_the_selection_follows_the_extension_when_the_order_changes():
    view = pressed("down", "down")
    assert view.within(ROWS[::-1], 19).selected == "x002"
    assert view.within(ROWS[::-1], 19).first == 279
    assert view.within([TopRow("a"), TopRow("b")], 19).selected == "a"
    assert view.within([], 19).selected == ""


def test_a_restart_needs_a_second_key():
    asked = pressed("down", "r")
    assert (asked.mode, asked.restart) == (Mode.CONFIRM, "")
    assert pressed("y", view=asked).restart == "x001"
    for key in ("n", "r", "enter", "escape", "q", " ", "down"):
        after = pressed(key, view=asked)
        assert (after.mode, after.restart) == (Mode.TABLE, "")
    from_details = pressed("enter", "r", "y")
    assert (from_details.mode, from_details.restart) == (Mode.DETAILS, "x000")


def test_details_and_logs_are_left_by_escape_and_q():
    for key, mode in (("enter", Mode.DETAILS), ("l", Mode.LOGS)):
        assert pressed("down", key).mode is mode
        assert [pressed("down", key, back).mode for back in ("escape", "q")] == [Mode.TABLE, Mode.TABLE]
        assert pressed("down", key, "escape").selected == "x001"
    assert pressed("enter", "l").mode is Mode.LOGS
    assert pressed("l", "enter", "escape", "q").mode is Mode.QUIT
    assert pressed("l", "up", "up", "pageup", "down").lines_back == 20
    assert pressed("l", "up", "end", "down").lines_back == 0
    assert pressed("l", "up", "l").lines_back == 0


def test_a_mode_about_an_extension_that_is_gone_ends():
    for key in ("enter", "l", "r"):
        assert pressed("down", key).within([TopRow("x000")], 19).mode is Mode.TABLE


def test_the_sort_key_goes_through_all_columns():
    seen = [TopView().sort]
    while (view := pressed("s", view=TopView(sort=seen[-1]))).sort != seen[0]:
        seen.append(view.sort)
    assert sorted(seen) == sorted(SORT_KEYS)
    assert pressed("s", "S") == pressed("right", "left") == TopView(selected="x000")
    assert pressed("R").reverse


def test_the_filter_is_typed_kept_and_ended():
    assert pressed("/", *"fail").filter == "fail"
    typed = pressed("/", *"fail q", "enter")
    assert (typed.filter, typed.mode) == ("fail q", Mode.TABLE)
    assert pressed("/", *"fails", "backspace", "enter").filter == "fail"
    assert pressed("/", *"fail", "escape") == TopView(selected="x000")
    assert pressed("escape", view=typed).filter == ""
    assert pressed("/", *"abc", "erase").filter == ""


def test_help_and_quit():
    assert pressed("?").mode is Mode.HELP
    assert pressed("?", "x").mode is Mode.TABLE
    assert pressed("?", "q").mode is Mode.QUIT
    assert pressed("q").mode is Mode.QUIT


@given(st.lists(st.sampled_from(["up", "down", "pageup", "pagedown", "end", "/", "enter", "s", "r", "?", "x", "é"])))
def test_no_keys_scroll_beyond_the_rows(keys):
    view = TopView()
    for key in keys:
        view = press(view, key, rows=ROWS[:7], page=3)
        assert 0 <= view.first <= 4


names = st.text(min_size=1, max_size=70)


@given(st.integers(1, 400), st.integers(0, 64))
def test_columns_fit(width, longest):
    chosen = fit(width, with_history=True, longest_name=longest)
    assert chosen[0][0].key == "name"
    assert sum(size for _, size in chosen) + len(chosen) - 1 <= max(width, 16)


def test_an_extension_in_the_client_program_has_no_figures_of_processes():
    inside = extension_stats(in_client=True, pids=(), cpu_percent=0.0, rss_bytes=0, open_files=None, calls=3)
    shown = {column.key: column.show(inside) for column in COLUMNS}
    assert [shown[key] for key in ("cpu", "rss", "peak", "procs", "fds")] == ["-"] * 5
    assert (shown["calls"], shown["state"]) == ("3", "ready")
    assert BY_KEY["cpu"].show(extension_stats()) != "-"
