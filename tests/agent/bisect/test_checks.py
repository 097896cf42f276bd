"""`agent.bisect.checks`."""

from __future__ import annotations

import re

import pytest

from agent.bisect.checks import CommandCheck, DifferenceCheck, MemoryCheck, TextCheck, TimeCheck
from agent.bisect.outcome import RunOutcome, TrialEnding
from agent.bisect.search import Verdict
from agent.trial.plan import ShownDifference

GOOD, BAD, UNRESOLVED = Verdict.GOOD, Verdict.BAD, Verdict.UNRESOLVED
RESULT = {"type": "result", "status": "ok", "text": "all done", "reason": "", "extensions": {}}


def outcome(*events: dict, seconds: float = 1.0, was_ended: bool = False, stderr: str = "", **fields) -> RunOutcome:
    result = {**RESULT, **fields.pop("result", {})}
    return RunOutcome(TrialEnding(0, seconds, was_ended), (*events, result), stderr, **fields)


ENDED = outcome(was_ended=True)
DRY = outcome(ran_dry=True)


@pytest.mark.parametrize(
    ("run", "verdict"),
    [
        (outcome(seconds=2), GOOD),
        (outcome(seconds=2.1), BAD),
        (outcome(seconds=2, was_ended=True), BAD),
        (outcome(seconds=3, ran_dry=True), BAD),
        (DRY, UNRESOLVED),
    ],
)
def test_time(run: RunOutcome, verdict: Verdict):
    assert TimeCheck(2).judge(run).verdict is verdict


def test_memory():
    costs = {"small": {"rss_peak_bytes": 2**20}, "large": {"rss_peak_bytes": 101 * 2**20}}
    judged = MemoryCheck(100).judge(outcome(result={"extensions": costs}))
    assert judged == (BAD, "large has had 101 MiB")
    assert MemoryCheck(102).judge(outcome(result={"extensions": costs})).verdict is GOOD
    assert MemoryCheck(1).judge(outcome()).verdict is GOOD
    assert MemoryCheck(1).judge(ENDED).verdict is UNRESOLVED


@pytest.mark.parametrize(
    "run",
    [
        outcome(result={"text": "an oops here"}),
        outcome(result={"status": "error", "reason": "oops"}),
        outcome({"type": "tool_result", "id": "t1", "content": [{"type": "text", "text": "no oops?"}]}),
        outcome({"type": "extension", "extension": "e", "event": "exited", "message": "oops"}),
        outcome({"type": "ext_notify", "extension": "e", "level": "info", "message": "oops"}),
        outcome(stderr="zot: fine\nzot: oops"),
        outcome(stderr="oops", ran_dry=True),
        outcome(stderr="oops", was_ended=True),
    ],
)
def test_text_is_found_wherever_the_run_shows_it(run: RunOutcome):
    judged = TextCheck(re.compile("o+ps")).judge(run)
    assert judged.verdict is BAD
    assert "oops" in judged.why


def test_the_recorded_answer_does_not_count_but_one_that_a_guard_has_changed():
    check = TextCheck(re.compile("done"), "all done\n")
    assert check.judge(outcome()) == (GOOD, "only the recorded answer matches, which is the same in each run")
    assert check.judge(outcome(result={"text": "all is done"})).verdict is BAD
    assert check.judge(outcome(stderr="done")).verdict is BAD


def test_text_that_is_missing_from_a_whole_run_is_good():
    check = TextCheck(re.compile("oops"))
    assert [check.judge(run).verdict for run in (outcome(), ENDED, DRY)] == [GOOD, UNRESOLVED, UNRESOLVED]


@pytest.mark.parametrize(
    ("status", "run", "verdict"),
    [
        (0, outcome(), GOOD),
        (1, outcome(), BAD),
        (-9, outcome(), BAD),
        (125, outcome(), UNRESOLVED),
        (None, outcome(), UNRESOLVED),
        (0, ENDED, UNRESOLVED),
        (1, DRY, UNRESOLVED),
    ],
)
def test_a_command(status: int | None, run: RunOutcome, verdict: Verdict):
    assert CommandCheck("true").judge_status(run, status, "said").verdict is verdict


def difference(key: str) -> ShownDifference:
    return ShownDifference(key, "messages[1]", f"difference {key}")


def differing(*keys: str, **fields) -> RunOutcome:
    return outcome(requests=2, differences=tuple(map(difference, keys)), **fields)


def test_a_run_differs_in_the_way_in_which_it_does_with_all_extensions():
    check = DifferenceCheck(2, "all done")
    assert check.judge(differing("context lacks", "corrupt")).verdict is BAD
    assert check.without_any(differing("context lacks", "guard lacks")).verdict is GOOD
    assert check.judge(differing("corrupt")).verdict is BAD
    assert check.judge(differing("context lacks")).verdict is UNRESOLVED, "it is different without any extension, too"
    assert check.judge(differing()).verdict is GOOD


def test_a_run_that_is_as_recorded_is_good_and_one_that_differs_without_extensions_is_always_bad():
    assert DifferenceCheck(2, "all done").judge(differing()).verdict is GOOD
    check = DifferenceCheck(2, "all done")
    check.judge(differing("a"))
    assert check.without_any(differing("a", "b")) == (BAD, "difference a")


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (differing(ran_dry=True), "more than the 2"),
        (outcome(requests=1), "1 of 2"),
        (differing(result={"status": "blocked", "reason": "no"}), "its status is blocked: no"),
        (differing(result={"text": "other"}), "another: other"),
    ],
)
def test_other_requests_status_and_answer_are_differences(run: RunOutcome, why: str):
    judged = DifferenceCheck(2, "all done").judge(run)
    assert judged.verdict is BAD
    assert why in judged.why
