"""Batches held against a first one, task by task."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.batch.evaluation.comparison import BatchToCompare, NoCommonTasksError, Verdict, compare_batches
from tests.support.repetitions import evaluated, passes, repetition
from wire.batch.outcome import TaskStatus, Usage


def batch(name, outcomes, versions=None):
    return BatchToCompare(name, evaluated(outcomes), versions or {})


def compared(base, *others):
    return compare_batches([batch("base", base), *(batch(f"other {at}", one) for at, one in enumerate(others))])


BASE = [*passes("won", 4, 1), *passes("lost", 2, 2), *passes("same", 2, 1), *passes("gone", 2, 1), *passes("bad", 1, 1)]


def test_task_by_task_whatever_the_number_of_repetitions():
    other = [
        *(*passes("won", 2, 1), *passes("lost", 3, 2), *passes("same", 4, 2), *passes("new", 1, 1)),
        repetition("bad", 1, TaskStatus.CRASHED),
    ]
    (found,) = compared(BASE, other)
    words = {task: verdict.value for task, verdict in found.verdicts.items()}
    assert words == {
        "won": "won", "lost": "lost", "same": "same", "gone": "missing", "bad": "missing", "new": "missing",
    }  # fmt: skip
    assert found.counts == {Verdict.WON: 1, Verdict.LOST: 1, Verdict.SAME: 1, Verdict.MISSING: 3}
    assert found.common == ["won", "lost", "same"]
    assert (found.difference("won"), found.difference("gone")) == (0.25, None)
    assert found.score.estimate.value == pytest.approx((0.25 - 1 / 3 + 0) / 3)
    assert found.score == found.pass_at_1
    assert (found.score.means.base, found.score.means.other) == (
        pytest.approx(1.75 / 3),
        pytest.approx((0.5 + 2 / 3 + 0.5) / 3),
    )


def test_scores_and_pass_at_1s_are_two_things():
    base = [repetition("a", 1, score=0.5), repetition("b", 1, score=1.0)]
    other = [repetition("a", 1, score=0.9), repetition("b", 1, score=1.0)]
    (found,) = compared(base, other)
    assert (found.score.estimate.value, found.pass_at_1.estimate.value) == (pytest.approx(0.2), 0.0)
    assert found.counts == Counter({Verdict.WON: 1, Verdict.SAME: 1})


def test_a_batch_with_scores_is_compared_with_one_without_by_what_has_passed():
    (found,) = compared(passes("a", 4, 1), [repetition("a", k, score=0.9) for k in (1, 2)])
    assert (found.has_scores, found.verdicts, found.score.estimate.value) == (False, {"a": Verdict.LOST}, -0.25)


def test_rounding_wins_nothing():
    tenths = [repetition("a", k, score=0.1) for k in range(1, 4)]
    (found,) = compared([repetition("a", 1, score=0.1)], tenths)
    assert found.verdicts == {"a": Verdict.SAME}


def test_use_is_that_of_one_repetition_of_the_tasks_in_both():
    fields = {"duration_ms": 1000, "cost_usd": 0.5}
    base = [repetition("a", k, usage=Usage(100), **fields) for k in (1, 2)] + [repetition("b", 1, usage=Usage(999))]
    other = [repetition("a", 1, usage=Usage(300), duration_ms=500, cost_usd=None, known_cost_usd=0.1)]
    (found,) = compared(base, other)
    assert (found.tokens.base, found.tokens.other, found.tokens.ratio) == (100, 300, 3)
    assert found.seconds.ratio == 0.5
    assert (found.cost.ratio, found.has_unknown_cost) == (0.2, True)
    (nothing,) = compared([repetition("a", 1, TaskStatus.ERROR)], other)
    assert (nothing.tokens.ratio, nothing.score.estimate.value) == (None, None)


def test_tasks_that_ask_something_else_are_told_and_batches_without_a_common_one_refused():
    one, two = passes("a", 1, 1), [*passes("a", 1, 1), *passes("b", 1, 0)]
    first, second = batch("A", one, {"a": 1}), batch("B", two, {"a": 2, "b": 3})
    (found,) = compare_batches([first, second])
    assert found.changed == ["a"]
    with pytest.raises(NoCommonTasksError, match="A and C have no task in common"):
        compare_batches([first, second, batch("C", passes("c", 1, 1))])


RESULTS = st.dictionaries(st.sampled_from("abcdef"), st.lists(st.floats(0, 1), min_size=1, max_size=4), min_size=1)


@settings(max_examples=30)
@given(RESULTS, RESULTS)
def test_the_other_way_round_it_is_the_negative(one, two):
    def outcomes(scores):
        return [repetition(task, k, score=score) for task in scores for k, score in enumerate(scores[task], 1)]

    two.setdefault(min(one), [0.5])
    (there,), (back,) = compared(outcomes(one), outcomes(two)), compared(outcomes(two), outcomes(one))
    assert (there.counts[Verdict.WON], there.counts[Verdict.LOST]) == (
        back.counts[Verdict.LOST],
        back.counts[Verdict.WON],
    )
    assert there.counts[Verdict.MISSING] == len(one.keys() ^ two.keys())
    assert there.score.estimate.value == pytest.approx(-back.score.estimate.value)
    (itself,) = compared(outcomes(one), outcomes(one))
    assert (itself.score.estimate.value, itself.counts) == (0, {Verdict.SAME: len(one)})
