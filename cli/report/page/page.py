"""Assembles the page: one file that works alone and may not fetch anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.report.charts.axis import thinned_ticks, time_ticks
from cli.report.charts.histograms import histograms
from cli.report.charts.lanes import definitions, timeline
from cli.report.charts.series import series_of
from cli.report.charts.timeline import lanes_of
from cli.report.charts.use_charts import embedded, use_charts
from cli.report.markup import number, script_data, text
from cli.report.page.findings import findings_of
from cli.report.page.headline import headline
from cli.report.page.shell import document, packaged, script_of
from cli.report.page.table import table
from cli.report.reading.recording import Source

if TYPE_CHECKING:
    from cli.report.reading.recording import RecordedRun

SCRIPT_PARTS = ("start", "numbers", "zoom", "lines", "pointer", "keyboard", "table")
"""Files in `script/`, in the order in which they run."""
_TOOLBAR = (
    '<div class="toolbar" role="toolbar" aria-label="Part of the run that is shown" hidden>'
    '<button type="button" data-zoom="in" title="Zoom in (+)">+</button>'
    '<button type="button" data-zoom="out" title="Zoom out (-)">&#8722;</button>'
    '<button type="button" data-zoom="left" title="Earlier (Shift+Left)">◀</button>'
    '<button type="button" data-zoom="right" title="Later (Shift+Right)">▶</button>'
    '<button type="button" data-zoom="all" title="The whole run (Esc)">whole run</button>'
    '<output id="window"></output>'
    '<span class="hint">Drag across a chart to zoom in; double-click for the whole run.</span></div>'
)


def render(recording: RecordedRun, *, source_name: str, version: str) -> str:
    """The HTML of the whole page. `source_name` is the name of the recording's file."""
    end = recording.end
    ids = {extension.name: f"x{index}" for index, extension in enumerate(recording.figures)}
    series = series_of(recording)
    lanes = lanes_of(recording.happenings, end)
    axis, overlay, ticks = _axis(recording)
    data: dict[str, object] = {"end": end, "ticks": ticks if recording.source is Source.EVENTS else None}
    body = headline(recording, series, findings_of(recording), ids)
    charts = use_charts(series, end, axis, overlay) if series is not None and series.lines else ""
    happened = timeline(recording, lanes, ids, axis, overlay)
    if charts or happened:
        body += f'<div class="timed">{_TOOLBAR}{charts}{happened}</div>'
    if charts and series is not None:
        data |= embedded(series, end)
    body += histograms(recording.figures, ids) + table(recording.figures, series, ids, end)
    shown = text(source_name, 100)
    return document(
        f"{text(recording.title)}: {shown}",
        packaged("colors.css", "page.css"),
        f"{definitions()}<main>{body}</main><footer>Made by zot {text(version)} from {shown}.</footer>"
        '<div id="tip" role="status" hidden></div>'
        f'<script type="application/json" id="data">{script_data(data)}</script>',
        script_of(*(f"script/{part}.js" for part in SCRIPT_PARTS)),
    )


def _axis(recording: RecordedRun) -> tuple[str, str, list[tuple[float, str]]]:
    """The labels below the charts, the grid lines, and the ticks of both."""
    ticks = time_ticks(recording.end) if recording.source is Source.STATS else thinned_ticks(recording.order_ticks)
    at = [(number(100 * position / recording.end, 3), label) for position, label in ticks]
    labels = "".join(f'<span style="left:{left}%">{text(label)}</span>' for left, label in at)
    lines = "".join(f'<i style="left:{left}%"></i>' for left, _ in at)
    every = list(recording.order_ticks) if recording.source is Source.EVENTS else ticks
    return (
        f'<div class="axis"><div class="gutter"></div><div class="x">{labels}</div></div>',
        f'<div class="overlay" aria-hidden="true"><div class="grid">{lines}</div><i class="cursor" hidden></i>'
        '<i class="brush" hidden></i></div>',
        every,
    )
