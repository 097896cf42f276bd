"""Adds up tokens and dollars. Unknown is not zero: one request of unknown cost makes the sum unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.model import catalogue
from wire.events import Totals

if TYPE_CHECKING:
    from collections.abc import Mapping

NOTHING = Totals()


def totals(model: str, usage: Mapping[str, int]) -> Totals:
    """The usage of one request."""
    counts = {name: usage.get(name, 0) for name in ("input", "output", "cache_read", "cache_write")}
    cost = catalogue.cost_usd(catalogue.find(model), counts)
    return Totals(**counts, cost_usd=None if cost is None else round(cost, 6))


def add(one: Totals, other: Totals) -> Totals:
    unknown = one.cost_usd is None or other.cost_usd is None
    return Totals(
        input=one.input + other.input,
        output=one.output + other.output,
        cache_read=one.cache_read + other.cache_read,
        cache_write=one.cache_write + other.cache_write,
        cost_usd=None if unknown else round((one.cost_usd or 0.0) + (other.cost_usd or 0.0), 6),
    )
