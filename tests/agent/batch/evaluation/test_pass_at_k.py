"""pass@k is what one would count."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.batch.evaluation.pass_at_k import choose_ks, pass_at_k


@st.composite
def counts(draw, most=9):
    count = draw(st.integers(1, most))
    return count, draw(st.integers(0, count)), draw(st.integers(1, count))


@given(counts())
def test_it_is_the_share_of_the_choices_with_one_that_passed(numbers):
    count, passed, k = numbers
    choices = list(combinations([True] * passed + [False] * (count - passed), k))
    assert pass_at_k(count, passed, k) == sum(map(any, choices)) / len(choices)


@given(counts(most=300))
def test_it_grows_with_k_and_with_what_has_passed(numbers):
    count, passed, k = numbers
    found = pass_at_k(count, passed, k)
    assert 0 <= found <= 1
    if k < count:
        assert found <= pass_at_k(count, passed, k + 1)
    if passed < count:
        assert found <= pass_at_k(count, passed + 1, k)
    assert pass_at_k(count, passed, 1) == passed / count
    assert pass_at_k(count, passed, count) == bool(passed)


def test_it_is_exact_where_a_product_of_fractions_is_not():
    assert pass_at_k(10_000, 1, 5_000) == 0.5
    assert pass_at_k(2_000, 1_000, 1_000) == 1.0
    assert pass_at_k(10**15, 1, 1) == 1e-15


@pytest.mark.parametrize("numbers", [(0, 0, 1), (3, 1, 0), (3, 1, 4), (3, 4, 1), (3, -1, 1)])
def test_numbers_that_cannot_be_are_refused(numbers):
    with pytest.raises(ValueError, match="pass@"):
        pass_at_k(*numbers)


@given(st.integers(0, 10_000))
def test_ks_double_up_to_the_number_of_repetitions(most):
    found = choose_ks(most)
    assert found == sorted({most, *(1 << power for power in range(14) if 1 << power <= most)} - {0})
