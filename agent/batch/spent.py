"""What the attempts of a batch have used: tokens and dollars, known, unknown and reserved. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from wire.batch.outcome import Lost, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent.batch.journal.state import BatchState
    from agent.batch.pool.run_process import RunProcess
    from agent.batch.reserve import Rule


class Spent(msgspec.Struct, frozen=True):
    """What a batch has used, earlier starts included. Sums of attempts."""

    usage: Usage = Usage()
    known_usd: float = 0.0
    """Of the requests whose cost is known."""
    reserved_usd: float = 0.0
    """As much as the others count by the rule of `--reserve`."""
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


def spent_in(state: BatchState, rule: Rule, runs: Iterable[RunProcess] = ()) -> Spent:
    """By all attempts that have ended, earlier starts included, and by the `runs` that go on."""
    usage, known_usd, lost, is_known = state.usage, state.known_cost_usd, Lost(), not state.unknown_costs
    for run in runs:
        facts = run.facts
        usage, known_usd, lost = add(usage, facts.usage), known_usd + facts.known_usd, lost + facts.lost
        is_known = is_known and not facts.has_unknown_cost
    return Spent(usage, round(known_usd, 6), state.reserve.usd(rule, lost), is_known)
