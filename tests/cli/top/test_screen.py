"""The screen of `zot top`, drawn without a terminal or a host."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from cli.number_format import BLOCKS
from cli.top.model import COLUMNS, HISTORY, SORT_KEYS, Histories, Mode, TopView
from cli.top.rows import TopRow
from cli.top.screen import SelectedExtension, page_height, screen, table
from tests.support.busy_stats import BUSY, stats_of
from tests.support.control_peer import extension_stats, host_stats
from wire.stats import Alarm, Stats

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


def drawn(stats: Stats | None, view: TopView, width: int, height: int, histories: Histories | None = None) -> list[str]:
    if histories is None:
        histories = Histories()
        if stats is not None:
            histories.add(stats)
    lines = screen(stats, view, histories, (width, height), ascii_only=False, waiting="waiting")
    return [line.plain.rstrip() for line in lines]


@given(st.dictionaries(names, figures_of_one, max_size=4), st.integers(1, 250), st.integers(1, 60))
def test_no_line_is_wider_than_the_screen_or_has_an_escape(extensions, width, height):
    for view in (TopView(), TopView(mode=Mode.HELP), TopView(mode=Mode.FILTER, filter="a" * 100)):
        lines = drawn(stats_of(**extensions) if extensions else Stats(0.0, host_stats(), {}), view, width, height)
        assert len(lines) <= height
        for line in lines:
            assert cell_len(line) <= width
            assert "\x1b" not in line
            assert "\n" not in line


def test_a_small_terminal():
    lines = drawn(Stats(0.0, host_stats(), many), TopView(), 80, 24)
    assert len(lines) == 24
    assert lines[1].startswith("300 extensions  300 ready")
    assert lines[3].split() == ["NAME", "STATE", "CPU%", "RSS", "CALLS", "ERRS", "P99ms", "RST", "SINCE"]
    assert lines[4].startswith("extension-299")
    assert lines[-1].startswith("1-19 of 300  by cpu")
    assert len([line for line in lines if line.startswith("extension-")]) == page_height(24) == 19


def test_a_large_terminal_has_room_for_everything():
    heading = drawn(stats_of(**BUSY), TopView(), 160, 50)[3]
    assert heading.split() == [column.heading for column in COLUMNS if column.heading]


def test_a_failed_extension_shows_its_reason_instead_of_figures():
    lines = drawn(stats_of(**BUSY), TopView(sort="state"), 80, 24)
    assert lines[4].split(maxsplit=2) == ["gone", "failed", '5 exits in 9 s, last exit 3: "no config"']
    assert lines[5].split(maxsplit=2) == ["waits", "backoff", "it is restarted in 3 s"]


def test_scrolled_and_filtered():
    lines = drawn(
        Stats(0.0, host_stats(), many), TopView(sort="name", filter="-29", first=2, selected="extension-291"), 100, 10
    )
    assert [line.split()[0] for line in lines[4:9]] == [f"extension-{number}" for number in range(291, 296)]
    assert lines[-1].startswith("3-7 of 11  by name  filter '-29': 11 of 300")


def test_histories_are_drawn_as_sparklines():
    histories = Histories()
    for step in range(HISTORY + 10):
        histories.add(stats_of(guard=extension_stats(cpu_percent=float(step % 8 * 10), rss_bytes=1000)))
    assert len(histories.of["guard"].cpu) == HISTORY
    lines = drawn(stats_of(guard=extension_stats()), TopView(), 160, 10, histories)
    assert "▃▄▅▆▇█▁▂" in lines[4]
    assert "▁▁▁▁▁▁▁▁" in lines[4], "memory that does not change is flat"
    histories.add(stats_of(other=extension_stats()))
    assert set(histories.of) == {"other"}


def test_without_a_width_nothing_is_left_out():
    name = "n" * 64
    lines = table(stats_of(**{name: BUSY["gone"]}), [TopRow(name)], TopView(), None, None, ascii_only=True)
    assert len(lines[0].plain.split()) == len(SORT_KEYS)
    assert name in lines[1].plain
    assert lines[1].plain.endswith('"no config"')


def test_before_the_first_figures_the_screen_says_waiting():
    assert drawn(None, TopView(), 80, 24) == ["waiting"]


# --- one extension ---------------------------------------------------------------------------------------------


FACTS = ["guard 1.0: failed for 3m05s, in zot host 4242", "why         5 exits", *(f"fact {n}" for n in range(8))]
LOG = [f"2026-11-22T05:00:{n:02}.000+00:00 stderr line {n}" for n in range(40)]
ONE = stats_of(guard=extension_stats(state="failed", failure="5 exits"), other=extension_stats())

SEEN = Histories()
SEEN.add(ONE)


def about(view: TopView, width: int = 80, height: int = 24, said: str = "", log: list[str] = LOG) -> list[str]:
    known = SelectedExtension(FACTS, log)
    lines = screen(ONE, view, SEEN, (width, height), ascii_only=False, waiting="", about=known, said=said)
    assert all(cell_len(line.plain) <= width for line in lines)
    assert len(lines) == height
    return [line.plain.rstrip() for line in lines]


def test_details_fill_one_screen_with_the_end_of_the_log():
    lines = about(TopView(mode=Mode.DETAILS, selected="guard"))
    assert lines[: len(FACTS)] == FACTS
    assert lines[len(FACTS)] == ""
    assert lines[len(FACTS) + 1 : -1] == LOG[-12:]
    assert lines[-1].split() == ["guard", "Esc", "back", "Enter", "details", "l", "logs", "r", "restart", "?", "help"]
    assert "its log is empty" not in about(TopView(mode=Mode.DETAILS, selected="guard"), log=[])


def test_the_log_is_scrolled_from_its_end():
    assert about(TopView(mode=Mode.LOGS, selected="guard"))[:-1] == LOG[-23:]
    scrolled = about(TopView(mode=Mode.LOGS, selected="guard", lines_back=5))
    assert scrolled[:-1] == LOG[-28:-5]
    assert scrolled[-1].startswith("guard  5 lines from the end")
    assert about(TopView(mode=Mode.LOGS, selected="guard", lines_back=500))[:-1] == LOG[:23]
    assert about(TopView(mode=Mode.LOGS, selected="guard"), log=[])[0] == "its log is empty"


def test_the_question_before_a_restart_names_the_extension():
    for back in (Mode.TABLE, Mode.DETAILS, Mode.LOGS):
        lines = about(TopView(mode=Mode.CONFIRM, back=back, selected="guard"))
        assert lines[-1] == "restart guard? y yes, any other key no"
        assert (lines[3].split()[:1] == ["NAME"]) is (back is Mode.TABLE)


def test_the_question_names_the_extension_on_a_narrow_screen_too():
    lines = about(TopView(mode=Mode.CONFIRM, selected="guard"), width=40)
    assert lines[-1] == "restart guard? y yes, any other key no"


def test_all_of_the_help_fits_a_terminal_with_24_lines():
    lines = about(TopView(mode=Mode.HELP, selected="guard"))
    shown = {word for line in lines for word in line.split()}
    assert {column.heading for column in COLUMNS if column.meaning and not column.history} <= shown
    assert lines[-1] == "any key: back; q quits"


@given(st.integers(1, 120), st.integers(1, 40), st.sampled_from(Mode), st.sampled_from(Mode))
def test_every_mode_fits_every_terminal(width, height, mode, back):
    about(TopView(mode=mode, back=back, selected="guard"), width, height, said="x" * 200)
    about(TopView(mode=mode, back=back, selected="guard"), width, height)


def test_the_selected_row_is_marked_and_the_footer_has_the_keys():
    lines = screen(ONE, TopView(selected="other"), SEEN, (80, 24), ascii_only=False, waiting="")
    marked = [line.plain.split()[0] for line in lines[4:6] if line.style == "reverse"]
    assert marked == ["other"]
    for width in (80, 120):
        foot = about(TopView(), width)[-1]
        assert all(key in foot for key in ("Enter details", "l logs", "r restart", "? help", "q quit"))
    assert about(TopView(), 60)[-1].endswith("? help  q quit")
    assert about(TopView(), said="guard is being restarted")[-1] == "guard is being restarted"


def test_the_sparklines_of_the_selected_row_are_not_reversed():
    """Reversed blocks show the rest of their cells: an idle line would look full."""
    _, row = table(ONE, [TopRow("other")], TopView(selected="other"), SEEN, 120, ascii_only=False)
    console = Console(force_terminal=True, color_system="standard", width=120)
    reversed_ = {segment.text for segment in row.render(console) if segment.style and segment.style.reverse}
    assert any("other" in text for text in reversed_)
    assert not any(set(text) & set(BLOCKS) for text in reversed_)
    assert set(row.plain) & set(BLOCKS)


def test_an_alarm_marks_its_row():
    grows = Alarm("memory_grows", "its memory only grows: 30 to 90 MiB", None)
    stats = stats_of(leak=extension_stats(alarms=(grows,)), good=extension_stats())
    rows = [line.split()[:3] for line in drawn(stats, TopView(), 120, 24)[4:6]]
    assert sorted(rows) == [["good", "ready", "0.0"], ["leak", "ready", "!"]]


# --- memory that only grows -----------------------------------------------------------------------------------

MIB = 2**20


def rss_cells(samples: list[int], *, pids: list[tuple[int, ...]] | None = None, width: int = 80, **shown: bool) -> str:
    """The cell of the memory after these samples in MiB, a second apart; `pids` are those of the extension."""
    histories = Histories()
    for second, size in enumerate(samples):
        now_pids = (7,) if pids is None else pids[second]
        stats = Stats(float(second), host_stats(), {"a": extension_stats(rss_bytes=size * MIB, pids=now_pids)})
        histories.add(stats)
    lines = screen(stats, TopView(), histories, (width, 24), **{"ascii_only": False, "waiting": "", **shown})
    return next(word for word in lines[4].plain.split() if word.endswith("M"))


GROWING = list(range(20, 80, 4))


def test_memory_that_only_grows_has_a_sign():
    assert rss_cells(GROWING) == "↑76.0M"
    assert rss_cells(GROWING, ascii_only=True) == "^76.0M"
    assert rss_cells(GROWING, width=200) == "↑76.0M"
    assert rss_cells([500 + size for size in GROWING]) == "576M", "too little of it"
    assert rss_cells(GROWING[::-1]) == "20.0M"
    assert rss_cells(GROWING[:8]) == "48.0M", "too few samples"


def test_memory_begins_anew_with_another_process():
    pids = [(7,)] * 8 + [(8,)] * 7
    assert rss_cells(GROWING, pids=pids) == "76.0M"


def test_the_host_may_have_seen_more_of_it():
    alarm = Alarm("memory_grows", "its memory only grows: 20 to 76 MiB", None)
    stats = stats_of(a=extension_stats(rss_bytes=76 * MIB, alarms=(alarm,)))
    for width in (40, 80, 200):
        line = next(line for line in drawn(stats, TopView(), width, 24) if line.startswith("a "))
        assert "↑76.0M" in line
        assert cell_len(line) <= width
