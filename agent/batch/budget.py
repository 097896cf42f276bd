"""Decides whether a batch may start more runs: dollars, tokens, failures, and a deadline. Pure.

A run that is over its limit ends by itself; the limits here only keep new ones from starting. A cost that is not known
is never zero: of a request whose use nobody has told, the most that it can have cost is counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from agent.model import catalogue
from agent.run.budget import dollars
from wire.batch.outcome import Usage

if TYPE_CHECKING:
    from agent.batch.request import BatchRequest, StopReason

BYTES_PER_TOKEN = 2
"""Of a request, at least: text has three to four, so a request is never thought to be smaller than it is."""


class Spent(msgspec.Struct, frozen=True):
    """What a batch has used, earlier starts included. Sums of attempts."""

    usage: Usage = Usage()
    known_usd: float = 0.0
    """Of the requests whose cost is known."""
    reserved_usd: float = 0.0
    """The most that the others can have cost, as far as that can be said."""
    is_known: bool = True
    """False if the cost of a request is not known."""

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            add(self.usage, other.usage),
            round(self.known_usd + other.known_usd, 6),
            round(self.reserved_usd + other.reserved_usd, 6),
            self.is_known and other.is_known,
        )

    @property
    def cost_usd(self) -> float | None:
        """US dollars; None if they are not known."""
        return self.known_usd if self.is_known else None

    @property
    def at_most_usd(self) -> float:
        """What counts for `--max-cost-usd`."""
        return self.known_usd + self.reserved_usd


def add(left: Usage, right: Usage) -> Usage:
    return Usage(
        left.input + right.input,
        left.output + right.output,
        left.cache_read + right.cache_read,
        left.cache_write + right.cache_write,
    )


class Stop(NamedTuple):
    """Why nothing more is started."""

    reason: StopReason
    words: str


def used_up(request: BatchRequest, spent: Spent, failures: int, elapsed_s: float) -> Stop | None:
    """The first limit of the batch that is used up; None if runs may be started. `failures` and `elapsed_s` are of this
    start of the batch."""
    if request.max_cost_usd is not None and spent.at_most_usd >= request.max_cost_usd:
        limit = f"${dollars(request.max_cost_usd, 2)} (--max-cost-usd)"
        words = f"${dollars(spent.known_usd, 4)} of {limit} is used"
        if not spent.is_known:
            words += f", and up to ${dollars(spent.reserved_usd, 4)} by requests whose cost nobody has told"
        return Stop("budget", words)
    if request.max_tokens is not None and spent.usage.total >= request.max_tokens:
        return Stop("budget", f"{spent.usage.total:,} of {request.max_tokens:,} tokens (--max-tokens) are used")
    if request.max_failures is not None and failures >= request.max_failures:
        tasks = "task has" if failures == 1 else "tasks have"
        return Stop("failures", f"{failures} {tasks} failed (--max-failures {request.max_failures})")
    if request.deadline is not None and elapsed_s >= request.deadline:
        return Stop("deadline", f"{request.deadline:g} s (--deadline) are over")
    return None


def reserve_usd(model: str, request_bytes: int, max_tokens: int | None) -> float | None:
    """The most US dollars that one request can cost; None if the prices of its model are not known. Every token may be
    written to the provider's cache, which costs most."""
    info = catalogue.find(model)
    if max_tokens is None:
        max_tokens = catalogue.MAX_TOKENS if info is None else info.max_output or catalogue.MAX_TOKENS
    read = request_bytes // BYTES_PER_TOKEN + 1
    most = [
        cost
        for kind in ("input", "cache_write")
        if (cost := catalogue.cost_usd(info, {kind: read, "output": max_tokens})) is not None
    ]
    return max(most, default=None)
