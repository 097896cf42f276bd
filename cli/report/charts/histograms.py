"""Draws a histogram of each extension's latency, the slowest first. All share one logarithmic axis, to be compared."""

from __future__ import annotations

from math import ceil, log2, log10
from typing import TYPE_CHECKING

from cli.number_format import duration_text, plural
from cli.report.charts.axis import decade_label, decades
from cli.report.markup import name, number, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cli.report.reading.recording import Figures

OPEN = 12
"""Histograms that are shown at once; the others are folded away."""
PER_DOUBLING = 4
"""Bars for each doubling of the time: half as many as the buckets of the host, so that a bar is two whole buckets."""
FINEST_MS = 1e-4
LONGEST_MS = 1e10
"""Four months. A damaged recording may name any time: a longer one is drawn as this one."""
WIDTH, HEIGHT = 1000.0, 100.0
_INWARDS = ";transform:translateX(-100%)"


def histograms(figures: Sequence[Figures], ids: dict[str, str]) -> str:
    """A section for all extensions that have answered; empty without any."""
    answered = [extension for extension in figures if extension.p99_ms is not None or extension.latency_ms]
    if not answered:
        return ""
    answered.sort(key=lambda extension: (-(extension.p99_ms or 0.0), extension.name))
    axis = decades(*_extent(answered))
    cells = [_cell(extension, axis, ids[extension.name]) for extension in answered]
    folded = ""
    if len(cells) > OPEN:
        more = f"<summary>{len(cells) - OPEN} more, faster ones</summary>"
        folded = f'<details>{more}<div class="cells">{"".join(cells[OPEN:])}</div></details>'
    has_bars = any(extension.latency_ms for extension in answered)
    what = (
        "How many answers took how long" if has_bars else "Only percentiles are known: the bar reaches from p50 to p99"
    )
    return (
        '<section id="latency"><h2>Time to answer</h2>'
        f'<p class="caption">{what}; logarithmic, the same axis in all, the slowest p99 first. '
        '<span class="p50">│</span> p50, half were faster; <span class="p99">┆</span> p99, one in a hundred was slower.'
        "</p>"
        f'<div class="cells">{"".join(cells[:OPEN])}</div>{folded}</section>'
    )


def _extent(figures: Iterable[Figures]) -> tuple[float, float]:
    values = [
        min(value, LONGEST_MS)
        for extension in figures
        for value in (extension.p50_ms, extension.p99_ms, *(upper for upper, _ in extension.latency_ms))
        if value is not None and value > 0
    ]
    return (max(FINEST_MS, min(values)), max(FINEST_MS, *values)) if values else (1.0, 100.0)


def bars(latency_ms: Iterable[tuple[float, int]]) -> dict[int, int]:
    """The count of answers in each bar. Bar `n` ends at `FINEST_MS * 2 ** (n / PER_DOUBLING)` milliseconds."""
    counts: dict[int, int] = {}
    for upper, count in latency_ms:
        bar = max(0, ceil(PER_DOUBLING * log2(min(max(upper, FINEST_MS), LONGEST_MS) / FINEST_MS) - 1e-3))
        counts[bar] = counts.get(bar, 0) + count
    return counts


def upper_end(bar: int) -> float:
    """The longest time of a bar, in milliseconds."""
    return float(FINEST_MS * 2 ** (bar / PER_DOUBLING))


def _cell(extension: Figures, axis: tuple[int, int], row: str) -> str:
    first, last = axis

    def place(milliseconds: float) -> float:
        """The place on the axis, in thousandths of its length."""
        share = (log10(max(milliseconds, 1e-9)) - first) / (last - first)
        return WIDTH * min(1.0, max(0.0, share))

    counts = bars(extension.latency_ms)
    answers = sum(counts.values())
    drawn, data = "", ""
    if counts:
        highest = max(counts.values())
        d = "".join(
            _bar(place(upper_end(bar - 1)), place(upper_end(bar)), count / highest)
            for bar, count in sorted(counts.items())
        )
        drawn = f'<path class="bars" d="{d}"/>'
        listed = ";".join(f"{bar},{count}" for bar, count in sorted(counts.items()))
        data = f' data-axis="{first},{last}" data-bars="{listed}"'
    elif extension.p50_ms is not None and extension.p99_ms is not None:
        left, right = place(extension.p50_ms), place(extension.p99_ms)
        drawn = f'<path class="range" d="M{number(left)} 50H{number(max(right, left + 1))}"/>'
    every = max(1, ceil((last - first) / 4))
    ticks = [(power, 100 * (power - first) / (last - first)) for power in range(first, last + 1)]
    rules = "".join(f'<line x1="{number(at)}%" x2="{number(at)}%" y2="100%"/>' for _, at in ticks)
    labels = "".join(
        f'<span style="left:{number(at)}%{_INWARDS if at == 100 else ""}">{text(decade_label(power))}</span>'
        for index, (power, at) in enumerate(ticks)
        if index % every == 0
    )
    said = f"p50 {duration_text(extension.p50_ms)}, p99 {duration_text(extension.p99_ms)}"
    whole = f"{plural(answers or extension.calls, 'answer')}, {said}"
    return (
        f'<figure class="cell"><figcaption><a href="#{row}">'
        f'<bdi title="{text(extension.name, 120)}">{name(extension.name)}</bdi></a>'
        f"<span>{text(plural(answers or extension.calls, 'answer'))}</span></figcaption>"
        f'<svg class="histogram" role="img" tabindex="0" aria-label="{name(extension.name)}: {text(whole)}"{data}>'
        f'<g class="rules">{rules}</g>'
        f'<svg width="100%" height="100%" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" preserveAspectRatio="none">{drawn}</svg>'
        f"{_percentile('p50', extension.p50_ms, place)}{_percentile('p99', extension.p99_ms, place)}</svg>"
        f'<div class="x">{labels}</div><div class="said">p50 <b>{duration_text(extension.p50_ms)}</b> p99'
        f" <b>{duration_text(extension.p99_ms)}</b></div></figure>"
    )


def _bar(left: float, right: float, share: float) -> str:
    top = HEIGHT - max(2.0, HEIGHT * 0.94 * share)
    right -= 0.15 * (right - left)
    return f"M{number(left, 1)} {HEIGHT:g}V{number(top, 1)}H{number(right, 1)}V{HEIGHT:g}"


def _percentile(which: str, milliseconds: float | None, place: Callable[[float], float]) -> str:
    if milliseconds is None:
        return ""
    at = number(place(milliseconds) / 10)
    said = f"<title>{which} {duration_text(milliseconds)}</title>"
    return f'<line class="{which}" x1="{at}%" x2="{at}%" y2="100%">{said}</line>'
