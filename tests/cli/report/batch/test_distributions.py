"""How many tasks of a batch cost how much."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cli.number_format import count_text, dollars, elapsed
from cli.report.batch.distributions import MOST_BARS, Bar, bars_of, distribution, labelled_bars, quantile


@given(st.lists(st.floats(0, 1e12, allow_subnormal=False), max_size=60))
def test_each_value_is_in_one_bar(values):
    bars = bars_of(values)
    assert sum(bar.tasks for bar in bars) == len(values)
    assert len(bars) <= MOST_BARS + 1
    zeros = [bar for bar in bars if bar.highest == 0]
    assert sum(bar.tasks for bar in zeros) == values.count(0)
    assert all(a.highest == b.lowest for a, b in zip(bars[len(zeros) : -1], bars[len(zeros) + 1 :], strict=True))
    for bar in bars[len(zeros) :]:
        inside = [value for value in values if bar.lowest * (1 - 1e-9) <= value <= bar.highest * (1 + 1e-9)]
        assert len(inside) >= bar.tasks


def test_zeros_have_a_bar_of_their_own():
    assert bars_of([0, 0, 4]) == [Bar(0, 0, 2), Bar(4, 2**2.5, 1)]
    assert bars_of([]) == []


def test_a_cost_that_is_not_known_is_said_and_is_not_zero():
    made = distribution("Cost", [0.5, 0.5], dollars, "The cost of 1 task is unknown")
    assert made["bars"] == [("$0.5 to $0.707", 2)]
    assert made["aside"] == "The cost of 1 task is unknown"
    assert distribution("Time", [], elapsed)["bars"] == []


def test_quantiles():
    assert quantile([1.0], 0.9) == 1.0
    assert quantile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.0
    assert quantile(list(map(float, range(1, 11))), 0.9) == 9.0


@given(
    st.lists(st.floats(0, 1e9, allow_subnormal=False) | st.floats(0, 0.001), max_size=60),
    st.sampled_from([dollars, elapsed, lambda value: count_text(round(value))]),
)
def test_no_two_bars_read_alike(values, label):
    bars = labelled_bars(bars_of(values), label)
    assert sum(tasks for _, tasks in bars) == len(values)
    assert len({words for words, _ in bars}) == len(bars)
    ends = [words.split(" to ") for words, _ in bars if " to " in words]
    assert all(begin != end for begin, end in ends)


def test_amounts_that_read_alike_are_in_one_bar():
    values = [0.00021, 0.00022, 0.00029, 0.00037]
    assert [words for words, _ in labelled_bars(bars_of(values), dollars)] == [
        "$0.0002 to $0.0003",
        "$0.0003 to $0.0005",
    ]
