"""The figures of the page of a batch: the use of an extension in several attempts."""

from __future__ import annotations

import pytest

from cli.report.batch.figures import ExtensionUse
from supervisor.accounting.account import Account


def use_of(*charges: tuple[float, float | None] | None) -> ExtensionUse:
    use = ExtensionUse("a")
    for charge in charges:
        account = Account()
        if charge is not None:
            account.charge(*charge)
        use.add(account.cost("ready"))
    return use


def test_tokens_and_dollars_at_the_model_are_added_up() -> None:
    use = use_of((100, 0.25), None, (50, 0.5))
    assert (use.model_tokens, use.model_usd) == (150, pytest.approx(0.75))
    assert use_of(None).model_tokens is None


def test_one_attempt_of_unknown_cost_makes_the_sum_unknown() -> None:
    use = use_of((100, None), (50, 0.5))
    assert (use.model_tokens, use.model_usd) == (150, None)
