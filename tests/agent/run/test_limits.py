"""When the model may be asked once more: for every use and every budget."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from agent.run import cost
from agent.run.limits import Budget, Spending, budget_refusal, dollars, total_tokens, unpriced_refusal
from wire.events import Totals

COUNTS = st.integers(0, 10**12)
DOLLARS = st.integers(0, 10**12).map(lambda millionths: millionths / 10**6)
"""As `agent.run.cost` has them."""
USES = st.builds(Totals, COUNTS, COUNTS, COUNTS, COUNTS, st.none() | DOLLARS)
BUDGETS = st.builds(Budget, st.none() | st.floats(1e-9, 10**9, allow_nan=False), st.none() | st.integers(1, 10**12))


@given(USES)
def test_without_a_budget_nothing_is_ever_used_up(spent):
    assert budget_refusal(spent, Budget()) is None


@given(USES, BUDGETS)
@example(Totals(0, 0, 0, 0, 0.0), Budget(0.5, 1))
@example(Totals(1, 0, 0, 0, 0.5), Budget(0.5, None))
@example(Totals(0, 0, 1, 0, 0.0), Budget(None, 1))
@example(Totals(0, 0, 0, 0, None), Budget(0.5, None))
def test_a_request_is_made_while_less_than_each_limit_is_used_and_known(spent, budget):
    dear = budget.max_cost_usd is not None and (spent.cost_usd is None or spent.cost_usd >= budget.max_cost_usd)
    long = budget.max_tokens is not None and (
        spent.input + spent.output + spent.cache_read + spent.cache_write >= budget.max_tokens
    )
    reason = budget_refusal(spent, budget)
    assert (reason is not None) == (dear or long)
    if reason is not None:
        assert reason.startswith("budget: ")
        assert ("--max-cost-usd" in reason) == dear
        assert ("--max-tokens" in reason) == (long and not dear)


@given(st.lists(USES, max_size=20), BUDGETS)
def test_a_run_is_over_its_budget_by_one_reply_at_most(replies, budget):
    """The whole run: it asks while it may."""
    spending = Spending(budget)
    before = spending.spent
    for reply in replies:
        if spending.used_up() is not None:
            break
        before = spending.spent
        spending.add(reply)
    assert budget_refusal(before, budget) is None
    if budget.max_tokens is not None:
        assert total_tokens(before) < budget.max_tokens


@given(USES, USES, BUDGETS)
def test_what_is_used_up_stays_so(spent, more, budget):
    if budget_refusal(spent, budget) is not None:
        assert budget_refusal(cost.add(spent, more), budget) is not None


def test_the_reason_says_what_is_used_the_limit_and_its_flag():
    assert budget_refusal(Totals(0, 0, 0, 0, 0.521), Budget(0.5)) == (
        "budget: $0.5210 of $0.50 (--max-cost-usd) is used; allow more, or ask for less"
    )
    assert budget_refusal(Totals(1000, 30, 200, 4, None), Budget(None, 1000)) == (
        "budget: 1,234 of 1,000 tokens (--max-tokens) are used; allow more, or ask for less"
    )
    assert "is unknown" in (budget_refusal(Totals(0, 0, 0, 0, None), Budget(0.5)) or "")


@given(st.integers(0, 10**15), st.integers(0, 6))
def test_an_amount_is_shown_whole(billionths, places):
    amount = billionths / 10**9
    shown = dollars(amount, places)
    assert abs(float(shown) - amount) < 1e-9
    assert len(shown.partition(".")[2]) >= min(places, 9) or places == 0


def test_only_a_budget_in_dollars_needs_a_price():
    assert unpriced_refusal("claude-sonnet-5-5", Budget(1.0, 1)) is None
    assert unpriced_refusal("llama-99b", Budget(None, 1)) is None
    assert (unpriced_refusal("llama-99b", Budget(1.0)) or "").startswith(
        "--max-cost-usd: the price of the model 'llama-99b' is unknown"
    )
