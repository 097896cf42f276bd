"""Counts what a batch has used, and the requests whose cost is unknown by the rule of `--reserve`. Pure.

`none` counts nothing, `worst` their input and all of their `max_tokens`. `seen` counts their input, and of each reply
at most `TIMES` the largest answer of the batch once `KNOWN` answers are known; until then it counts as `worst`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from wire.batch.outcome import Lost, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent.batch.journal.glance import OutcomeGlance
    from wire.batch.outcome import Outcome

Rule = Literal["none", "seen", "worst"]
RULES: tuple[Rule, ...] = get_args(Rule)
DEFAULT: Rule = "seen"
KNOWN = 10
TIMES = 3
NOTHING = Lost()


def rule_in(settings: Mapping[str, Any]) -> Rule:
    """The rule of the last start, from the settings in `batch.json`; the default if they do not tell one."""
    flags = settings.get("flags")
    given = flags.get("reserve") if isinstance(flags, dict) else None
    return next((rule for rule in RULES if rule == given), DEFAULT)


def reserve_usd(lost: Lost, cap: int | None) -> float:
    """US dollars that count for lost requests if the reply of each has at most `cap` tokens; None: its `max_tokens`.
    Replies count at least as much as has arrived of them."""
    if cap is None or not lost.max_tokens:
        return lost.at_most_usd
    tokens = min(lost.max_tokens, max(lost.received, cap * lost.requests))
    return lost.input_usd + lost.output_usd * tokens / lost.max_tokens


class Reserve(msgspec.Struct):
    """The lost requests of all attempts, and the largest answer, which decides how much they count."""

    lost: list[Lost] = []
    answers: int = 0
    largest: int = 0
    cap: int | None = None
    """The cap for which `sum` is the reserve of the first `summed` of `lost`."""
    sum: float = 0.0
    summed: int = 0

    def add(self, outcome: Outcome | OutcomeGlance) -> None:
        """One attempt more. A journal of an earlier version tells only the most that its lost requests have cost."""
        self.answers += outcome.answers
        self.largest = max(self.largest, outcome.largest_answer)
        if outcome.cost_usd is None and (outcome.lost or outcome.reserved_usd):
            self.lost.append(outcome.lost or Lost(input_usd=outcome.reserved_usd))

    def usd(self, rule: Rule, more: Lost = NOTHING) -> float:
        """US dollars; `more` are lost requests of runs that have not ended."""
        if rule == "none":
            return 0.0
        cap = None if rule == "worst" or self.answers < KNOWN else TIMES * self.largest
        if cap != self.cap:
            self.cap, self.sum, self.summed = cap, 0.0, 0
        for lost in self.lost[self.summed :]:  # this is asked before each start: only new ones are added
            self.sum += reserve_usd(lost, cap)
        self.summed = len(self.lost)
        return round(self.sum + reserve_usd(more, cap), 6)


class Spent(msgspec.Struct, frozen=True):
    """Tokens and dollars of all attempts of a batch, in all its starts."""

    usage: Usage = Usage()
    known_usd: float = 0.0
    """US dollars of the requests whose cost is known."""
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
        """US dollars that count for `--max-cost-usd`."""
        return self.known_usd + self.reserved_usd


def add(left: Usage, right: Usage) -> Usage:
    return Usage(
        left.input + right.input,
        left.output + right.output,
        left.cache_read + right.cache_read,
        left.cache_write + right.cache_write,
    )
