"""A line for each finished task, and the table at the end."""

from __future__ import annotations

import pytest

from cli.batch.output.summary import Failures, changed_line, finished_line, summary
from tests.cli.batch.views import outcome
from wire.batch.outcome import Score, TaskStatus, Usage
from wire.batch.records import BatchChanged, BatchEnd, TaskEnd

FAILED = TaskStatus.CHECK_FAILED


def ended(outcome, *, final=True):
    return TaskEnd(task=outcome.id, attempt=outcome.attempt, final=final, outcome=outcome)


def batch_end(reason="done", **fields):
    given = {
        "exit_code": 0,
        "tasks": 1000,
        "statuses": {"ok": 1000},
        "usage": Usage(1_000_000, 200_000, 34_000),
        "cost_usd": 12.34,
        "known_cost_usd": 12.34,
        "duration_ms": 725_000,
        "time": "2026-01-01T12:00:00Z",
        **fields,
    }
    return BatchEnd(reason=reason, **given)


def failures(*outcomes):
    found = Failures()
    for one in outcomes:
        found.add(one)
    return found


def test_a_line_begins_with_the_status_as_a_word():
    line = finished_line(ended(outcome()), 12, 1000)
    assert line == "[  12/1000] ok            fix-1  12.5 s  $0.0123"


def test_a_failure_has_its_reason_on_the_line():
    failed = outcome("fix-2", FAILED, reason="exit 1: 2 tests\x1b[2J failed", cost_usd=None)
    line = finished_line(ended(failed), 13, 1000)
    assert line == "[  13/1000] check_failed  fix-2  12.5 s  cost unknown  exit 1: 2 tests failed"


def test_a_node_is_on_the_line():
    line = finished_line(ended(outcome(node="n\x1b[2J-1", score=Score(1.0))), 1, 9)
    assert line == "[1/9] ok            fix-1  12.5 s  $0.0123  on n-1  score 1"


def test_a_score_is_on_the_line():
    scored = outcome("fix#2", FAILED, reason="exit 1", score=Score(2 / 3))
    assert finished_line(ended(scored), 1, 9) == "[1/9] check_failed  fix#2  12.5 s  $0.0123  score 0.6667  exit 1"
    assert finished_line(ended(outcome(score=Score(None, reason="x"))), 1, 9).endswith("$0.0123  no score")


def test_of_a_long_reason_the_line_has_what_fits_of_its_first_line():
    long = ended(outcome(status=TaskStatus.ERROR, reason="the run differs " + "é" * 300 + "\nmessages[0]:\n  asked: x"))
    assert len(finished_line(long, 1, 9)) < 220
    assert "messages" not in finished_line(long, 1, 9)
    for width in (80, 120):
        assert len(finished_line(long, 1, 9, width)) == width
    assert finished_line(long, 1, 9, 10).endswith("  the run differs éé …")
    failed = failures(long.outcome)
    assert len(failed.lines(80)[1]) == 80
    assert "messages" not in failed.lines()[1]


def test_an_attempt_that_is_followed_by_another_says_so():
    crashed = outcome(status=TaskStatus.CRASHED, reason="killed by SIGKILL", attempt=2)
    line = finished_line(ended(crashed, final=False), 3, 9)
    assert line == "[3/9] retried       fix-1  12.5 s  $0.0123  crashed: killed by SIGKILL", (
        "its status is no end of the task"
    )
    stopped = outcome(status=TaskStatus.INTERRUPTED, reason="the batch was stopped")
    assert finished_line(ended(stopped, final=False), 3, 9).endswith("the batch was stopped")


def test_the_summary_of_a_batch_that_is_well():
    assert summary(batch_end(), "runs", failures(outcome())) == [
        "1,000 of 1,000 tasks ok in 12m05s; 1.23 M tokens, $12.3",
        "",
        "zot batch results runs     the results, one JSON object per line",
        "zot batch logs runs fix-1  one run: its messages, tools and answer",
        "zot report runs            a page of charts",
    ]


def test_an_id_that_looks_like_a_flag_goes_after_dashes():
    assert any(
        line.startswith("zot batch logs runs -- -x  ") for line in summary(batch_end(), "runs", failures(outcome("-x")))
    )


