"""Repetitions that count, and the estimates of a batch."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.batch.evaluation.evaluation import read_evaluation
from agent.batch.evaluation.repetitions import LARGEST, TaskRepetitions
from agent.batch.journal.shards import BatchResults, read_shard
from tests.support.batch_journal import outcome, ran, run_folder
from tests.support.repetitions import evaluated, passes, repetition
from wire.batch.outcome import SCORED, Score, TaskStatus, Usage
from wire.batch.task import Task


@pytest.mark.parametrize("status", [status for status in TaskStatus if status is not TaskStatus.INTERRUPTED])
def test_what_counts_what_passes_and_what_is_a_fault(status):
    found = TaskRepetitions()
    found.add(repetition("a", 1, status))
    assert (found.count, found.faults) == ((1, 0) if status in SCORED else (0, 1))
    assert found.passed == (status is TaskStatus.OK)
    assert found.score == found.pass_at(1) == (float(status is TaskStatus.OK) if status in SCORED else None)


@pytest.mark.parametrize(
    ("status", "score", "passed", "value"),
    [
        (TaskStatus.OK, 1.0, 1, 1.0),
        (TaskStatus.OK, 7.5, 1, 7.5),
        (TaskStatus.OK, 0.99, 0, 0.99),
        (TaskStatus.CHECK_FAILED, 1.0, 0, 1.0),
        (TaskStatus.OK, 1e300, 1, LARGEST),
        (TaskStatus.OK, -1e300, 0, -LARGEST),
    ],
)
def test_a_score_decides_on_what_has_passed(status, score, passed, value):
    found = TaskRepetitions()
    found.add(repetition("a", 1, status, score))
    assert (found.passed, found.scores) == (passed, [value])


def test_a_score_that_is_not_known_is_no_0():
    found = evaluated([*passes("a", 2, 1), repetition("a", 3, score=Score(None, reason="it timed out"))])
    task = found.tasks["a"]
    assert (task.count, task.unscored, task.faults, task.score, task.pass_at(1)) == (2, 1, 0, 0.5, 0.5)
    assert (found.unscored, found.has_scores, found.ks()) == (1, True, [1, 2])


def test_only_repetitions_that_count_use_anything():
    found = TaskRepetitions()
    found.add(repetition("a", 1, usage=Usage(10, 5), duration_ms=3000, paused_ms=1000))
    found.add(repetition("a", 2, cost_usd=None, known_cost_usd=0.25, duration_ms=500, paused_ms=900))
    found.add(repetition("a", 3, TaskStatus.CRASHED, usage=Usage(10, 5), cost_usd=None))
    assert (found.tokens, found.known_cost_usd, found.unknown_costs, found.seconds) == (15, 0.75, 1, 2.0)


def test_tasks_with_too_few_repetitions_are_left_out():
    found = evaluated(
        [*passes("a", 4, 2), *passes("b", 4, 0), *passes("c", 3, 3), repetition("c", 4, TaskStatus.ERROR)]
    )
    assert found.ks() == [1, 2, 4]
    assert (found.count, found.faults, found.is_repeated, found.has_scores) == (11, 1, True, False)
    assert [(found.pass_at(k).value, found.pass_at(k).tasks) for k in (1, 4)] == [(0.5, 3), (0.5, 2)]
    assert found.pass_at(2).value == pytest.approx((5 / 6 + 0 + 1) / 3)
    assert found.score() == found.pass_at(1), "without scores"


def test_tasks_that_run_once_are_their_only_repetition():
    found = evaluated(
        repetition(name, 0, status) for name, status in (("a#1", TaskStatus.OK), ("b", TaskStatus.BLOCKED))
    )
    assert list(found.tasks) == ["a#1", "b"]
    assert (found.ks(), found.pass_at(1).value, found.is_repeated) == ([1], 0.5, False)


def test_nothing_counts():
    found = evaluated([repetition("a", 1, TaskStatus.ERROR)])
    assert (found.ks(), found.score().value, found.count) == ([], None, 0)


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from([*SCORED]), st.none() | st.floats(0, 2)), max_size=25),
    st.randoms(use_true_random=False),
)
def test_the_order_of_tasks_changes_no_estimate(drawn, random):
    outcomes = [repetition(task, at, status, score) for at, (task, status, score) in enumerate(drawn, 1)]
    found = evaluated(outcomes)
    estimates = [found.score(), *map(found.pass_at, found.ks())]
    random.shuffle(outcomes)
    again = evaluated(outcomes)
    assert [again.score(), *map(again.pass_at, again.ks())] == estimates
    values = [one.value for one in estimates[1:]]
    if len({task.count for task in found.tasks.values()}) == 1:
        assert values == sorted(values), "it grows with k, of the same tasks"


def test_a_retried_attempt_is_no_repetition_and_what_was_not_run_is_told(tmp_path, loop):
    tasks = [Task(id=f"{name}#{k}", prompt="do", repeat=k) for k in (1, 2) for name in ("a", "b")]
    folder = run_folder(tmp_path / "runs", loop, tasks, repetition("a", 1), repetition("b", 1))
    ran(tmp_path / "runs", loop, outcome("a#2", status=TaskStatus.CRASHED, repeat=2), final=False)
    ran(tmp_path / "runs", loop, repetition("a", 2, TaskStatus.TIMEOUT, attempt=2))
    found = read_evaluation(BatchResults([read_shard(folder)]))
    a, b = found.tasks["a"], found.tasks["b"]
    assert (a.count, a.passed, a.faults, a.not_run) == (2, 1, 0, 0)
    assert (b.count, b.passed, b.not_run, found.not_run) == (1, 1, 1, 1)
