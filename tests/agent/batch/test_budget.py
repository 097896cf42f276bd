"""The limits of a whole batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent.batch.budget import reached_limit
from agent.batch.request import BatchRequest
from agent.batch.reserve import Spent, add
from agent.options import RunRequest
from wire.batch.outcome import Usage

SPENT = st.builds(
    Spent,
    st.builds(Usage, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
    st.floats(0, 5),
    st.floats(0, 5),
    st.booleans(),
)


def asked(**limits: Any) -> BatchRequest:
    return BatchRequest(folder=Path("x"), run=RunRequest(), **limits)


@given(SPENT, st.integers(0, 9), st.floats(0, 9))
def test_without_limits_nothing_is_used_up(spent: Spent, failures: int, elapsed: float) -> None:
    assert reached_limit(asked(), spent, failures, elapsed) is None


@given(SPENT, SPENT)
def test_what_is_used_up_stays_used_up(before: Spent, more: Spent) -> None:
    for request in (asked(max_cost_usd=3.0), asked(max_tokens=12)):
        if reached_limit(request, before, 0, 0.0):
            usage = add(before.usage, more.usage)
            sums = before.known_usd + more.known_usd, before.reserved_usd + more.reserved_usd
            assert reached_limit(request, Spent(usage, *sums, before.is_known and more.is_known), 0, 0.0)


def test_a_cost_that_is_not_known_counts_as_it_is_reserved() -> None:
    spent = Spent(known_usd=0.4, reserved_usd=0.7, is_known=False)
    stop = reached_limit(asked(max_cost_usd=1.0), spent, 0, 0.0)
    assert stop is not None
    assert stop.reason == "budget"
    assert "$0.4000 of $1.00 (--max-cost-usd) is used" in stop.words
    assert "$0.7000 is reserved for unknown costs (--reserve seen; --reserve none would continue)" in stop.words
    assert stop.limit == "--max-cost-usd"
    known = reached_limit(asked(max_cost_usd=0.3), spent, 0, 0.0)
    assert known is not None
    assert known.words.endswith("(--reserve seen)"), "another rule would not help"
    assert spent.cost_usd is None
    assert reached_limit(asked(max_cost_usd=1.2), spent, 0, 0.0) is None


def test_each_limit_has_its_reason() -> None:
    spent = Spent(Usage(1, 2, 3, 4))
    reasons = [
        reached_limit(asked(max_tokens=10), spent, 0, 0.0),
        reached_limit(asked(max_failures=2), spent, 2, 0.0),
        reached_limit(asked(deadline=60.0), spent, 0, 60.0),
    ]
    assert [stop and stop.reason for stop in reasons] == ["budget", "failures", "deadline"]
    assert reached_limit(asked(max_tokens=11, max_failures=2, deadline=60.0), spent, 1, 59.9) is None
