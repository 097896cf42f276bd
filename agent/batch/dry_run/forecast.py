"""The cost of a batch as far as it is known beforehand: bounds that hold, and estimates that are named as such. Pure.

Bounds leave out what no flag bounds: requests that are sent again, and those that shorten a long conversation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agent.batch.budget import BYTES_PER_TOKEN, lost_request
from agent.batch.throttle import TOKENS_PER_BYTE
from agent.model import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class TaskBounds(msgspec.Struct, frozen=True):
    """One task, as far as its cost depends on it."""

    model: str
    request_bytes: int
    """Size of its first request."""
    max_steps: int | None = None
    """Turns; None without a limit."""
    max_cost_usd: float | None = None
    """US dollars after which it sends no more requests; None without a limit."""


class BatchBounds(msgspec.Struct, frozen=True, kw_only=True):
    """The flags that bound the cost of a batch, and its cost so far."""

    jobs: int
    retries: int = 0
    max_cost_usd: float | None = None
    at_most_usd: float = 0.0
    """US dollars that earlier starts count for `max_cost_usd`."""
    price_factor: float = 1.0
    is_for_an_hour: bool = False
    """Whether writes to the provider's cache are kept for an hour, which costs more."""
    finished: int = 0
    """Tasks that earlier starts have finished, and what all attempts together have used."""
    finished_usd: float | None = None
    finished_tokens: int = 0


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """Dollars are US dollars; null means that no bound holds, or that the price of a model is unknown."""

    tasks: int
    first_request_tokens: int
    """Input of the largest first request, estimated by its size."""
    first_request_tokens_at_most: int
    all_first_requests_tokens: int
    """Input of the first requests of all tasks together, estimated by their size."""
    reply_tokens_at_most: int
    """Of one request."""
    first_request_usd_at_most: float | None
    """With a reply of the largest size."""
    request_usd_at_most: float | None
    """Of a request that fills the window of the model, with a reply of the largest size."""
    run_usd_at_most: float | None
    """Of the most expensive run: by its turns, or by the dollars after which it sends no more requests."""
    run_bound_by: str
    """`max_steps` or `max_cost_usd`; empty if neither bounds all runs."""
    all_usd_at_most: float | None
    """Of all tasks, with all of their attempts; earlier starts left out."""
    all_bound_by: str
    """`runs`, or `max_cost_usd` of the batch; empty without a bound."""
    estimated_usd: float | None
    """By the average of the tasks that are finished, with all of their attempts; null without any."""
    estimated_tokens: int | None


def forecast(tasks: Sequence[TaskBounds], batch: BatchBounds) -> Forecast:
    """`tasks` are those that would run and ask a model; there is one at least."""
    runs = [_run_usd(task, batch) for task in tasks]
    sizes = [task.request_bytes for task in tasks]
    largest = max(tasks, key=lambda task: task.request_bytes)
    bounded_by = {by for _, by in runs}
    run_usd = _most(usd for usd, _ in runs)
    by_runs = None if run_usd is None else sum(usd for usd, _ in runs if usd is not None) * (1 + batch.retries)
    by_budget = None
    if batch.max_cost_usd is not None and run_usd is not None:
        by_budget = max(0.0, batch.max_cost_usd - batch.at_most_usd) + run_usd * batch.jobs * batch.price_factor
    all_usd = min((usd for usd in (_times(by_runs, batch.price_factor), by_budget) if usd is not None), default=None)
    average = None if not batch.finished or batch.finished_usd is None else batch.finished_usd / batch.finished
    return Forecast(
        tasks=len(tasks),
        first_request_tokens=_tokens(max(sizes)),
        first_request_tokens_at_most=most_tokens(max(sizes)),
        all_first_requests_tokens=_tokens(sum(sizes)),
        reply_tokens_at_most=max(catalogue.max_tokens(task.model) for task in tasks),
        first_request_usd_at_most=_times(
            _usd(largest.model, most_tokens(largest.request_bytes), batch), batch.price_factor
        ),
        request_usd_at_most=_times(_most(_window_usd(task.model, batch) for task in tasks), batch.price_factor),
        run_usd_at_most=_times(run_usd, batch.price_factor),
        run_bound_by="" if run_usd is None else "max_cost_usd" if "max_cost_usd" in bounded_by else "max_steps",
        all_usd_at_most=_times(all_usd, 1.0),
        all_bound_by="" if all_usd is None else "max_cost_usd" if all_usd == by_budget else "runs",
        estimated_usd=_times(average, float(len(tasks))),
        estimated_tokens=batch.finished_tokens * len(tasks) // batch.finished if batch.finished else None,
    )  # fmt: skip


def most_tokens(size: int) -> int:
    """Maximum of tokens in so many bytes."""
    return size // BYTES_PER_TOKEN + 1


def _tokens(size: int) -> int:
    return round(size * TOKENS_PER_BYTE)


def _run_usd(task: TaskBounds, batch: BatchBounds) -> tuple[float | None, str]:
    """The most that the run may cost, and the limit that says so."""
    request = _window_usd(task.model, batch)
    if request is None:
        return None, ""
    by_steps = None if task.max_steps is None else request * task.max_steps
    by_cost = None if task.max_cost_usd is None else task.max_cost_usd + request  # the last one passes the limit
    if by_cost is not None and (by_steps is None or by_cost <= by_steps):
        return by_cost, "max_cost_usd"
    return by_steps, "" if by_steps is None else "max_steps"


def _window_usd(model: str, batch: BatchBounds) -> float | None:
    info = catalogue.find(model)
    return None if info is None or info.context_window is None else _usd(model, info.context_window, batch)


def _usd(model: str, read: int, batch: BatchBounds) -> float | None:
    """The most that a request with so much input may cost; None if the price is unknown."""
    info = catalogue.find(model)
    if info is None or not info.prices.are_known:
        return None
    reply = catalogue.max_tokens(model)
    return lost_request(model, read, reply, is_for_an_hour=batch.is_for_an_hour).at_most_usd


def _most(amounts: Iterable[float | None]) -> float | None:
    """The largest; None if one of them is unknown."""
    known = list(amounts)
    return max((usd for usd in known if usd is not None), default=None) if None not in known else None


def _times(usd: float | None, factor: float) -> float | None:
    return None if usd is None else round(usd * factor, 6)
