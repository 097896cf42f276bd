"""The 95 % interval of a median."""

from __future__ import annotations

import random
from statistics import median

import pytest

from benchmarks.interval import of_median


@pytest.mark.parametrize(("count", "rank"), [(6, 1), (9, 2), (10, 2), (20, 6), (30, 10), (50, 18), (100, 40)])
def test_its_ends_are_the_order_statistics_of_the_published_tables(count: int, rank: int):
    values = [float(value) for value in range(1, count + 1)]
    random.Random(count).shuffle(values)
    assert of_median(values) == (median(values), rank, count + 1 - rank)


@pytest.mark.parametrize("values", [[3.0], [1.0, 2.0], [5.0, 1.0, 3.0, 2.0, 4.0]])
def test_of_too_few_values_it_is_their_range(values: list[float]):
    assert of_median(values) == (median(values), min(values), max(values))


def test_it_covers_the_true_median_as_often_as_it_says():
    draw = random.Random(1)
    covered = 0
    for _ in range(4000):
        found = of_median([draw.expovariate(1) for _ in range(30)])
        covered += found.low <= 0.6931472 <= found.high
    assert 0.945 <= covered / 4000 <= 0.97
