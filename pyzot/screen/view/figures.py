"""Figures as words: times, tokens, dollars, and the status line. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from ...events import Result, Usage
from ...parts import Totals
from .text import width_of

SEPARATOR = " · "


def duration(seconds: float) -> str:
    """`7 s`, `4:05`, `1:02:03`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def local_time(time: str) -> str:
    """A time of a record to the minute, in the user's zone."""
    return f"{datetime.fromisoformat(time).astimezone():%Y-%m-%d %H:%M}"


def count(number: int) -> str:
    """`950`, `12.3k`, `1.20M`."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 1_000_000 else f"{number / 1_000_000:.2f}M"


def dollars(amount: float | None) -> str:
    """An unknown price is a question mark, not zero."""
    return "$?" if amount is None else f"${amount:.4f}" if amount < 1 else f"${amount:.2f}"


def tokens(usage: Totals | Usage) -> int:
    """All tokens of a use."""
    return usage.input + usage.output + usage.cache_read + usage.cache_write


def summary(result: Result) -> str:
    """The end of a prompt in one line."""
    turns = f"{result.steps} turn{'' if result.steps == 1 else 's'}"
    took = result.duration_ms / 1000
    figures = [f"{took:.1f} s" if took < 60 else duration(took), turns, f"{count(tokens(result.usage))} tokens",
               dollars(result.cost_usd)]  # fmt: skip
    if result.status not in ("ok", "interrupted"):
        figures.insert(0, f"✗ {result.status}")
    return f"─ {SEPARATOR.join(figures)}"


def joined(parts: Iterable[str], columns: int) -> str:
    """The parts that fit, the first ones first; empty ones are left out."""
    line = ""
    for part in filter(None, parts):
        longer = f"{line}{SEPARATOR}{part}" if line else part
        if width_of(longer) > columns:
            break
        line = longer
    return line
