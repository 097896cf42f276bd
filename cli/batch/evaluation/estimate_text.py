"""Estimates in words: `pass@1 0.62 (0.51 to 0.73), pass@4 0.81 (0.7 to 0.9), 3 faults`."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from cli.number_format import count_text, plural, short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agent.batch.evaluation.evaluation import Evaluation
    from agent.batch.evaluation.interval import Estimate
    from agent.batch.journal.shards import BatchResults

LOOKED_AT = 100
"""Outcomes of a batch in which to look for a repetition or a score."""


def estimate_text(estimate: Estimate, more: str = "") -> str:
    """The value, and in parentheses its interval, if it has one, and `more`; `-` without a task."""
    return _text(estimate, short, more)


def difference_text(estimate: Estimate) -> str:
    """As `estimate_text`, with signs."""
    return _text(estimate, signed, "")


def _text(estimate: Estimate, number: Callable[[float], str], more: str) -> str:
    if estimate.value is None:
        return "-"
    ends = [] if estimate.low is None or estimate.high is None else [estimate.low, estimate.high]
    parts = ", ".join(filter(None, (" to ".join(map(number, ends)), more)))
    return f"{number(estimate.value)} ({parts})" if parts else number(estimate.value)


def signed(value: float) -> str:
    """A difference, with its sign: `+0.08`."""
    return f"+{short(value)}" if value > 0 else short(value)


def method_text(estimates: Iterable[Estimate]) -> str:
    """The way in which the intervals were found; empty without intervals."""
    from agent.batch.evaluation.interval import SAMPLES

    words = {
        "bootstrap": f"{SAMPLES:,} bootstrap samples of the tasks",
        "normal": "the standard error of the tasks' means",
    }
    found = {one.method for one in estimates if one.method}
    return f"95 % intervals from {' and '.join(words[one] for one in sorted(found))}" if found else ""


def evaluation_line(results: Evaluation) -> str:
    """The estimates of a batch in one line: pass@1, pass@k for the highest k, the mean score if it says more, and the
    runs that do not count."""
    ks = results.ks()
    parts = []
    for k in sorted({*ks[:1], *ks[-1:]}):
        estimate = results.pass_at(k)
        is_all = estimate.tasks == len(results.tasks)
        of = "" if is_all else f"{count_text(estimate.tasks)} of {plural(len(results.tasks), 'task')}"
        parts.append(f"pass@{k} {estimate_text(estimate, of)}")
    if results.has_partial_scores:
        parts.append(f"mean score {estimate_text(results.score())}")
    if results.faults:
        parts.append(plural(results.faults, "fault"))
    if results.unscored:
        parts.append(f"{count_text(results.unscored)} without a score")
    return ", ".join(parts) or "no repetition counts yet"


def line_of(results: BatchResults) -> str:
    """The line of a batch with repetitions or scores; empty for another one. Raises `JournalError`, `FolderError`."""
    found = evaluation_of(results)
    return "" if found is None else evaluation_line(found)


def evaluation_of(results: BatchResults) -> Evaluation | None:
    """The evaluation of a batch with repetitions or scores; None for another one, of which only the first `LOOKED_AT`
    outcomes are read. Raises `JournalError`, `FolderError`."""
    from agent.batch.evaluation.evaluation import read_evaluation

    first = islice(results.outcomes(), LOOKED_AT)
    return read_evaluation(results) if any(one.repeat or one.score is not None for one in first) else None
