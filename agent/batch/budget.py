"""Decides whether a batch may start more runs: dollars, tokens, failures, and a deadline. Pure.

A run that is over its limit ends by itself; the limits here only keep new ones from starting. An unknown cost is never
known as zero: lost requests count as `agent.batch.reserve` says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agent.model import catalogue
from agent.run.limits import dollars
from wire.batch.outcome import Lost, Usage

if TYPE_CHECKING:
    from agent.batch.request import BatchRequest, StopReason
    from agent.batch.reserve import Spent

BYTES_PER_TOKEN = 2
"""Minimum for a request: text has three to four, so a request is never thought to be smaller than it is."""


class LimitStop(NamedTuple):
    """Why nothing more is started."""

    reason: StopReason
    limit: str
    """The flag of the limit."""
    words: str


def reached_limit(request: BatchRequest, spent: Spent, failures: int, elapsed_s: float) -> LimitStop | None:
    """The first limit that is used up; None if runs may start. `failures` and `elapsed_s` count from this start."""
    if request.max_cost_usd is not None and spent.at_most_usd >= request.max_cost_usd:
        limit = f"${dollars(request.max_cost_usd, 2)} (--max-cost-usd)"
        words = f"${dollars(spent.known_usd, 4)} of {limit} is used"
        if not spent.is_known:
            reserved = f"${dollars(round(spent.reserved_usd, 4), 4)}"
            none = "; --reserve none would continue" if spent.known_usd < request.max_cost_usd else ""
            words += f", and {reserved} is reserved for unknown costs (--reserve {request.reserve}{none})"
        return LimitStop("budget", "--max-cost-usd", words)
    if request.max_tokens is not None and spent.usage.total >= request.max_tokens:
        words = f"{spent.usage.total:,} of {request.max_tokens:,} tokens (--max-tokens) are used"
        return LimitStop("budget", "--max-tokens", words)
    if request.max_failures is not None and failures >= request.max_failures:
        tasks = "task has" if failures == 1 else "tasks have"
        return LimitStop(
            "failures", "--max-failures", f"{failures} {tasks} failed (--max-failures {request.max_failures})"
        )
    if request.deadline is not None and elapsed_s >= request.deadline:
        return LimitStop("deadline", "--deadline", f"{request.deadline:g} s (--deadline) are over")
    return None


def lost_request(
    model: str, read: Usage | int, max_tokens: int, received: int = 0, *, is_for_an_hour: bool = False
) -> Lost:
    """One request of unknown cost. `read` has its tokens as the server has counted them, or their number as estimated:
    then each may be written to the provider's cache, which costs most. `received` are the tokens of its reply that have
    arrived. `is_for_an_hour`: its writes to the cache are kept for an hour. Without known prices it counts as 0."""
    info = catalogue.find(model)
    if isinstance(read, Usage):
        kinds = [{"input": read.input, "cache_read": read.cache_read, "cache_write": read.cache_write}]
    else:
        kinds = [{"input": read}, {"cache_write": read}]

    if is_for_an_hour:
        kinds = [{**counts, "cache_write_1h": counts.get("cache_write", 0)} for counts in kinds]

    def most(output: int) -> float:
        costs = [catalogue.cost_usd(info, {**counts, "output": output}) for counts in kinds]
        return round(max([cost for cost in costs if cost is not None], default=0.0), 6)

    input_usd = most(0)
    return Lost(1, input_usd, round(most(max_tokens) - input_usd, 6), max_tokens, received)
