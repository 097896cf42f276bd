"""How many runs there were over time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cli.report.batch.workload import Pauses, Workload
from tests.support.batch_journal import outcome
from wire.batch.journal_lines import Closed, Finished, Opened, Paused, Resumed, Started


def fold(*lines):
    workload = Workload()
    for seq, (kind, at, fields) in enumerate(lines, 1):
        workload.take(kind(seq=seq, t=at, **fields))
    return workload


def opened(at, jobs=2):
    return Opened, at, {"version": "1", "pid": 1, "tasks": 2, "jobs": jobs}


def run(task, begin, end):
    key = {"task": task, "attempt": 1}
    return [(Started, begin, key), (Finished, end, key | {"final": True, "outcome": outcome(task)})]


def test_paused_runs_are_on_top_of_the_others():
    a, b = run("a", 100, 110), run("b", 100, 108)
    key = {"task": "a", "attempt": 1}
    workload = fold(
        opened(100), a[0], b[0], (Paused, 102, key | {"reason": "429"}), (Resumed, 106, key), b[1], a[1],
        (Closed, 110, {"reason": "done"}),
    )  # fmt: skip
    assert (workload.end, workload.most) == (10, 2)
    assert workload.columns(5) == [(2, 0), (1, 1), (1, 1), (2, 0), (1, 0)]
    assert workload.pauses() == [Pauses("429", 1, 4.0)]


def test_the_time_between_two_starts_is_left_out():
    first, second = run("a", 100, 104), run("b", 90_000, 90_004)
    closed = (Closed, 104, {"reason": "drained"})
    workload = fold(opened(100), *first, closed, opened(90_000, 8), *second)
    assert workload.end == 8
    assert workload.starts == [(0.0, 100, 2), (4.0, 90_000, 8)]
    assert workload.columns(2) == [(1, 0), (1, 0)]


def test_what_a_killed_batch_has_left_does_not_run_in_the_next_start():
    key = {"task": "a", "attempt": 1}
    workload = fold(
        opened(0), (Started, 0, key), (Paused, 2, key | {"reason": "r"}), (Started, 4, {"task": "b", "attempt": 1}),
        opened(50), *run("c", 50, 54),
    )  # fmt: skip
    assert workload.end == 8
    assert workload.columns(4) == [(1, 0), (1 - 1, 1), (1, 0), (1, 0)]
    assert workload.pauses() == [Pauses("r", 1, 2.0)]


def test_a_pause_that_has_not_ended_counts_until_now():
    key = {"task": "a", "attempt": 1}
    workload = fold(opened(0), (Started, 0, key), (Paused, 1, key | {"reason": "r"}))
    workload.until(11)
    assert workload.pauses() == [Pauses("r", 1, 10.0)]
    assert workload.columns(1)[0].paused == 10 / 11


def test_a_clock_that_is_set_back_stands_still():
    workload = fold(opened(100), *run("a", 110, 90), *run("b", 95, 112))
    assert workload.end == 12


def test_a_straggler_and_a_resume_without_a_pause_change_nothing():
    key = {"task": "a", "attempt": 1}
    workload = fold(opened(0), (Resumed, 1, key), (Paused, 2, key | {"reason": "r"}), run("a", 0, 3)[1])
    assert workload.columns(1) == [(0, 0)]
    assert workload.pauses() == []


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e5)), min_size=1, max_size=20), st.integers(1, 50))
def test_the_area_is_the_time_of_all_runs(spans, most):
    lines = [line for index, (begin, took) in enumerate(spans) for line in run(f"t{index}", begin, begin + took)]
    # An end is never before its start: at one moment, starts come first.
    lines.sort(key=lambda line: (line[1], line[0] is Finished))
    workload = fold(opened(0), *lines)
    area = sum(column.running for column in workload.columns(most)) * workload.end / most
    expected = sum((begin + took) - begin for begin, took in spans)
    assert abs(area - expected) <= 1e-6 * max(1.0, expected)
