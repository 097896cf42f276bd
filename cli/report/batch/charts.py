"""The charts of a batch: a distribution, and how many runs there were over time. Each is one SVG."""

from __future__ import annotations

from math import ceil, floor, log2
from typing import TYPE_CHECKING, NamedTuple

from cli.number_format import clock_text, count_text, elapsed, plural, short
from cli.report.charts.axis import steps, time_ticks, upto
from cli.report.markup import number, text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cli.report.batch.workload import Workload

WIDTH, HEIGHT = 1000.0, 100.0
MOST_BARS = 40
TICKS = 5
COLUMNS = 240
STARTS_MARKED = 40
_INWARDS = ";transform:translateX(-100%)"


class Bar(NamedTuple):
    lowest: float
    highest: float
    """Both are 0 for the bar of what is exactly 0."""
    tasks: int


def bars_of(values: Sequence[float]) -> list[Bar]:
    """A histogram with a logarithmic axis: bars of equal width in it, without a gap, and one more for zeros. Two bars
    for each doubling, or fewer if there would be more than `MOST_BARS`."""
    positive = [value for value in values if value > 0]
    zeros = len(values) - len(positive)
    bars = [Bar(0.0, 0.0, zeros)] if zeros else []
    if not positive:
        return bars
    low, high = log2(min(positive)), log2(max(positive))
    fineness = 2.0
    while (high - low) * fineness > MOST_BARS - 2:
        fineness /= 2
    first = floor(low * fineness)
    counts = [0] * (floor(high * fineness) - first + 1)
    for value in positive:
        counts[floor(log2(value) * fineness) - first] += 1
    edges = [2.0 ** ((first + index) / fineness) for index in range(len(counts) + 1)]
    return bars + [Bar(*each) for each in zip(edges[:-1], edges[1:], counts, strict=True)]


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value that so large a share of the values is not above. `ordered` is ascending and not empty."""
    return ordered[max(0, min(len(ordered) - 1, ceil(share * len(ordered)) - 1))]


def distribution(title: str, values: Sequence[float], label: Callable[[float], str], unknown: str = "") -> str:
    """A figure with the histogram of values of tasks. `unknown` says what is not in it."""
    aside = f'<p class="aside">{text(unknown)}</p>' if unknown else ""
    if not values:
        empty = '<p class="empty">Nothing is known yet.</p>'
        return f'<figure class="cell"><figcaption><b>{title}</b></figcaption>{empty}{aside}</figure>'
    bars = bars_of(values)
    ordered = sorted(values)
    highest = max(bar.tasks for bar in bars)
    width = WIDTH / len(bars)
    drawn = ""
    for index, bar in enumerate(bars):
        if not bar.tasks:
            continue
        tall = max(2.0, 0.94 * HEIGHT * bar.tasks / highest)
        what = label(0.0) if bar.highest == 0 else f"{label(bar.lowest)} to {label(bar.highest)}"
        drawn += (
            f'<rect x="{number(index * width + 0.06 * width)}" y="{number(HEIGHT - tall)}" '
            f'width="{number(0.88 * width)}" height="{number(tall)}">'
            f"<title>{text(what)}: {plural(bar.tasks, 'task')}</title></rect>"
        )
    half, tenth = quantile(ordered, 0.5), quantile(ordered, 0.9)
    said = f"{plural(len(values), 'task')}: half at most {label(half)}, nine in ten at most {label(tenth)}"
    said += f", the highest {label(ordered[-1])}"
    return (
        f'<figure class="cell"><figcaption><b>{title}</b><span>{plural(len(values), "task")}</span></figcaption>'
        f'<svg class="histogram" role="img" aria-label="{title}. {text(said)}" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" '
        f'preserveAspectRatio="none"><g class="bars">{drawn}</g></svg>'
        f'<div class="x">{_labels(bars, label)}</div>'
        f'<div class="said">half ≤ <b>{label(half)}</b> 9 in 10 ≤ <b>{label(tenth)}</b> highest '
        f"<b>{label(ordered[-1])}</b></div>{aside}</figure>"
    )


def _labels(bars: Sequence[Bar], label: Callable[[float], str]) -> str:
    """The lower ends of some bars, and the upper end of the last."""
    every = max(1, ceil(len(bars) / TICKS))
    shown = [(index, label(bars[index].lowest)) for index in range(0, len(bars), every)]
    if shown[-1][0] > len(bars) - every * 0.6 and len(shown) > 1:
        shown.pop()
    labels = "".join(
        f'<span style="left:{number(100 * index / len(bars))}%">{text(said)}</span>' for index, said in shown
    )
    if bars[-1].highest:
        labels += f'<span style="left:100%{_INWARDS}">{text(label(bars[-1].highest))}</span>'
    return labels


def workload_chart(workload: Workload) -> str:
    """Runs over time, those that waited on top of the others; empty if no time has passed."""
    columns = workload.columns(COLUMNS)
    if not columns:
        return ""
    step, top = upto(max(1.0, *(column.running + column.paused for column in columns)), 4)
    at = [index * WIDTH / COLUMNS for index in range(COLUMNS + 1)]

    def y(value: float) -> str:
        return number(HEIGHT * (1 - value / top))

    def area(lower: Sequence[float], upper: Sequence[float]) -> str:
        there = "".join(f"L{number(at[i])} {y(v)}H{number(at[i + 1])}" for i, v in enumerate(upper))
        back = "".join(f"L{number(at[i + 1])} {y(v)}H{number(at[i])}" for i, v in reversed(list(enumerate(lower))))
        return f"M{there[1:]}{back}Z"

    running = [column.running for column in columns]
    both = [column.running + column.paused for column in columns]
    zeros = [0.0] * COLUMNS
    width = workload.end / COLUMNS
    told = "".join(
        f'<rect x="{number(at[index])}" width="{number(WIDTH / COLUMNS)}" height="{HEIGHT:g}">'
        f"<title>at {elapsed(index * width)}: {short(column.running)} running, {short(column.paused)} paused</title>"
        "</rect>"
        for index, column in enumerate(columns)
    )
    rules = "".join(f'<line x2="{WIDTH:g}" y1="{y(value)}" y2="{y(value)}"/>' for value in steps(step, top))
    scale = "".join(
        f'<span style="top:{number(100 * (1 - value / top))}%">{short(value)}</span>' for value in steps(step, top)
    )
    ticks = "".join(
        f'<span style="left:{number(100 * moment / workload.end, 3)}%">{text(said)}</span>'
        for moment, said in time_ticks(workload.end, 7)
    )
    paused = any(column.paused for column in columns)
    key = '<span class="key"><i class="run"></i>running</span>'
    key += '<span class="key"><i class="pause"></i>paused: waits for a rate limit</span>' if paused else ""
    return (
        f'<p class="legend">{key}</p><div class="workload"><div class="y" aria-hidden="true">{scale}</div>'
        '<div class="drawn"><svg role="img" aria-label="Runs over time" '
        f'viewBox="0 0 {WIDTH:g} {HEIGHT:g}" preserveAspectRatio="none">'
        f'<g class="rules">{rules}</g><path class="run" d="{area(zeros, running)}"/>'
        + (f'<path class="pause" d="{area(running, both)}"/>' if paused else "")
        + f'<g class="told">{told}</g></svg>{_starts(workload)}<div class="x">{ticks}</div></div></div>'
    )


def _starts(workload: Workload) -> str:
    """A line for each start after the first."""
    return "".join(
        f'<i class="start" style="left:{number(100 * moment / workload.end, 3)}%" '
        f'title="start {count_text(index)}, {text(clock_text(began))}, {jobs} at a time"></i>'
        for index, (moment, began, jobs) in enumerate(workload.starts[:STARTS_MARKED], 1)
        if index > 1
    )
