"""Figures as words: times, tokens, dollars, and the status line. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from .text import width_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...events import Result, Usage
    from ...parts import Totals

SEPARATOR = " · "


def duration(seconds: float) -> str:
    """`7 s`, `4:05`, `1:02:03`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


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
    status = [] if result.status in ("ok", "interrupted") else [f"{result.status}: {result.reason}"[:400]]
    return SEPARATOR.join(["─", *status, *figures]) if not status else SEPARATOR.join(["✗", *status, *figures])


@dataclass(frozen=True)
class Status:
    """The parts of the status line."""

    model: str
    activity: str
    """The present work: `ready`, `starting`, `working 7 s`."""
    used: Totals | None
    last: Usage | None
    """The last request: its tokens fill the context."""
    window: int | None
    """Tokens that the model can read."""
    extensions: str


def status_line(status: Status, columns: int) -> str:
    """The parts that fit, the first ones first."""
    parts = [status.activity, status.model]
    if status.last is not None:
        held = tokens(status.last)
        parts.append(f"{100 * held / status.window:.0f} % of {count(status.window)}" if status.window else count(held))
    if status.used is not None:
        parts += [dollars(status.used.cost_usd), f"{count(tokens(status.used))} tokens"]
    parts.append(status.extensions)
    return _join([part for part in parts if part], columns)


def _join(parts: Sequence[str], columns: int) -> str:
    line = ""
    for part in parts:
        longer = f"{line}{SEPARATOR}{part}" if line else part
        if width_of(longer) > columns:
            break
        line = longer
    return line
