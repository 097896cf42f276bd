"""Bounds of the cost of a batch hold, and grow with all that makes it dearer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.batch.dry_run.forecast import BatchBounds, TaskBounds, forecast, most_tokens
from agent.model import catalogue

PRICED = ("claude-haiku-4-5", "claude-opus-5", "claude-sonnet-4-6")
TASKS = st.lists(
    st.builds(
        TaskBounds,
        model=st.sampled_from((*PRICED, "unknown-model")),
        request_bytes=st.integers(1, 200_000),
        max_steps=st.none() | st.integers(1, 50),
        max_cost_usd=st.none() | st.floats(0, 20),
    ),
    min_size=1,
    max_size=6,
)
BATCHES = st.builds(
    BatchBounds,
    jobs=st.integers(1, 16),
    retries=st.integers(0, 3),
    max_cost_usd=st.none() | st.floats(0, 100),
    at_most_usd=st.floats(0, 100),
    price_factor=st.sampled_from((0.5, 1.0)),
    finished=st.integers(0, 100),
    finished_usd=st.none() | st.floats(0, 100),
    finished_tokens=st.integers(0, 10**7),
)


@given(TASKS, BATCHES)
def test_there_is_a_bound_only_where_every_run_has_one(tasks: list[TaskBounds], batch: BatchBounds) -> None:
    found = forecast(tasks, batch)
    is_priced = all(task.model in PRICED for task in tasks)
    is_bounded = all(task.max_steps is not None or task.max_cost_usd is not None for task in tasks)
    assert (found.request_usd_at_most is not None) == is_priced
    assert (found.run_usd_at_most is not None) == (is_priced and is_bounded)
    assert bool(found.run_bound_by) == bool(found.all_bound_by) == (is_priced and is_bounded)
    assert (found.estimated_usd is not None) == bool(batch.finished and batch.finished_usd is not None)
    assert found.first_request_tokens <= found.first_request_tokens_at_most
    assert found.first_request_tokens <= found.all_first_requests_tokens + 1


@given(TASKS, BATCHES, st.integers(0, 5))
def test_what_is_dearer_has_no_lower_bound(tasks: list[TaskBounds], batch: BatchBounds, at: int) -> None:
    before = forecast(tasks, batch)
    index = at % len(tasks)
    more = [*tasks, tasks[index]]
    longer = replace(tasks[index], request_bytes=tasks[index].request_bytes * 2)
    assert (
        forecast([*tasks[:index], longer, *tasks[index + 1 :]], batch).first_request_tokens
        >= before.first_request_tokens
    )
    for after in (forecast(more, batch), forecast(tasks, replace(batch, retries=batch.retries + 1))):
        if before.all_usd_at_most is not None:
            assert after.all_usd_at_most is not None
            assert after.all_usd_at_most >= before.all_usd_at_most - 1e-6


def test_the_figures_of_two_tasks() -> None:
    window, reply = 200_000, catalogue.max_tokens("claude-haiku-4-5")
    tasks = [TaskBounds("claude-haiku-4-5", 1000, max_steps=2), TaskBounds("claude-haiku-4-5", 3000, max_cost_usd=0.1)]
    found = forecast(tasks, BatchBounds(jobs=2, retries=1, finished=4, finished_usd=2.0, finished_tokens=4000))
    request = window * 1.25 / 1e6 + reply * 5 / 1e6  # all of it written to the cache
    assert found.request_usd_at_most == pytest.approx(request)
    assert found.run_usd_at_most == pytest.approx(2 * request)
    assert found.all_usd_at_most == pytest.approx((2 * request + 0.1 + request) * 2)
    assert (found.first_request_tokens, found.first_request_tokens_at_most) == (900, most_tokens(3000))
    assert (found.estimated_usd, found.estimated_tokens) == (1.0, 2000)
    capped = forecast(tasks, BatchBounds(jobs=1, retries=1, max_cost_usd=0.2, at_most_usd=0.15))
    assert capped.all_usd_at_most == pytest.approx(0.05 + 2 * request)
    assert capped.all_bound_by == "max_cost_usd"
