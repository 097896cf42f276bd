"""The page of one run or host: one file that works alone and may not fetch anything."""

from __future__ import annotations

from math import ceil, log2
from typing import TYPE_CHECKING, Any

from cli.number_format import bytes_text, duration_text, elapsed, percent_text, plural
from cli.report.input.recorded_run import SourceKind
from cli.report.markup import NAME_CHARACTERS, text
from cli.report.page.document import chart_document
from cli.report.page.table import TableColumn, figure, number_cell, section, table
from cli.report.page.top import tile_row, top
from cli.report.run.costs import costs
from cli.report.run.findings import findings_section
from cli.report.run.lanes import timeline
from cli.report.run.series import chart_data, series_of
from cli.report.run.tiles import tiles, waits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cli.report.input.recorded_run import ExtensionFigures, RecordedRun
    from cli.report.run.series import Series

ROWS = 24
"""The most rows of the table of use over time."""
PER_DOUBLING = 4
"""Bars for each doubling of a latency: half as many as the buckets of the host, so that a bar is two whole buckets."""
FINEST_MS = 1e-4
LONGEST_MS = 1e10
"""Four months. A damaged recording may name any time: a longer one is drawn as this one."""


def render(recording: RecordedRun, *, source_name: str, version: str) -> str:
    """The HTML of the whole page. `source_name` is the name of the recording's file."""
    ids = {extension.name: f"x{index}" for index, extension in enumerate(recording.figures)}
    series = series_of(recording)
    happened, lanes = timeline(recording, ids)
    data: dict[str, Any] = {"end": recording.end}
    if recording.source is SourceKind.EVENTS:
        data["ticks"] = recording.order_ticks
    body = top(recording.title, [*recording.facts, *waits(recording)], recording.notes)
    body += tile_row(tiles(recording, series))
    body += findings_section(recording, ids)
    if series is not None and series.lines:
        data["use"] = chart_data(series, ids)
        body += _use(series, recording.end)
    if happened:
        data["lanes"] = lanes
        body += happened
    if latencies := latency_data(recording.figures, ids):
        data["latency"] = latencies
        body += _latency(latencies)
    body += costs(recording.figures, ids)
    title = f"{text(recording.title)}: {text(source_name, 100)}"
    return chart_document(title, body, data, version=version, source=source_name)


def _use(series: Series, end: float) -> str:
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
    every = ceil(points / ROWS)
    columns = [TableColumn("until"), *map(TableColumn, ("CPU, all", "memory, all", "CPU of zot", "memory of zot"))]
    measures = [
        values
        for line in (series.total, series.host)
        for values in ((line.cpu_percent, percent_text), (line.rss_bytes, bytes_text))
    ]
    rows = [
        [number_cell(series.times[at], elapsed), *(number_cell(values[at], label) for values, label in measures)]
        for at in range((points - 1) % every, points, every)
    ]
    told = figure("use", table("Processor and memory over time", columns, rows))
    return section("use", "Processor and memory over time", f"{what} {made}", told)


def latency_data(figures: Iterable[ExtensionFigures], ids: dict[str, str]) -> list[dict[str, Any]]:
    """The latencies of the extensions that have answered, the slowest first. A bar is its number and its answers; bar
    `n` ends at `FINEST_MS * 2 ** (n / PER_DOUBLING)` milliseconds."""
    answered = [extension for extension in figures if extension.p99_ms is not None or extension.latency_ms]
    answered.sort(key=lambda extension: (-(extension.p99_ms or 0.0), extension.name))
    return [
        {
            "name": extension.name[:NAME_CHARACTERS],
            "row": ids[extension.name],
            "answers": sum(count for _, count in extension.latency_ms) or extension.calls,
            "percentiles": [_bar_position(extension.p50_ms), _bar_position(extension.p99_ms)],
            "told": [duration_text(extension.p50_ms), duration_text(extension.p99_ms)],
            "bars": sorted(bars(extension.latency_ms).items()),
        }
        for extension in answered
    ]


def bars(latency_ms: Iterable[tuple[float, int]]) -> dict[int, int]:
    """The count of answers in each bar."""
    counts: dict[int, int] = {}
    for upper, count in latency_ms:
        bar = max(0, ceil(PER_DOUBLING * log2(min(max(upper, FINEST_MS), LONGEST_MS) / FINEST_MS) - 1e-3))
        counts[bar] = counts.get(bar, 0) + count
    return counts


def _bar_position(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else min(max(milliseconds, FINEST_MS), LONGEST_MS)


def _latency(latencies: Sequence[dict[str, Any]]) -> str:
    """The section with a histogram of each extension; without the script, the table of costs has the percentiles."""
    has_bars = any(each["bars"] for each in latencies)
    what = "How many answers took how long" if has_bars else "Only percentiles are known: the bar spans p50 to p99"
    caption = (
        f"{what}; logarithmic, the same axis in all, the slowest p99 first. "
        '<span class="p50">│</span> p50, half were faster; <span class="p99">┆</span> p99, one in a hundred was slower.'
    )
    return section("latency", "Time to answer", caption, figure("latency", ""), is_drawn=True)
