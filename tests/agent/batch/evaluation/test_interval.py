"""Properties of the interval of a mean."""

from __future__ import annotations

from statistics import NormalDist
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.batch.evaluation import interval
from agent.batch.evaluation.interval import Estimate, estimate_mean

VALUES = st.lists(st.floats(-1e6, 1e6) | st.sampled_from([0.0, -0.0, 0.5, 1.0]), min_size=1, max_size=30)


@settings(max_examples=50)
@given(VALUES, st.randoms(use_true_random=False))
def test_it_contains_the_mean_and_the_order_of_tasks_changes_nothing(values, random):
    found = estimate_mean(values)
    assert found.tasks == len(values)
    assert found.value == pytest.approx(sum(values) / len(values), abs=1e-6)
    if found.low is None:
        assert len({*values}) == 1
    else:
        assert min(values) <= found.low <= found.value <= found.high <= max(values)
    random.shuffle(values)
    assert estimate_mean(values) == found


@pytest.mark.parametrize("values", [[], [0.5], [1.0] * 20])
def test_tasks_that_do_not_differ_have_no_interval(values):
    found = estimate_mean(values)
    assert found == Estimate(values[0] if values else None, None, None, len(values), "")


def test_the_interval_of_known_values_stays_what_it_is():
    """The same on every machine and with every version of Python, to the last bit."""
    found = estimate_mean([1.0, 0.0, 0.25, 1.0, 0.5, 0.75, 0.0, 1.0])
    assert found == Estimate(0.5625, 0.125, 0.90625, 8, "bootstrap")


def test_many_tasks_have_the_interval_of_their_standard_error():
    values = [(task * 7919 % 1000) / 1000 for task in range(1000)]
    by_bootstrap = estimate_mean(values)
    with patch.object(interval, "MOST_DRAWN", 999):
        by_error = estimate_mean(values)
    assert (by_bootstrap.method, by_error.method) == ("bootstrap", "normal")
    assert by_error.low == pytest.approx(by_bootstrap.low, abs=0.002)
    assert by_error.high == pytest.approx(by_bootstrap.high, abs=0.002)
    assert by_error.high - by_error.value == pytest.approx(1.96 * 0.2888 / 1000**0.5, rel=1e-3)


def test_an_interval_of_many_tasks_keeps_to_the_values_there_are():
    found = estimate_mean([1.0] * 1999 + [0.0])
    assert (found.method, found.high) == ("normal", 1.0)
    assert found.low < 0.9995


@pytest.mark.parametrize(("freedom", "quantile"), [(3, 3.1824), (5, 2.5706), (10, 2.2281), (30, 2.0423), (999, 1.9623)])
def test_students_quantile(freedom, quantile):
    """From the tables of the t distribution."""
    assert interval._student(freedom) == pytest.approx(quantile, rel=1.5e-3)


def test_few_tasks_have_a_wider_interval_and_many_the_usual_one():
    tails = [interval._tail(count) for count in (2, 3, 5, 10, 100, 1000)]
    assert tails == sorted(tails)
    assert tails[0] < 1e-9, "all that was drawn"
    assert tails[-1] == pytest.approx(0.025, rel=0.02)
    assert tails[3] == pytest.approx(NormalDist().cdf(-((10 / 9) ** 0.5) * 2.2622), rel=1e-3)
