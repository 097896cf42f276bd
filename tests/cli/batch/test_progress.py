"""The lines of the live view, drawn without a terminal or a batch."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from agent.batch.request import MessageBatchView, NodeView, RunState
from cli.batch.output.progress import bar, failures, progress
from tests.cli.batch.views import run, view
from wire.batch.outcome import Usage


def drawn(*args, **given):
    return [line.plain.rstrip() for line in progress(*args, **given)]


def test_a_batch_in_mid_work():
    assert drawn(view(), 90, 24) == [
        "███████████████▓▒░░░░░░░░░░░░░░░░░░░░░░░  392 of 1,000  39%  3m05s, about 4m20s left",
        "380 ok  12 failed  1 running  1 paused  605 waiting  3 retried",
        "failed: 8 error, 3 timeout, 1 crashed",
        "$1.23  1.2M tokens  45200/min  memory 412M  8 jobs",
        "TASK    TRY  STATE     TIME  STEP  TOKENS     COST  MEMORY",
        "fix-7     1  running  3m05s     3    1200  $0.0123   40.0M",
        "fix-12    1  paused     50s     3    1200  $0.0123   40.0M  waits for input tokens",
        "p pause  q drain  Q stop",
    ]


def test_why_nothing_goes_on_is_said():
    assert "waiting: the provider: 429, until 12:30:05" in drawn(
        view(why_paused="the provider: 429, until 12:30:05"), 80, 24
    )
    by_user = drawn(view(is_paused_by_user=True, why_paused="something"), 80, 24)
    assert "paused: p resumes" in by_user
    assert by_user[-1] == "p resume  q drain  Q stop"
    draining = drawn(view(is_draining=True), 80, 24)
    assert "draining: no new tasks start, 2 still running" in draining
    assert draining[-1] == "Q stop"


def test_an_unknown_cost_is_not_zero():
    lines = drawn(view(has_unknown_cost=True, runs=(run(cost_usd=None),)), 80, 24)
    assert lines[3].startswith("at least $1.23  1.2M tokens")
    reserved = drawn(view(has_unknown_cost=True, reserved_usd=0.32), 80, 24)
    assert reserved[3].startswith("at least $1.23  $0.32 reserved  ")
    assert lines[5].split() == ["fix-1", "1", "running", "12s", "3", "1200", "?", "40.0M"]


def test_refused_requests_are_counted():
    assert drawn(view(rate_limited=7), 90, 24)[3].endswith("8 jobs  7 refused (429)")


def test_the_slowest_runs_come_first_and_the_rest_is_counted():
    runs = tuple(run(f"t{number}", since_s=number) for number in range(30))
    lines = drawn(view(runs=runs), 80, 24)
    assert [line.split()[0] for line in lines[5:15]] == [f"t{number}" for number in range(29, 19, -1)]
    assert lines[15:] == ["and 20 more", "p pause  q drain  Q stop"]


def test_on_a_narrow_terminal_columns_give_way_and_on_a_low_one_runs():
    assert drawn(view(), 40, 24)[4] == "TASK    STATE     TIME  STEP  TOKENS"
    assert drawn(view(), 30, 24)[0] == "392 of 1,000  39%  3m05s, abo…"
    assert [line.split()[0] for line in drawn(view(), 80, 6)][-1] == "p"
    assert len(drawn(view(), 80, 3)) == 3


def test_plain_signs_where_the_terminal_has_no_others():
    text = "\n".join(drawn(view(), 100, 24, ascii_only=True))
    assert text.isascii()
    assert text.startswith("###############x=.....")


def test_nodes_are_told_with_their_runs_and_those_that_are_lost_last():
    lost = NodeView("n1", "", 0, 0, "its machine is gone; 2 runs go on\x1b[2J elsewhere")
    nodes = (lost, NodeView("n2", "build-7", 1, 4), NodeView("n3", "", 1, 1))
    runs = (run("fix-7", since_s=9.0, node="n2"), run("fix-12", since_s=8.0, node="n3"), run("fix-13", since_s=7.0))
    shown = drawn(view(nodes=nodes, runs=runs), 90, 24)
    assert shown[4:10] == [
        "n2 (build-7): 1 of 4 runs",
        "n3: 1 of 1 run",
        "n1: its machine is gone; 2 runs go on elsewhere",
        "TASK    NODE  TRY  STATE    TIME  STEP  TOKENS     COST  MEMORY",
        "fix-7   n2      1  running    9s     3    1200  $0.0123   40.0M",
        "fix-12  n3      1  running    8s     3    1200  $0.0123   40.0M",
    ]
    assert shown[10].startswith("fix-13  -  ")
    assert drawn(view(nodes=nodes, runs=runs), 36, 24)[7] == "TASK    NODE  STATE    TIME  STEP"
    assert "n4: joining" in drawn(view(nodes=(NodeView("n4", "", 0, 0),)), 90, 24)
    many = tuple(NodeView(f"n{at}", "", at % 2, 2, "lost" if at == 3 else "") for at in range(9))
    assert drawn(view(nodes=many), 90, 30)[9] == "and 4 nodes more: 2 of 8 runs, 1 of them without runs"
    assert len(drawn(view(nodes=many), 90, 6)) == 6


def test_before_the_first_end():
    first = drawn(view(tasks=0, statuses={}, waiting=0, runs=(), retried=0, eta_s=None, elapsed_s=0.0), 60, 24)
    assert first[0].endswith("  0 of 0  100%  0s")
    assert first[1] == "0 ok  0 running  0 waiting"


def test_failures_are_told_by_kind():
    assert failures({"ok": 3, "error": 1, "timeout": 2, "crashed": 2}) == "2 crashed, 2 timeout, 1 error"
    assert failures({"ok": 3}) == ""


@given(st.lists(st.integers(0, 10**6), min_size=4, max_size=4), st.integers(10, 200))
def test_each_part_of_the_bar_is_seen(counts, cells):
    lengths = bar(counts, cells)
    assert sum(lengths) == cells
    assert all(length >= 0 for length in lengths)
    if sum(counts):
        assert [length > 0 for length in lengths] == [count > 0 for count in counts]


views = st.builds(
    view,
    statuses=st.dictionaries(st.sampled_from(["ok", "error", "check_failed"]), st.integers(0, 10**9)),
    runs=st.lists(
        st.builds(
            run,
            st.text(min_size=1, max_size=200),
            st.sampled_from(RunState),
            st.floats(0, 1e7),
            why_paused=st.text(max_size=50),
            node=st.text(max_size=30),
            usage=st.builds(Usage, st.integers(0, 10**12)),
        ),
        max_size=12,
    ).map(tuple),
    why_paused=st.text(max_size=200),
    nodes=st.lists(
        st.builds(NodeView, st.text(), st.text(), st.integers(0, 99), st.integers(0, 99), st.text()), max_size=9
    ).map(tuple),
    is_draining=st.booleans(),
    known_cost_usd=st.floats(0, 1e9),
    eta_s=st.none() | st.floats(0, 1e9),
)


@given(views, st.integers(1, 200), st.integers(1, 40))
def test_no_line_is_wider_than_the_terminal_or_controls_it(shown, width, height):
    lines = drawn(shown, width, height)
    assert len(lines) <= height
    for line in lines:
        assert cell_len(line) <= width
        assert "\x1b" not in line
        assert "\n" not in line


def test_message_batches_are_shown_in_place_of_runs():
    sent = MessageBatchView("msgbatch_1", "in_progress", 412)
    failing = MessageBatchView("", "doubtful", 100, trouble="HTTP 503: down")
    lines = [line.plain for line in progress(view(runs=(), sent=(sent, failing, sent, sent)), 100, 30)]
    assert "392 of 1,000" in lines[0]
    assert "1,336 sent" in lines[1]
    assert "running" not in lines[1]
    assert "412 of 1,000 through message batch msgbatch_1 (in_progress)" in lines
    assert "no answer: HTTP 503: down; tried again" in lines
    assert "and 1 message batch more" in lines
