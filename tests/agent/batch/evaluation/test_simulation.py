"""Estimates and intervals against many simulated batches whose true values are known."""

from __future__ import annotations

from math import sqrt
from random import Random
from statistics import fmean, stdev

import pytest

from agent.batch.evaluation import interval
from agent.batch.evaluation.comparison import BatchToCompare, compare_batches
from tests.support.repetitions import simulated

RATES = [0.02, 0.2, 0.5, 0.7, 0.9, 1.0]
"""Tasks are drawn from these kinds of tasks, each of which passes with its rate."""
BETTER = [0.1, 0.2, 0.4, 0.9, 1.0, 1.0]
"""The rates of the same kinds with another model."""
FAULTS = 0.05
few_and_many = pytest.mark.parametrize(
    ("batches", "tasks"),
    [(150, 20), pytest.param(1000, 12, marks=pytest.mark.slow), pytest.param(400, 60, marks=pytest.mark.slow)],
)


def true_pass_at(rates, k):
    return fmean(1 - (1 - rate) ** k for rate in rates)


def check_mean(values, true):
    """Within four standard errors of the simulation."""
    assert abs(fmean(values) - true) < 4 * stdev(values) / sqrt(len(values)), (fmean(values), true)


def check_coverage(estimates, true):
    share = fmean(one.low is not None and one.low <= true <= one.high for one in estimates)
    assert 0.90 <= share <= 0.99, share


@few_and_many
def test_pass_at_k_of_known_tasks_is_unbiased(batches, tasks, monkeypatch):
    monkeypatch.setattr(interval, "SAMPLES", 2)  # intervals do not matter here
    random = Random(1)
    rates = [RATES[at % len(RATES)] for at in range(tasks)]
    found = [simulated(random, rates, 5, FAULTS) for _ in range(batches)]
    for k in (1, 2, 4):
        check_mean([one.pass_at(k).value for one in found], true_pass_at(rates, k))
    check_mean([one.score().value for one in found], fmean(rates))


@pytest.mark.slow
@few_and_many
def test_the_interval_covers_the_true_value_as_often_as_it_says(batches, tasks):
    random = Random(2)
    found = [simulated(random, random.choices(RATES, k=tasks), 5, FAULTS) for _ in range(batches)]
    for k in (1, 4):
        check_coverage([one.pass_at(k) for one in found], true_pass_at(RATES, k))


@pytest.mark.slow
@few_and_many
def test_so_does_that_of_the_paired_difference(batches, tasks):
    random = Random(3)
    found = []
    for _ in range(batches):
        drawn = random.choices(range(len(RATES)), k=tasks)
        pair = [
            BatchToCompare("", simulated(random, [rates[at] for at in drawn], 3, FAULTS), {})
            for rates in (RATES, BETTER)
        ]
        found += compare_batches(pair)
    true = fmean(BETTER) - fmean(RATES)
    check_mean([one.score.estimate.value for one in found], true)
    check_coverage([one.score.estimate for one in found], true)


@pytest.mark.parametrize("tasks", [1000, pytest.param(4000, marks=pytest.mark.slow)])
def test_repetitions_are_no_independent_tasks(tasks):
    """An interval that counts each repetition on its own would be too short: half as long for tasks that always pass or
    never do, with four repetitions."""
    half = tasks // 2
    found = simulated(Random(4), [1.0] * half + [0.0] * half, 4).pass_at(1)
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.5 / sqrt(tasks), rel=0.1)
