"""The rows of sessions below an extension of `zot top`, and what their cells say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from cli.top.model import Histories, TopView, press
from cli.top.rows import OTHERS, SessionShares, TopRow, rows_of
from cli.top.screen import screen, table, table_rows
from tests.support.busy_stats import stats_of
from tests.support.control_peer import extension_stats
from wire.events import HostedShare
from wire.stats import ExtensionStats, SessionStats


def session(name: str, busy_s: float = 0.0, pending: int = 0, pid: int | None = 77) -> SessionStats:
    return SessionStats(3, 1, 0, pending, 2, 3, busy_s, 0.0, name, pid, f"/work/{name}", 0.0)


def others(count: int, busy_s: float = 0.0) -> SessionStats:
    return SessionStats(9, 0, 0, 0, 9, 9, busy_s, 0.0, count=count)


def used(*sessions: SessionStats, more: SessionStats | None = None, **fields: object) -> ExtensionStats:
    return extension_stats(
        mode="shared", attached=len(sessions), sessions=sessions, other_sessions=more, **({"calls": 12} | fields)
    )


SHARED = {"web": used(session("a", pending=1), session("b"), more=others(4)), "solo": extension_stats()}
ROWS = [TopRow("solo"), TopRow("web"), TopRow("web", "a"), TopRow("web", "b"), TopRow("web", OTHERS)]


def test_only_an_unfolded_extension_has_rows_of_sessions():
    assert rows_of(["solo", "web"], SHARED, ()) == ROWS[:2]
    assert rows_of(["solo", "web"], SHARED, {"web", "solo", "gone"}) == ROWS


def pressed(view: TopView, *keys: str) -> TopView:
    for key in keys:
        rows = rows_of(["solo", "web"], SHARED, view.unfolded)
        view = press(view, key, rows=rows, page=4)
    return view


def test_a_key_unfolds_and_folds_the_selected_extension_and_its_rows_can_be_selected():
    view = pressed(TopView(), "down", "u")
    assert (view.selected, view.session, view.unfolded) == ("web", "", {"web"})
    view = pressed(view, "down", "down")
    assert (view.selected, view.session, view.first) == ("web", "b", 0)
    view = pressed(view, "end")
    assert (view.session, view.first) == (OTHERS, 1)
    assert pressed(view, "r", "y").restart == "web"
    view = pressed(view, "u")
    assert (view.selected, view.session, view.unfolded) == ("web", "", frozenset())
    assert pressed(TopView(), "u", "u") == pressed(TopView(), "up")


def test_the_row_of_a_session_that_has_ended_gives_way_to_its_extension():
    view = pressed(TopView(), "down", "u", "down")
    assert view.within(ROWS[:2], 4).session == ""
    assert view.within(ROWS[:2], 4).selected == "web"


def lines(view: TopView, width: int = 110, height: int = 24, *, histories: Histories | None = None) -> list[str]:
    stats = stats_of(**SHARED)
    if histories is None:
        histories = Histories()
        histories.add(stats)
    drawn = screen(stats, view, histories, (width, height), ascii_only=False, waiting="")
    return [line.plain.rstrip() for line in drawn]


def test_an_extension_says_how_many_runs_use_it_and_a_session_has_no_memory_of_its_own():
    folded = lines(TopView(sort="name"))
    assert [line.split()[:2] for line in folded[4:6]] == [["solo", "ready"], ["web", "▸2"]]
    assert not any(folded[6:-1])
    unfolded = lines(TopView(sort="name", unfolded=frozenset({"web"})))
    assert unfolded[5].startswith("web ▾2 ")
    assert unfolded[6].split()[:6] == ["77", "a", "busy", "3", "1", "0"]
    assert unfolded[7].split()[:3] == ["77", "b", "idle"]
    assert unfolded[8].split() == ["4", "others", "9", "0", "0"]
    assert "1-5 of 5  by name" in unfolded[-1]


def test_the_key_is_in_the_footer_only_if_runs_use_an_extension():
    assert "u runs" in lines(TopView())[-1]
    assert "u runs" in lines(TopView(), 80)[-1]
    stats, histories = stats_of(solo=extension_stats()), Histories()
    histories.add(stats)
    alone = screen(stats, TopView(), histories, (110, 24), ascii_only=False, waiting="")
    assert "u runs" not in alone[-1].plain


def test_without_utf8_the_signs_are_ascii():
    drawn = table(stats_of(**SHARED), [TopRow("web")], TopView(), None, None, ascii_only=True)
    assert drawn[1].plain.startswith("web +2 ")


def test_an_extension_of_a_host_names_it_and_has_no_figures_of_processes():
    hosted = extension_stats(pids=(), hosted=HostedShare(4711, "shared", 1.0, 1.0, 5), calls=2)
    drawn = table(stats_of(web=hosted), [TopRow("web")], TopView(), None, None, ascii_only=False)
    assert drawn[1].plain.split()[:7] == ["web", "@4711", "ready", "-", "-", "-", "-"]


def test_the_processor_time_of_a_sample_is_shared_by_the_busy_time_in_it():
    shares = SessionShares()
    shares.add({"web": used(session("a", 1.0), session("b", 5.0), more=others(1, 2.0))})
    assert shares.percent(TopRow("web", "a")) is None
    shares.add({"web": used(session("a", 1.5), session("b", 6.5), more=others(1, 2.0), cpu_percent=60.0)})
    assert shares.percent(TopRow("web", "a")) == pytest.approx(15.0)
    assert shares.percent(TopRow("web", "b")) == pytest.approx(45.0)
    assert shares.percent(TopRow("web", OTHERS)) == 0.0
    # b has ended in the meantime: its busy time is among that of the others
    shares.add({"web": used(session("a", 2.5), more=others(2, 9.5), cpu_percent=60.0)})
    assert shares.percent(TopRow("web", "a")) == pytest.approx(30.0)
    assert shares.percent(TopRow("web", OTHERS)) == pytest.approx(30.0)
    shares.add({"web": used(session("a", 2.5), more=others(2, 9.5), cpu_percent=1.0)})
    assert shares.percent(TopRow("web", "a")) == 0.0


TEXT = st.text(min_size=1, max_size=70)
SESSIONS = st.builds(session, TEXT, st.floats(0, 1e6), st.integers(0, 9), st.integers(1, 2**22))


@given(st.lists(SESSIONS, max_size=5), st.integers(1, 250), st.integers(1, 60))
def test_no_row_of_a_session_is_wider_than_the_screen(sessions, width, height):
    stats = stats_of(web=used(*sessions, more=others(3)))
    histories = Histories()
    histories.add(stats)
    histories.add(stats)
    view = TopView(unfolded=frozenset({"web"}))
    assert len(table_rows(stats, view)) == len(sessions) + 2
    for line in screen(stats, view, histories, (width, height), ascii_only=False, waiting=""):
        assert cell_len(line.plain) <= width
        assert "\n" not in line.plain
