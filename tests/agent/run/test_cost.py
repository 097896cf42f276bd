"""The sum of what requests cost: one unknown cost makes it unknown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.run import cost

counts = st.integers(0, 10**9)


@given(st.lists(st.tuples(counts, counts)))
def test_a_sum_of_unknown_costs_is_unknown_and_never_zero(requests):
    sum_ = cost.NOTHING
    for given_, taken in requests:
        sum_ = cost.add(sum_, cost.totals("no-such-model", {"input": given_, "output": taken}))
    assert (sum_.input, sum_.output) == (sum(given_ for given_, _ in requests), sum(taken for _, taken in requests))
    assert sum_.cost_usd == (None if requests else 0.0)


def test_one_request_of_unknown_cost_makes_the_sum_unknown():
    known = cost.totals("claude-sonnet-5-5", {"input": 1_000_000})
    assert known.cost_usd > 0
    assert cost.add(known, known).cost_usd == 2 * known.cost_usd
    unknown = cost.totals("no-such-model", {})
    assert cost.add(known, unknown).cost_usd is None
    assert cost.add(unknown, known).cost_usd is None