def test_the_summary_groups_failures_by_reason():
    failed = failures(
        *(outcome(f"a-{number}", FAILED, reason="exit 1: 2 tests failed") for number in range(5)),
        outcome("b", TaskStatus.TIMEOUT, reason="timeout: the run took longer than 60 s"),
        outcome("c"),
    )
    statuses = {"ok": 900, "check_failed": 5, "timeout": 1, "not_run": 94}
    end = batch_end("failures", statuses=statuses, exit_code=10, cost_usd=None)
    assert summary(end, "my runs", failed) == [
        "900 of 1,000 tasks ok in 12m05s; 1.23 M tokens, at least $12.3, as not all costs are known",
        "5 check_failed, 1 timeout, 94 not run",
        "stopped before its end: as many tasks as --max-failures have failed",
        "",
        "  tasks  status        ids                       reason",
        "      5  check_failed  a-0, a-1, a-2 and 2 more  exit 1: 2 tests failed",
        "      1  timeout       b                         timeout: the run took longer than 60 s",
        "",
        "zot batch results 'my runs'                 the results, one JSON object per line",
        "zot batch logs 'my runs' a-0                one run: its messages, tools and answer",
        "zot batch retry 'my runs' --status not_run  run the tasks that were not run",
        "zot batch retry 'my runs'                   run again what has failed",
        "zot report 'my runs'                        a page of charts",
    ]


@pytest.mark.parametrize(
    ("limit", "more"), [("--max-cost-usd", "--max-cost-usd USD"), ("--max-tokens", "--max-tokens N")]
)
def test_when_a_budget_is_used_up_the_summary_names_it_and_offers_a_higher_one(limit: str, more: str):
    end = batch_end("budget", statuses={"ok": 900, "error": 1, "not_run": 99}, exit_code=10, limit=limit)
    shown = summary(end, "runs", failures(outcome()))
    assert (
        shown[2]
        == f"stopped before its end: {limit} is used up; all starts count, so it takes a higher limit to resume"
    )
    assert any(line.startswith(f"zot batch retry runs --status not_run {more} ") for line in shown)
    assert any(line.startswith(f"zot batch retry runs {more} ") for line in shown)


def test_the_summary_of_a_batch_that_was_done_before_says_so():
    done = batch_end(statuses={"ok": 950, "error": 49, "timeout": 1}, exit_code=10)
    shown = summary(done, "runs", failures())
    assert shown[0] == "nothing to do: every task is done; 50 failed are kept"
    assert any(line.startswith("zot batch retry runs ") for line in shown)
    assert summary(batch_end(), "runs", failures())[0] == "nothing to do: every task is done"


def test_the_summary_shows_the_reserve():
    shown = summary(batch_end(cost_usd=None, reserved_usd=0.32), "runs", failures(outcome()))
    assert shown[0].endswith("at least $12.3, as not all costs are known; $0.32 is reserved")


def test_many_reasons_are_counted_and_not_listed():
    many = failures(*(outcome(f"t{number}", FAILED, reason=f"reason {number}") for number in range(25)))
    lines = many.lines()
    assert len(lines) == 12
    assert lines[-1] == "  and 15 tasks with other reasons"


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"what": "jobs", "value": 8.0, "before": 4.0}, "jobs 4 → 8 by zot batch ctl"),
        ({"what": "budget", "value": 40.0}, "budget none → $40.00 by zot batch ctl"),
        ({"what": "budget", "value": 40.0, "before": 12.5}, "budget $12.50 → $40.00 by zot batch ctl"),
        ({"what": "pause", "by": "key"}, "paused by the key p"),
        ({"what": "pause", "now": True}, "paused, running ones aborted by zot batch ctl"),
        ({"what": "requeue", "task": "a\x1b[2J"}, "task a requeued by zot batch ctl"),
        ({"what": "resume"}, "resumed by zot batch ctl"),
        ({"what": "stop"}, "stopped by zot batch ctl"),
    ],
)
def test_a_change_says_by_whom(change, line):
    assert changed_line(BatchChanged(**{"by": "ctl", "time": "", **change})) == line


def test_a_task_that_is_run_again_is_no_failure_until_it_has_ended():
    found = Failures()
    for name in ("a", "b"):
        found.add(outcome(name, status=TaskStatus.TIMEOUT, reason="timeout"))
    found.remove("a")
    found.remove("c")
    assert [line.split()[:3] for line in found.lines()[1:]] == [["1", "timeout", "b"]]
