"""What `zot top` decides and draws, without a terminal or a host."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from cli import number_format
from cli.hosts.find import count_states
from cli.top.keyboard import Keys
from cli.top.model import COLUMNS, HISTORY, SORT_KEYS, Histories, Mode, View, arrange, fit, press
from cli.top.screen import page_height, screen, table
from tests.support.control_peer import extension_stats, host_stats
from wire.stats import Stats


def stats_of(**extensions) -> Stats:
    return Stats(0.0, host_stats(), extensions)


BUSY = {
    "busy": extension_stats(cpu_percent=120.0, rss_bytes=5 << 20, p99_ms=1.0),
    "fat": extension_stats(cpu_percent=1.0, rss_bytes=900 << 20, p99_ms=None),
    "gone": extension_stats(state="failed", failure='5 exits in 9 s, last exit 3: "no \x1b[31mconfig"'),
    "waits": extension_stats(state="backoff", failure="it is started again in 3 s"),
}

# --- order and filter ------------------------------------------------------------------------------------------


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


def test_states_are_counted_good_ones_first():
    assert count_states(BUSY.values()) == [("ready", 2), ("backoff", 1), ("failed", 1)]
    assert count_states([extension_stats(state="newer")]) == [("newer", 1)]


# --- keys ------------------------------------------------------------------------------------------------------


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


def test_sorting_goes_round():
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
def test_no_keys_lead_out_of_the_rows(keys):
    view = View()
    for key in keys:
        view = press(view, key, rows=7, page=3)
        assert 0 <= view.first <= 4


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"q", ["q"]),
        (b"\x1b[A\x1b[B\x1b[5~\x1b[6~", ["up", "down", "pageup", "pagedown"]),
        (b"\x1bOA\x1b[H\x1b[1~\x1bOF", ["up", "home", "home", "end"]),
        (b"\x1b[1;5A\x1b[5;2~", ["up", "pageup"]),
        (b"\r\n\x7f\x15", ["enter", "enter", "backspace", "erase"]),
        ("é☃".encode(), ["é", "☃"]),
        (b"\x1b[99~\x1b[Z\x00\x01", []),
        (b"\xff\xfeq", ["q"]),
    ],
)
def test_what_a_terminal_sends_for_keys(data, keys):
    assert Keys().feed(data) == keys


def test_a_sequence_in_pieces_and_an_escape_alone():
    keys = Keys()
    assert keys.feed(b"\x1b") == []
    assert keys.has_open_sequence
    assert keys.feed(b"[") + keys.feed(b"A") == ["up"]
    assert not keys.has_open_sequence
    keys.feed(b"\x1b")
    assert (keys.end_sequence(), keys.end_sequence()) == (["escape"], [])


# --- drawing ---------------------------------------------------------------------------------------------------

many = {f"extension-{number}": extension_stats(cpu_percent=float(number)) for number in range(300)}
names = st.text(min_size=1, max_size=70)
figures_of_one = st.builds(
    extension_stats,
    state=st.sampled_from(["ready", "failed", "unheard of"]),
    failure=st.one_of(st.just(""), st.text(max_size=300)),
    cpu_percent=st.floats(0, 1e6),
    rss_bytes=st.integers(0, 2**50),
    calls=st.integers(0, 2**60),
    frames_in_per_s=st.floats(0, 1e12),
    p99_ms=st.one_of(st.none(), st.floats(0, 1e9)),
    uptime_s=st.one_of(st.none(), st.floats(0, 1e10)),
    open_files=st.one_of(st.none(), st.integers(0, 10**9)),
)


def drawn(stats: Stats | None, view: View, width: int, height: int, histories: Histories | None = None) -> list[str]:
    if histories is None:
        histories = Histories()
        if stats is not None:
            histories.add(stats)
    lines = screen(stats, view, histories, (width, height), ascii_only=False, waiting="waiting")
    return [line.plain for line in lines]


@settings(max_examples=40)
@given(st.dictionaries(names, figures_of_one, max_size=4), st.integers(1, 250), st.integers(1, 60))
def test_nothing_wraps_and_nothing_breaks_out_whatever_is_shown(extensions, width, height):
    for view in (View(), View(mode=Mode.HELP), View(mode=Mode.FILTER, filter="a" * 100)):
        lines = drawn(stats_of(**extensions) if extensions else Stats(0.0, host_stats(), {}), view, width, height)
        assert len(lines) <= height
        for line in lines:
            assert cell_len(line) <= width
            assert "\x1b" not in line
            assert "\n" not in line


def test_a_small_terminal():
    lines = drawn(Stats(0.0, host_stats(), many), View(), 80, 24)
    assert len(lines) == 24
    assert lines[1].startswith("300 extensions  300 ready")
    assert lines[3].split() == ["NAME", "STATE", "CPU%", "RSS", "CALLS", "ERRS", "P99ms", "RST", "SINCE"]
    assert lines[4].startswith("extension-299")
    assert lines[-1].startswith("1-19 of 300  by cpu")
    assert len([line for line in lines if line.startswith("extension-")]) == page_height(24) == 19


def test_a_large_terminal_has_room_for_everything():
    heading = drawn(stats_of(**BUSY), View(), 160, 50)[3]
    assert heading.split() == [column.heading for column in COLUMNS if column.heading]


def test_one_of_no_use_says_why_instead_of_figures():
    lines = drawn(stats_of(**BUSY), View(sort="state"), 80, 24)
    assert lines[4].split(maxsplit=2) == ["gone", "failed", '5 exits in 9 s, last exit 3: "no config"']
    assert lines[5].split(maxsplit=2) == ["waits", "backoff", "it is started again in 3 s"]


def test_scrolled_and_filtered():
    lines = drawn(Stats(0.0, host_stats(), many), View(sort="name", filter="-29", first=2), 100, 10)
    assert [line.split()[0] for line in lines[4:9]] == [f"extension-{number}" for number in range(291, 296)]
    assert lines[-1].startswith("3-7 of 11  by name  filter '-29': 11 of 300")


def test_lines_of_the_past():
    histories = Histories()
    for step in range(HISTORY + 10):
        histories.add(stats_of(one=extension_stats(cpu_percent=float(step % 8 * 10), rss_bytes=1000)))
    assert len(histories.of["one"].cpu) == HISTORY
    lines = drawn(stats_of(one=extension_stats()), View(), 160, 10, histories)
    assert "▃▄▅▆▇█▁▂" in lines[4]
    assert "▁▁▁▁▁▁▁▁" in lines[4], "memory that does not change is flat"
    histories.add(stats_of(other=extension_stats()))
    assert set(histories.of) == {"other"}


def test_without_a_width_nothing_is_left_out():
    name = "n" * 64
    lines = table(stats_of(**{name: BUSY["gone"]}), [name], View(), None, None, ascii_only=True)
    assert len(lines[0].plain.split()) == len(SORT_KEYS)
    assert name in lines[1].plain
    assert lines[1].plain.endswith('"no config"')


def test_before_the_first_news():
    assert drawn(None, View(), 80, 24) == ["waiting"]


@given(st.integers(1, 400), st.integers(0, 64))
def test_columns_fit(width, longest):
    chosen = fit(width, with_history=True, longest_name=longest)
    assert chosen[0][0].key == "name"
    assert sum(one for _, one in chosen) + len(chosen) - 1 <= max(width, 16)


# --- figures ---------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**60))
def test_figures_are_short(value):
    assert len(number_format.size(value)) <= 6
    assert len(number_format.number(value)) <= 6
    assert len(number_format.rate(value / 7)) <= 6
    assert len(number_format.milliseconds(min(value, 10**9) / 1000)) <= 6
    assert len(number_format.duration(min(value, 10**9))) <= 7


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (number_format.size(0), "0B"),
        (number_format.size(10 * 2**20), "10.0M"),
        (number_format.size(999.9 * 2**10), "1.0M"),
        (number_format.number(99_999), "99999"),
        (number_format.number(100_000), "100k"),
        (number_format.rate(0.01), "0"),
        (number_format.rate(3.14), "3.1"),
        (number_format.percent(1234.5), "1234"),
        (number_format.milliseconds(None), "-"),
        (number_format.milliseconds(0.0312), "0.03"),
        (number_format.milliseconds(9.96), "10"),
        (number_format.milliseconds(1500), "1.5s"),
        (number_format.duration(None), "-"),
        (number_format.duration(59.9), "59s"),
        (number_format.duration(3600), "1h00m"),
        (number_format.duration(90_000), "1d01h"),
        (number_format.sparkline([1, 8], 3), " ▁█"),
        (number_format.sparkline([1, 8], 2, ascii_only=True), "_@"),
        (number_format.sparkline([5, 5], 2), "▁▁"),
        (number_format.sparkline([], 2), "  "),
    ],
)
def test_figures(shown, text):
    assert shown == text
