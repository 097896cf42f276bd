"""The sampler of the standard's variables `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG`. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

if TYPE_CHECKING:
    from wire.trace_context import TraceContext

KINDS = frozenset({"always_on", "always_off", "traceidratio"})
PARENT_BASED = "parentbased_"
DEFAULT = "parentbased_always_on"
RANDOM_BITS = 64
"""The last bits of a trace id that decide by its ratio, as in the SDKs."""


class Sampler(msgspec.Struct, frozen=True):
    """Decides which traces are exported."""

    ratio: float = 1.0
    """The part of the traces that begin here, from 0 to 1."""
    follows_parent: bool = True
    """Whether a trace that began elsewhere keeps the decision that was made there."""

    def is_sampled(self, trace_id: str) -> bool:
        """The decision for a trace that begins here. All processes decide the same for the same id and ratio."""
        return int(trace_id, 16) & ((1 << RANDOM_BITS) - 1) < round(self.ratio * (1 << RANDOM_BITS))

    def judge_outside(self, context: TraceContext | None) -> TraceContext | None:
        """The context of a trace that began elsewhere, with the decision that holds here."""
        if context is None or self.follows_parent:
            return context
        return replace(context, is_sampled=self.is_sampled(context.trace_id))


def read_sampler(name: str, arg: str) -> tuple[Sampler, str]:
    """Reads the values of the two variables, "" if unset. Returns the sampler, and a line about a value that cannot be
    read, or "": then the default holds, which exports all."""
    word = name.strip().lower() or DEFAULT
    kind = word.removeprefix(PARENT_BASED)
    if kind not in KINDS:
        return Sampler(), f"OTEL_TRACES_SAMPLER={name.strip()} is unknown; {DEFAULT} is used"
    follows = word.startswith(PARENT_BASED)
    if kind == "traceidratio":
        ratio = _ratio(arg)
        if ratio is None:
            return Sampler(1.0, follows), "OTEL_TRACES_SAMPLER_ARG is no number from 0 to 1; 1 is used"
        return Sampler(ratio, follows), ""
    return Sampler(float(kind == "always_on"), follows), ""


def _ratio(arg: str) -> float | None:
    try:
        ratio = float(arg.strip() or "1")
    except ValueError:
        return None
    return ratio if 0.0 <= ratio <= 1.0 else None
