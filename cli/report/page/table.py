"""The table of costs, a row for each extension. The page's script sorts and filters it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cli.number_format import bytes_text, count_text, duration_text, short
from cli.report.charts.series import coarser
from cli.report.markup import name, number, text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cli.report.charts.series import Series, Values
    from cli.report.reading.recording import Figures

SPARK_POINTS = 40
SPARK_WIDTH, SPARK_HEIGHT = 78, 18
COLUMNS_WITH_ROOM = 16
"""With more columns there is no room for small lines, if the table is to fit in 1280 pixels."""
ROWS = 1000
"""The most rows of a page."""


@dataclass(frozen=True)
class Column:
    """A column of the table. `value` is None for an extension without this figure; `label` is the text of a value."""

    title: str
    hint: str
    value: Callable[[Figures], float | None]
    label: Callable[[float], str]
    has_bar: bool = False
    is_bad: bool = False
    """Whether a value above 0 is marked as bad."""
    is_rare: bool = False
    """Whether the column is left out if all its values are 0."""


def _count(value: float) -> str:
    return count_text(int(value))


def _rare(title: str, hint: str, value: Callable[[Figures], float | None]) -> Column:
    """The column of a count that is bad, and mostly 0."""
    return Column(title, hint, value, _count, is_bad=True, is_rare=True)


COLUMNS = (
    Column(
        "CPU",
        "processor seconds of the whole tree",
        lambda extension: None if extension.in_client else extension.cpu_s,
        lambda value: f"{short(value)} s",
        True,
    ),
    Column(
        "peak RSS",
        "highest resident size",
        lambda extension: None if extension.in_client else extension.rss_peak_bytes,
        bytes_text,
        True,
    ),
    Column("calls", "requests that waited for an answer", lambda extension: extension.calls, _count, True),
    Column("p50", "half of the answers were faster", lambda extension: extension.p50_ms, duration_text),
    Column("p99", "one answer in a hundred was slower", lambda extension: extension.p99_ms, duration_text),
    Column("errors", "calls that failed", lambda extension: extension.errors, _count, is_bad=True),
    _rare("timeouts", "calls without an answer in time", lambda extension: extension.timeouts),
    Column("blocks", "what it refused as a guard", lambda extension: extension.blocks, _count),
    Column("exits", "processes that ended, stops in good order included", lambda extension: extension.exits, _count),
    _rare("unexpected exits", "exits that nobody had asked for", lambda extension: extension.unexpected_exits),
    Column("restarts", "how often it was brought back", lambda extension: extension.restarts, _count, is_bad=True),
    _rare("limits", "times over a limit", lambda extension: extension.limit_breaches),
    Column("frames in", "frames that it sent", lambda extension: extension.frames_in, _count),
    Column("frames out", "frames that it was sent", lambda extension: extension.frames_out, _count),
    Column("bytes in", "bytes that it sent", lambda extension: extension.bytes_in, bytes_text),
    Column("bytes out", "bytes that it was sent", lambda extension: extension.bytes_out, bytes_text),
    Column(
        "definitions",
        "tokens of its tools in each request, by estimate",
        lambda extension: extension.definition_tokens,
        _count,
    ),
    _rare("lost", "events and notes dropped", lambda extension: extension.lost),
    _rare("junk", "lines on its stdout that were no frames", lambda extension: extension.junk_lines),
)
"""The columns after the name and the state, in the order of the page. The first two have small lines."""
LAST_BEFORE_EXIT = "restarts"
"""The column of the last exit follows this one."""
AND_THOSE_IN_CLIENT = (
    "CPU time and memory of an extension in the client program are the program's own, and not known here."
)


def table(figures: Sequence[Figures], series: Series | None, ids: dict[str, str], end: float) -> str:
    """The section with the table; empty without extensions."""
    if not figures:
        return ""
    shown = sorted(figures, key=lambda extension: (-extension.cpu_s, -extension.rss_peak_bytes, extension.name))
    others = [column for column in COLUMNS[2:] if any(column.value(extension) is not None for extension in shown)]
    known = [*COLUMNS[:2], *others]
    columns = [column for column in known if not column.is_rare or any(column.value(extension) for extension in shown)]
    zeros = ", ".join(column.title for column in known if column not in columns)
    highest = [max((column.value(extension) or 0.0) for extension in shown) for column in columns]
    is_dense = len(columns) > COLUMNS_WITH_ROOM
    sparks = _Sparks(series, end) if series is not None and len(series.times) > 1 and not is_dense else None
    head = _head("extension", "sort by name", "text") + _head("state", "at the end of the recording", "text")
    for index, column in enumerate(columns):
        head += _head(column.title, column.hint, "descending" if index == 0 else "number")
        if sparks is not None and index < 2:
            head += '<th class="spark" scope="col">over time</th>'
        if column.title == LAST_BEFORE_EXIT:
            head += _head("last exit", "how its last process ended", "text")
    rows = "".join(_row(extension, columns, highest, sparks, ids[extension.name]) for extension in shown[:ROWS])
    own_scale = " The small lines have each their own scale." if sparks is not None else ""
    left_out = f" The first {ROWS:,} of {len(shown):,}." if len(shown) > ROWS else ""
    left_out += f" 0 everywhere: {zeros}." if zeros else ""
    left_out += f" {AND_THOSE_IN_CLIENT}" if any(extension.in_client for extension in shown) else ""
    dense = ' class="dense"' if is_dense else ""
    return (
        '<section id="costs"><h2>What each extension cost</h2>'
        f'<p class="caption">Over the whole recording and its process tree.{own_scale}{left_out}</p>'
        '<p class="filter" hidden><input type="search" id="filter" placeholder="Filter by name or state"'
        ' aria-label="Filter the table by name or state"> <span id="count" role="status"></span></p>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="Costs"><table{dense}>'
        f"<thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div></section>"
    )


def _head(title: str, hint: str, kind: str) -> str:
    """`kind` is text, number, or descending for the column that the rows are sorted by."""
    sort = ' aria-sort="descending"' if kind == "descending" else ""
    style = ' class="text"' if kind == "text" else ""
    return f'<th scope="col"{style}{sort}><button type="button" title="{hint}">{title}</button></th>'


def _row(
    extension: Figures, columns: Sequence[Column], highest: Sequence[float], sparks: _Sparks | None, row: str
) -> str:
    why = f' title="{text(extension.failure, 200)}"' if extension.failure else ""
    cells = (
        f'<th scope="row"><bdi title="{text(extension.name, 120)}">{name(extension.name)}</bdi></th>'
        f'<td class="text"><span class="state {state_class(extension)}"{why}>{text(extension.state, 20)}</span>'
        f"{' <small>in the client program</small>' if extension.in_client else ''}</td>"
    )
    for index, (column, most) in enumerate(zip(columns, highest, strict=True)):
        cells += _cell(column, column.value(extension), most)
        if sparks is not None and index < 2:
            cells += f'<td class="spark">{sparks.drawn(extension.name, index)}</td>'
        if column.title == LAST_BEFORE_EXIT:
            cells += f'<td class="text">{text(extension.exit_status or "-", 60)}</td>'
    return f'<tr id="{row}">{cells}</tr>'


def state_class(extension: Figures) -> str:
    """The style of a state: good, bad, waits or plain."""
    if extension.state == "failed":
        return "bad"
    return {"ready": "good", "backoff": "waits"}.get(extension.state, "plain")


def _cell(column: Column, value: float | None, most: float) -> str:
    if value is None:
        return '<td data-v="-1">-</td>'
    bar = ""
    if column.has_bar and most > 0:
        bar = f'<i style="width:{number(100 * max(0.0, value) / most, 1)}%"></i>'
    style = ' class="bad"' if column.is_bad and value > 0 else ' class="zero"' if value == 0 else ""
    return f'<td data-v="{value:.6g}"{style}>{bar}<span>{text(column.label(value))}</span></td>'


class _Sparks:
    """Draws small lines, each in its own scale. A line shows the shape; the cell beside it shows the value."""

    def __init__(self, series: Series, end: float) -> None:
        self._lines = series.lines
        times = coarser(series.times, SPARK_POINTS)
        self._xs = [round((time or 0.0) / end * SPARK_WIDTH) for time in times]

    def drawn(self, extension: str, which: int) -> str:
        line = self._lines.get(extension)
        if line is None:
            return ""
        values: Values = coarser((line.cpu_percent, line.rss_bytes)[which], SPARK_POINTS)
        highest = max((value for value in values if value is not None), default=0.0) or 1.0
        d, pen_down = "", False
        for x, value in zip(self._xs, values, strict=True):
            if value is not None:
                y = round((SPARK_HEIGHT - 2) * (1 - max(0.0, value) / highest)) + 1
                d += f"{'L' if pen_down else 'M'}{x} {y}"
            pen_down = value is not None
        return f'<svg class="s{which}" aria-hidden="true"><path d="{d}"/></svg>'
