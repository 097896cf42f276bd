"""What `zot top` decides: order, filter, scrolling, modes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.top.model import SORT_KEYS, Mode, View, arrange, fit, press
from tests.support.busy_stats import BUSY


@pytest.mark.parametrize(
    ("view", "names"),
    [
        (View(sort="cpu"), ["busy", "fat", "gone", "waits"]),
        (View(sort="cpu", reverse=True), ["gone", "waits", "fat", "busy"]),
        (View(sort="rss"), ["fat", "busy", "gone", "waits"]),
        (View(sort="name"), ["busy", "fat", "gone", "waits"]),
        (View(sort="name", reverse=True), ["waits", "gone", "fat", "busy"]),
        (View(sort="state"), ["gone", "waits", "busy", "fat"]),
        (View(sort="p99"), ["busy", "fat", "gone", "waits"]),
        (View(sort="p99", reverse=True), ["busy", "fat", "gone", "waits"]),
        (View(filter="FA"), ["fat", "gone"]),
        (View(filter="nothing"), []),
    ],
)
def test_order_and_filter(view, names):
    assert arrange(BUSY, view) == names


@pytest.mark.parametrize("key", SORT_KEYS)
def test_every_column_can_be_sorted_by(key):
    assert sorted(arrange(BUSY, View(sort=key))) == sorted(BUSY)


def pressed(*keys: str, view: View | None = None, rows: int = 300, page: int = 19) -> View:
    view = view or View()
    for key in keys:
        view = press(view, key, rows=rows, page=page)
    return view


def test_scrolling_stays_within_the_rows():
    assert pressed("down", "down", "up").first == 1
    assert pressed("up").first == 0
    assert pressed("pagedown").first == 19
    assert pressed("end").first == 281
    assert pressed("end", "down", "pagedown").first == 281
    assert pressed("end", "home").first == 0
    assert pressed("end", rows=5).first == 0


def test_the_sort_key_goes_through_all_columns():
    seen = [View().sort]
    while (view := pressed("s", view=View(sort=seen[-1]))).sort != seen[0]:
        seen.append(view.sort)
    assert sorted(seen) == sorted(SORT_KEYS)
    assert pressed("s", "S") == View()
    assert pressed("right", "left") == View()
    assert pressed("r").reverse


def test_the_filter_is_typed_kept_and_ended():
    assert pressed("/", *"fail").filter == "fail"
    typed = pressed("/", *"fail q", "enter")
    assert (typed.filter, typed.mode) == ("fail q", Mode.TABLE)
    assert pressed("/", *"fails", "backspace", "enter").filter == "fail"
    assert pressed("/", *"fail", "escape") == View()
    assert pressed("escape", view=typed).filter == ""
    assert pressed("/", *"abc", "erase").filter == ""


def test_help_and_quit():
    assert pressed("?").mode is Mode.HELP
    assert pressed("?", "x").mode is Mode.TABLE
    assert pressed("?", "q").mode is Mode.QUIT
    assert pressed("q").mode is Mode.QUIT


@given(st.lists(st.sampled_from(["up", "down", "pageup", "pagedown", "end", "/", "enter", "s", "r", "?", "x", "é"])))
def test_no_keys_scroll_beyond_the_rows(keys):
    view = View()
    for key in keys:
        view = press(view, key, rows=7, page=3)
        assert 0 <= view.first <= 4


names = st.text(min_size=1, max_size=70)


@given(st.integers(1, 400), st.integers(0, 64))
def test_columns_fit(width, longest):
    chosen = fit(width, with_history=True, longest_name=longest)
    assert chosen[0][0].key == "name"
    assert sum(size for _, size in chosen) + len(chosen) - 1 <= max(width, 16)
