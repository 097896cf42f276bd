"""Failures are grouped by what is the same in their reasons."""

from __future__ import annotations

import time

import pytest

from cli.report.batch.figures import AttemptFigures, OpenTaskState, TaskFigures
from cli.report.batch.reasons import common_words, groups_of, normalize, telling_lines
from wire.batch.outcome import TaskStatus, Usage


def failed(task, reason, status=TaskStatus.ERROR):
    attempt = AttemptFigures(1, status, reason, 0, 1.0, 0.0, None, Usage(), 0, "m", is_final=True)
    return TaskFigures(task, state=status, attempts=[attempt])


@pytest.mark.parametrize(
    ("reason", "same"),
    [
        ("took 12.5 s of 100 s", "took … s of … s"),
        ("request req_011CSHoEeqs5C35K2UUqR7Fy failed", "request … failed"),
        ("id 1b4e28ba-2fa1-11d2-883f-0016d3cca427 is gone", "id … is gone"),
        ("at 0x7f3a in 9af81c02bd", "at … in …"),
        ("HTTP 429: too many", "HTTP 429: too many"),
        ("rate limited (529)", "rate limited (529)"),
        ("exit status 3 after 7 s", "exit status 3 after … s"),
        ("cannot read src/fix-7/main.py", "cannot read src/…/main.py"),
        ("sha256 utf8 x86_64", "sha256 utf8 x86_64"),
        ("two\n  lines", "two lines"),
    ],
)
def test_numbers_and_ids_are_left_out_but_not_those_that_tell_kinds_apart(reason, same):
    assert normalize(reason, "fix-7") == same


def test_the_largest_group_is_first_and_shows_what_is_the_same():
    groups = groups_of(
        [
            failed("t-1", "no file a", TaskStatus.SETUP_FAILED),
            failed("t-2", "12 s of its 100 s are over"),
            failed("t-3", "14 s of its 100 s are over"),
            TaskFigures("t-4"),
            TaskFigures("t-5", state=OpenTaskState.RUNNING, running=1),
            failed("t-6", "", TaskStatus.OK),
        ]
    )
    assert [(group.status, group.reason, [task.id for task in group.tasks]) for group in groups] == [
        ("error", "… s of its 100 s are over", ["t-2", "t-3"]),
        ("setup_failed", "no file a", ["t-1"]),
    ]


def test_one_reason_with_two_statuses_is_two_groups():
    assert len(groups_of([failed("a1", "x", TaskStatus.TIMEOUT), failed("a2", "x", TaskStatus.CRASHED)])) == 2


def test_a_reason_that_differs_in_length_is_shown_without_what_differs():
    reason = "lost 3 of them"
    assert common_words(reason, "lost 3 4 of them") == ""
    (group,) = groups_of([failed("a1", "killed 3.1,"), failed("a2", "killed 4.9,")])
    assert group.reason == "killed …"


def test_a_hostile_reason_takes_no_time():
    began = time.process_time()
    for reason in ("a_" * 100_000, "f" * 200_000, "1." * 100_000, "0x" * 100_000, "(4" * 100_000, "error " * 50_000):
        normalize(reason, "(((((")
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("output", "told"),
    [
        (
            "collected 3 items\n\n=== FAILURES ===\nE   assert 1 == 2\n1 failed, 0 errors\n",
            "E   assert 1 == 2\n1 failed, 0 errors",
        ),
        (
            "\x1b[31mok\x1b[0m\n0 failed\n\x1b[1;31merror[E0308]: mismatched types\x1b[0m\n",
            "error[E0308]: mismatched types",
        ),
        ("one\n\n---\ntwo\nthree\nfour\n", "one\ntwo\nthree"),
        ("x" * 500, "x" * 200),
        ("\n ... \n", ""),
        ("", ""),
    ],
)
def test_the_first_lines_that_tell_why_a_command_failed(output, told):
    assert telling_lines(output) == told
