"""Decides whether the model may be asked once more: the limits of steps, dollars and tokens. A request is made while
less than the budget is used, so the last reply may exceed it."""

from __future__ import annotations

import msgspec

from agent.run import cost
from wire.events import Totals  # noqa: TC001  (msgspec reads the annotations)

MORE = "allow more, or ask for less"


class Budget(msgspec.Struct, frozen=True):
    """The limits of all requests to the model together. None: no limit."""

    max_cost_usd: float | None = None
    max_tokens: int | None = None
    """Input and output tokens; input includes tokens read from and written to the provider's cache."""


class ModelUse(msgspec.Struct, frozen=True):
    """The use of one model."""

    requests: int = 0
    used: Totals = cost.NOTHING


def step_refusal(steps: int, max_steps: int | None) -> str | None:
    """Why no further turn may be taken after these; None if one may."""
    return None if max_steps is None or steps < max_steps else f"max steps ({max_steps}) exceeded"


def total_tokens(used: Totals) -> int:
    """All tokens that the model has read or written."""
    return used.input + used.output + used.cache_read + used.cache_write


def budget_refusal(spent: Totals, budget: Budget) -> str | None:
    """Why no further request may be made; None if one may. An unknown cost counts as too high."""
    if budget.max_cost_usd is not None:
        limit = f"${dollars(budget.max_cost_usd, 2)} (--max-cost-usd)"
        if spent.cost_usd is None:
            return f"budget: the used part of {limit} is unknown: the price of a model that was asked is missing"
        if spent.cost_usd >= budget.max_cost_usd:
            return f"budget: ${dollars(spent.cost_usd, 4)} of {limit} is used; {MORE}"
    if budget.max_tokens is not None and total_tokens(spent) >= budget.max_tokens:
        return f"budget: {total_tokens(spent):,} of {budget.max_tokens:,} tokens (--max-tokens) are used; {MORE}"
    return None


def dollars(amount: float, places: int) -> str:
    """The amount with at least `places` decimal places, and with at most nine."""
    exact = f"{amount:.9f}".rstrip("0")
    return max(exact, f"{amount:.{places}f}", key=len)


def unpriced_refusal(model: str, budget: Budget) -> str | None:
    """Why the model cannot be asked within this budget; None if it can."""
    if budget.max_cost_usd is None or cost.is_known(model):
        return None
    return (
        f"--max-cost-usd: the price of the model {model!r} is unknown, so the budget cannot be checked:"
        " write its prices to $ZOT_HOME/models.json, or limit its tokens with --max-tokens"
    )


class Spending:
    """The use of models by all prompts of this process."""

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = Budget() if budget is None else budget
        self.spent = cost.NOTHING
        self.last = cost.NOTHING
        """The use of the last request."""
        self.seconds = 0.0
        """The duration of all requests together."""
        self.models: dict[str, ModelUse] = {}

    def add(self, used: Totals, model: str = "", seconds: float = 0.0) -> None:
        """Adds one request to this model."""
        self.spent = cost.add(self.spent, used)
        self.last = used
        self.seconds += seconds
        before = self.models.get(model, ModelUse())
        self.models[model] = ModelUse(before.requests + 1, cost.add(before.used, used))

    def used_up(self) -> str | None:
        """Why no further request may be made; None if one may."""
        return budget_refusal(self.spent, self.budget)
