"""Draws CPU and memory over time: a chart of all extensions together, and below it a line for each of the heaviest.

The coordinates of a drawing are data: thousandths of the run across, percent or MiB upwards. To zoom, the script
changes only the view box; without the script the page shows the whole run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cli.number_format import elapsed, percent_text, plural
from cli.report.charts.axis import MIB, bytes_upto, mib_text, steps, upto
from cli.report.markup import NAME_CHARACTERS, name, number, text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cli.report.charts.series import Line, Series, Values

WIDTH = 1000.0
"""Units of a drawing along the whole recording."""


@dataclass(frozen=True)
class _Measure:
    key: str
    title: str
    values: Callable[[Line], Sequence[float | None]]
    peak: Callable[[Series], float]
    """The highest sum of all extensions in any sample, of which a point may show the mean."""
    label: Callable[[float], str]
    upto: Callable[[float, int], tuple[float, float]]


def _mib(values: Values) -> list[float | None]:
    return [None if value is None else value / MIB for value in values]


_MEASURES = (
    _Measure("cpu", "CPU", lambda line: line.cpu_percent, lambda series: series.peak_cpu_percent, percent_text, upto),
    _Measure(
        "rss",
        "Memory",
        lambda line: _mib(line.rss_bytes),
        lambda series: series.peak_rss_bytes / MIB,
        mib_text,
        bytes_upto,
    ),
)


def use_charts(series: Series, end: float, axis: str, overlay: str) -> str:
    others = len(series.lines) - len(series.named)
    panels = "".join(_panels(measure, series, end) for measure in _MEASURES)
    return (
        '<section id="use"><h2>Processor and memory over time</h2>'
        f'<p class="caption">{_caption(series, end)}</p>'
        f"{_legend(series, others)}"
        f'<div class="plots">{overlay}{panels}{axis}</div></section>'
    )


def _caption(series: Series, end: float) -> str:
    points = len(series.times)
    if points == 1:
        made = "There is one sample, so there is a point where there could be a line."
    elif points == series.samples:
        made = f"{plural(points, 'sample')}, none left out."
    else:
        made = (
            f"{plural(series.samples, 'sample')} in {points} points of about {elapsed(end / points)}: of CPU the mean,"
            " of memory the highest."
        )
    what = "CPU in percent of one core, since the sample before; memory is the resident size of the whole process tree."
    return f"{what} {made}"


def _legend(series: Series, others: int) -> str:
    keys = "".join(
        f'<button type="button" class="key" aria-pressed="true" data-key="{index}">'
        f"{swatch(f'c{index}')}<bdi>{name(extension)}</bdi></button>"
        for index, extension in enumerate(series.named)
    )
    rest = ""
    if others:
        rest = f'<span class="key rest">{swatch("band")}the other {others}, summed</span>'
    host = f'<button type="button" class="key" aria-pressed="false" data-key="host">{swatch("host")}zot itself</button>'
    adder = '<select id="add" aria-label="Add an extension to the charts" hidden></select>' if others else ""
    return f'<div class="legend" role="group" aria-label="Lines of the charts">{keys}{rest}{host}{adder}</div>'


def swatch(style: str) -> str:
    if style == "band":
        return '<svg class="swatch" aria-hidden="true"><rect class="band" y="2" width="22" height="8"/></svg>'
    return f'<svg class="swatch" aria-hidden="true"><path class="line {style}" d="M1 6H21"/></svg>'


def _panels(measure: _Measure, series: Series, end: float) -> str:
    lines = {extension: measure.values(line) for extension, line in series.lines.items()}
    named = [lines[extension] for extension in series.named]
    host = measure.values(series.host)
    total = [value or 0.0 for value in measure.values(series.total)]
    rest = [max(0.0, all_ - sum(line[at] or 0.0 for line in named)) for at, all_ in enumerate(total)]
    xs = [time / end * WIDTH for time in series.times]
    areas = f'<path class="sum" d="{area(xs, rest, total)}"/><path class="band" d="{area(xs, [0.0] * len(xs), rest)}"/>'
    areas += f'<path class="line total" d="{path(xs, total)}"/>'
    dot = " dot" if len(xs) == 1 else ""
    paths = "".join(
        f'<path class="line c{index}{dot}" data-key="{index}" d="{path(xs, line)}"/>'
        for index, line in enumerate(named)
    )
    paths = f'<path class="line host off{dot}" data-key="host" d="{path(xs, host)}"/>{paths}'
    highest = max((value for line in named for value in line if value is not None), default=0.0)
    together = f"all {len(series.lines)} together" if len(series.lines) != 1 else "the one extension"
    said = f"at most {measure.label(measure.peak(series))}"
    return _panel(measure, "total", f"{measure.title}, {together}", said, areas, max(total), 2) + _panel(
        measure, "lines", measure.title, "each by itself", paths, highest, 4
    )


def _panel(measure: _Measure, kind: str, title: str, said: str, drawn: str, highest: float, ticks: int) -> str:
    step, top = measure.upto(highest, ticks)
    marks = [(1 - value / top, measure.label(value)) for value in steps(step, top)]
    rules = "".join(f'<line x2="100%" y1="{number(100 * at)}%" y2="{number(100 * at)}%"/>' for at, _ in marks)
    labels = "".join(f'<span style="top:{number(100 * at)}%">{text(label)}</span>' for at, label in marks)
    view = f"0 {-top:.6g} {WIDTH:g} {top:.6g}"
    return (
        f'<div class="panel {kind}" data-measure="{measure.key}" data-kind="{kind}"><div class="gutter">'
        f'<b>{text(title)}</b><small>{text(said)}</small><div class="y" aria-hidden="true">{labels}</div></div>'
        f'<svg class="plot" role="img" tabindex="0" aria-label="{text(title)}, {text(said)}">'
        f'<g class="rules">{rules}</g>'
        f'<svg class="inner" width="100%" height="100%" viewBox="{view}" preserveAspectRatio="none">'
        f'<g transform="scale(1,-1)">{drawn}</g></svg></svg></div>'
    )


def path(xs: Sequence[float], values: Sequence[float | None]) -> str:
    """A line with gaps where there is no value. A value between two gaps is a point."""
    parts: list[str] = []
    pen_down = False
    for at, (x, value) in enumerate(zip(xs, values, strict=True)):
        if value is None:
            pen_down = False
            continue
        alone = not pen_down and (at + 1 == len(values) or values[at + 1] is None)
        parts.append(f"{'L' if pen_down else 'M'}{number(x)} {coordinate(value)}{'h0' if alone else ''}")
        pen_down = True
    return "".join(parts)


def area(xs: Sequence[float], lower: Sequence[float], upper: Sequence[float]) -> str:
    """The area between two lines. A single point is a hundredth of the page wide, to be visible."""
    if len(xs) == 1:
        xs, lower, upper = (xs[0] - WIDTH / 200, xs[0] + WIDTH / 200), (*lower, *lower), (*upper, *upper)
    there = [f"{number(x)} {coordinate(y)}" for x, y in zip(xs, upper, strict=True)]
    back = [f"{number(x)} {coordinate(y)}" for x, y in zip(reversed(xs), reversed(lower), strict=True)]
    return f"M{'L'.join(there)}L{'L'.join(back)}Z"


def coordinate(value: float) -> str:
    """A coordinate with three significant digits, which is finer than a screen."""
    shown = f"{value:.3g}"
    return shown if "e" not in shown else number(float(shown), 9)


def embedded(series: Series, end: float) -> dict[str, object]:
    """The data that the page's script needs to add lines, to zoom and to show values."""

    def packed(line: Line) -> list[list[float | None]]:
        return [[None if value is None else rounded(value) for value in measure.values(line)] for measure in _MEASURES]

    return {
        "end": end,
        "times": [round(time, 6) for time in series.times],
        "names": [extension[:NAME_CHARACTERS] for extension in series.lines],
        "lines": [packed(line) for line in series.lines.values()],
        "total": packed(series.total),
        "host": packed(series.host),
        "named": len(series.named),
    }


def rounded(value: float) -> float:
    """The value as it is drawn, as an integer if it is one."""
    short = float(coordinate(value))
    return int(short) if short == int(short) else short
