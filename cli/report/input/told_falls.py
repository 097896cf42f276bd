"""The figures that the marks of a trace tell: a trace without an end has no others, and that of a batch never has."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cli.report.input.recorded_run import ExtensionFigures
    from wire import stats

STARTS = frozenset({"started", "restarted", "reloaded"})


def with_falls(figures: Iterable[ExtensionFigures], marks: Iterable[stats.Mark]) -> tuple[ExtensionFigures, ...]:
    """The figures with what the marks of a trace tell: all of it where nothing was counted, else only what no count
    has. Pure."""
    told: dict[str, list[stats.Mark]] = defaultdict(list)
    for mark in sorted(marks, key=lambda mark: mark.time):
        told[mark.extension].append(mark)
    return tuple(_with_marks(each, told[each.name]) for each in figures)


def _with_marks(figures: ExtensionFigures, marks: list[stats.Mark]) -> ExtensionFigures:
    falls = Counter(mark.name for mark in marks)
    leak = next((mark.detail for mark in reversed(marks) if mark.name == "leak"), "")
    figures = replace(figures, no_verdicts=falls["no_verdict"], leak=leak)
    if figures.is_counted:
        return figures
    recovered, state, failure = 0, figures.state, ""
    for mark in marks:
        if mark.kind in STARTS:
            recovered += state != "failed" and bool(failure)
            state, failure = figures.state, ""
        elif mark.kind == "failed":
            failure = mark.detail
            state = "failed" if mark.name == "given_up" else state
    by_host = falls["limit"] + falls["hung"] + recovered
    return replace(
        figures,
        state=state,
        failure=failure,
        restarts=sum(mark.kind == "restarted" for mark in marks),
        unexpected_exits=falls["crashed"] + falls["ended"] + by_host,
        exits_by_host=by_host,
        limit_breaches=falls["limit"],
    )
