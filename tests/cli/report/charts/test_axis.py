"""Steps and ticks of axes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.report.charts.axis import bytes_upto, decades, steps, thinned_ticks, time_ticks, upto


@given(st.floats(0, 1e15), st.integers(1, 8))
def test_an_axis_holds_its_highest_value_in_few_steps(highest, ticks):
    for rule in (upto, bytes_upto):
        step, end = rule(highest, ticks)
        assert end >= highest * (1 - 1e-9)
        assert 2 <= len(steps(step, end)) <= ticks + 2


@pytest.mark.parametrize(("mib", "step"), [(300.0, 100.0), (3000.0, 1024.0), (0.3, 100 / 1024)])
def test_steps_of_bytes_are_round_in_the_unit_of_their_labels(mib, step):
    assert bytes_upto(mib, 4)[0] == pytest.approx(step)


@given(st.floats(1e-3, 1e12))
def test_time_has_few_ticks_from_the_start_on(end):
    ticks = time_ticks(end)
    assert ticks[0] == (0, "0 s")
    assert len(ticks) <= 11
    assert all(0 <= at <= end * (1 + 1e-6) for at, _ in ticks)


def test_time_steps_are_those_of_clocks():
    assert [label for _, label in time_ticks(400)] == ["0 s", "1m", "2m", "3m", "4m", "5m", "6m"]


def test_ticks_of_an_order_are_thinned():
    ticks = tuple((float(at), f"turn {at}") for at in range(35))
    assert [at for at, _ in thinned_ticks(ticks)] == [0, 4, 8, 12, 16, 20, 24, 28, 32]


@given(st.floats(1e-4, 1e9), st.floats(1e-4, 1e9))
def test_decades_hold_both_ends(value, other):
    low, high = sorted((value, other))
    first, last = decades(low, high)
    assert 10.0**first <= low * (1 + 1e-9)
    assert high <= 10.0**last * (1 + 1e-9)
    assert last - first >= 2
