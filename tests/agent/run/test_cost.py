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


@given(st.lists(st.none() | counts))
def test_a_sum_of_reasoning_is_that_of_the_requests_that_say_it_and_unknown_before(said):
    sum_ = cost.NOTHING
    for reasoning in said:
        usage = {"output": 10**9} | ({} if reasoning is None else {"reasoning": reasoning})
        sum_ = cost.add(sum_, cost.totals("m", usage))
    known = [reasoning for reasoning in said if reasoning is not None]
    assert sum_.reasoning == (sum(known) if known else None)


def test_reasoning_is_a_part_of_the_output_and_costs_nothing_besides():
    plain, thought = (cost.totals("claude-sonnet-5-5", {"output": 5, **more}) for more in ({}, {"reasoning": 5}))
    assert (plain.reasoning, thought.reasoning) == (None, 5)
    assert plain.cost_usd == thought.cost_usd
    assert cost.totals("claude-sonnet-5-5", {"output": 5, "reasoning": 6}).reasoning is None
