"""Adds up tokens and dollars. A request of unknown cost makes the sum unknown: unknown is not zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agent.model import catalogue
from wire.events import Totals, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

NOTHING = Totals(0, 0, 0, 0, 0.0)
"""The use before the first request."""


def totals(model: str, usage: Mapping[str, int], *, is_partial: bool = False) -> Totals:
    """The tokens and the dollars of one request. `usage` has the counts of `catalogue.cost_usd`, and `reasoning`;
    `is_partial` says that its reply broke off. Reasoning is a part of the output: more of it than of that is no
    count."""
    counts = {name: usage.get(name, 0) for name in ("input", "output", "cache_read", "cache_write")}
    hour = usage.get("cache_write_1h", 0)
    cost = catalogue.cost_usd(catalogue.find(model), {**counts, "cache_write_1h": hour})
    reasoning = usage.get("reasoning")
    return Totals(
        **counts,
        cost_usd=None if cost is None else round(cost, 6),
        is_partial=is_partial,
        reasoning=reasoning if reasoning is not None and reasoning <= counts["output"] else None,
    )


def is_known(model: str) -> bool:
    """Whether the cost of a request to this model is known."""
    return totals(model, {}).cost_usd is not None


def add(left: Totals, right: Totals) -> Totals:
    """The sum of both; its cost is None if the cost of either is, its reasoning only if that of both is."""
    unknown = left.cost_usd is None or right.cost_usd is None
    return Totals(
        input=left.input + right.input,
        output=left.output + right.output,
        cache_read=left.cache_read + right.cache_read,
        cache_write=left.cache_write + right.cache_write,
        cost_usd=None if unknown else round((left.cost_usd or 0.0) + (right.cost_usd or 0.0), 6),
        is_partial=left.is_partial or right.is_partial,
        reasoning=left.reasoning if right.reasoning is None else (left.reasoning or 0) + right.reasoning,
    )


def record(used: Totals, cumulative: Totals, *, auxiliary: bool = False) -> Usage:
    """The record about one request; `cumulative` is the sum of all."""
    return Usage(**msgspec.structs.asdict(used), cumulative=cumulative, auxiliary=auxiliary)
