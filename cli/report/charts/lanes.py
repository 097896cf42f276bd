"""Draws the lanes of the timeline below each other, on the time axis of the other charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.number_format import clock_text, elapsed, plural
from cli.report.charts.timeline import PROMINENT, DrawnMark, Lane, LaneKind, Life
from cli.report.markup import name, number, text
from cli.report.reading.recording import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.report.reading.recording import Happening, RecordedRun

ROW, TALL_ROW = 24, 20
"""Heights in pixels: of a lane of points, and of a row of calls."""
LABELLED = 3.0
"""Percent of the width. A bar that is at least so wide shows its name; the page's script corrects this by the real
width."""
DETAILS = 200_000
"""The most characters of all details together."""
LABELS = 500
"""A lane with more marks than this has no labels."""
SYMBOLS = {
    "started": '<path d="M-3.5-4.5 4.5 0-3.5 4.5Z"/>',
    "restarted": '<circle r="5.5" class="back"/><path d="M-2.5-3.5 3.5 0-2.5 3.5Z"/>',
    "reloaded": '<circle r="5.5" class="back"/><path d="M-3 2.5 0-3.5 3 2.5Z"/>',
    "exited": '<path class="stroke" d="M-4-4 4 4M-4 4 4-4"/>',
    "failed": '<rect x="-6" y="-6" width="12" height="12" rx="2"/><path class="cut" d="M-3-3 3 3M-3 3 3-3"/>',
    "limit": '<path d="M0-6 6 5H-6Z"/><path class="cut" d="M0-2V1.6M0 3V3.6"/>',
    "no_verdict": '<path d="M0-6 6 0 0 6-6 0Z"/><path class="cut" d="M-2 0H2"/>',
    "warning": '<circle r="3.5"/>',
    "error": '<path d="M-2.5-6H2.5L6-2.5V2.5L2.5 6H-2.5L-6 2.5V-2.5Z"/><path class="cut" d="M0-3V1M0 2.6V3"/>',
    "blocked": '<circle r="6"/><path class="cut" d="M-3.5 0H3.5"/>',
    "call": '<rect x="-1.5" y="-5" width="3" height="10"/>',
}
WORDS = {
    "started": "started",
    "restarted": "restarted",
    "reloaded": "reloaded",
    "exited": "ended by itself",
    "failed": "given up",
    "limit": "over a limit",
    "no_verdict": "no verdict",
    "warning": "warning",
    "error": "error",
    "blocked": "blocked",
    "call": "call failed",
}
_TITLES = {LaneKind.TURNS: "Turns", LaneKind.TOOLS: "Tools", LaneKind.GUARDS: "Intercepts", LaneKind.RUN: "The run"}
_NOUNS = {"turn": "turn", "tool_call": "tool call", "intercept": "intercept"}


def timeline(recording: RecordedRun, lanes: Sequence[Lane], ids: dict[str, str], axis: str, overlay: str) -> str:
    """The section with all lanes; empty if nothing happened."""
    if not lanes:
        return ""
    marks = sum(len(lane.marks) for lane in lanes)
    drawing = _Drawing(recording, ids, min(400, max(60, DETAILS // max(1, marks))))
    common = [drawing.lane(lane) for lane in lanes if lane.kind is not LaneKind.EXTENSION]
    own = [drawing.lane(lane) for lane in lanes if lane.kind is LaneKind.EXTENSION]
    folded = ""
    if len(own) > PROMINENT:
        more = plural(len(own) - PROMINENT, "more extension")
        folded = (
            f"<details><summary>{more}, with less to tell</summary>"
            f'<div class="plots">{overlay}{"".join(own[PROMINENT:])}{axis}</div></details>'
        )
    happened = {_symbol(mark.first) for lane in lanes for mark in lane.marks} - {""}
    keys = "".join(
        f'<span class="key">{_key(symbol)}{WORDS[symbol]}</span>' for symbol in SYMBOLS if symbol in happened
    )
    if any(mark.bad and not _symbol(mark.first) for lane in lanes for mark in lane.marks):
        keys += '<span class="key"><i class="chip"></i>failed call or turn</span>'
    merged = any(mark.count > 1 for lane in lanes for mark in lane.marks)
    caption = "In order, not in time: each event has the same width." if recording.source is Source.EVENTS else ""
    if merged:
        total = sum(lane.total for lane in lanes)
        caption = f"{caption} {total:,} events: neighbours of one kind share a mark, which tells how many.".strip()
    return (
        '<section id="timeline"><h2>What happened</h2>'
        f'<p class="caption">{caption}</p><div class="legend">{keys}</div>'
        f'<div class="plots">{overlay}{"".join(common)}{"".join(own[:PROMINENT])}{axis}</div>{folded}</section>'
    )


def definitions() -> str:
    """The symbols, once for the whole page."""
    symbols = "".join(f'<g id="s-{kind}">{drawn}</g>' for kind, drawn in SYMBOLS.items())
    return f'<svg width="0" height="0" class="definitions" aria-hidden="true"><defs>{symbols}</defs></svg>'


def _key(symbol: str) -> str:
    return (
        '<svg class="symbol" aria-hidden="true" viewBox="-8 -8 16 16">'
        f'<use href="#s-{symbol}" class="k-{symbol}"/></svg>'
    )


def _symbol(happening: Happening) -> str:
    """The symbol of a happening; empty for a bar."""
    if happening.kind == "intercept":
        return "blocked" if happening.bad else ""
    return happening.kind if happening.kind in SYMBOLS else ""


class _Drawing:
    def __init__(self, recording: RecordedRun, ids: dict[str, str], detail: int) -> None:
        self._recording = recording
        self._end = recording.end
        self._ids = ids
        self._detail = detail
        self._digits = 6 if self._end < 10 else 4 if self._end < 1000 else 3
        self._timed = recording.source is Source.STATS

    def lane(self, lane: Lane) -> str:
        own = lane.kind is LaneKind.EXTENSION
        height = ROW if lane.rows == 1 else TALL_ROW * lane.rows
        labelled = not own and len(lane.marks) <= LABELS
        marks = "".join(self._mark(mark, own, lane.rows, height, labelled) for mark in lane.marks)
        if own:
            label = f'<a href="#{self._ids[lane.name]}"><bdi title="{text(lane.name, 120)}">{name(lane.name)}</bdi></a>'
        else:
            label = f"<b>{_TITLES[lane.kind]}</b>"
        spoken = name(lane.name) if own else _TITLES[lane.kind]
        return (
            f'<div class="lane {lane.kind.value}"><div class="gutter">{label}<small>{lane.total:,}</small></div>'
            f'<svg class="plot" style="height:{height}px" role="group" tabindex="0"'
            f' aria-label="{spoken}: {plural(lane.total, "event")}">{self._lives(lane)}{marks}</svg></div>'
        )

    def _lives(self, lane: Lane) -> str:
        paths = []
        for life in Life:
            d = "".join(
                f"M{number(begin / self._end * 1000)} 12H{number(end / self._end * 1000)}"
                for begin, end, state in lane.lives
                if state is life
            )
            if d:
                paths.append(f'<path class="{life.value}" d="{d}"/>')
        if not paths:
            return ""
        return (
            '<svg class="inner" width="100%" height="100%" viewBox="0 0 1000 24" preserveAspectRatio="none">'
            f"{''.join(paths)}</svg>"
        )

    def _mark(self, mark: DrawnMark, own: bool, rows: int, height: int, labelled: bool) -> str:
        happening = mark.first
        symbol = "call" if own and happening.kind == "tool_call" else _symbol(happening)
        title = f"<title>{text(self._told(mark), 900)}</title>"
        place = f'data-a="{number(happening.begin, self._digits)}"'
        at = number(100 * happening.begin / self._end, 3)
        if symbol:
            return f'<use href="#s-{symbol}" class="k-{symbol}" {place} x="{at}%" y="{height / 2:g}">{title}</use>'
        until = happening.begin if mark.end is None else mark.end
        width = number(max(100 * (until - happening.begin) / self._end, 0.02), 3)
        y, tall = (3, height - 6) if rows == 1 else (mark.row * TALL_ROW + 2, TALL_ROW - 4)
        place += f' data-b="{number(until, self._digits)}"'
        style = f"k-{happening.kind} bad" if mark.bad else f"k-{happening.kind}"
        many = "" if mark.count == 1 else f' fill-opacity="{min(1.0, 0.3 + 0.07 * mark.count):.2g}"'
        drawn = f'<rect class="{style}" {place} x="{at}%" y="{y}" width="{width}%" height="{tall}"{many}>{title}</rect>'
        if labelled and mark.count == 1 and happening.kind in ("turn", "tool_call"):
            hidden = "" if float(width) >= LABELLED else ' style="display:none"'
            drawn += (
                f'<text {place} x="{at}%" dx="5" y="{y + tall / 2 + 4:g}"{hidden}>{text(happening.name, 14)}</text>'
            )
        return drawn

    def _told(self, mark: DrawnMark) -> str:
        """The tooltip of a mark: what happened, by which extension, when, and the detail."""
        happening = mark.first
        detail = happening.detail if len(happening.detail) <= self._detail else happening.detail[: self._detail] + "…"
        noun = _NOUNS.get(happening.kind) or WORDS.get(_symbol(happening), happening.kind)
        what = f"{noun} {happening.name[:60]}".strip()
        if mark.count > 1:
            what = f"{mark.count:,} times {noun}" + (f", the first: {happening.name[:60]}" if happening.name else "")
            if 0 < mark.bad < mark.count:
                what += f", {mark.bad:,} of them bad"
        if happening.extension:
            what += (
                f" · {happening.extension[:60]}"
                if happening.kind != "intercept"
                else f" · blocked by {happening.extension[:60]}"
            )
        return "\n".join(part for part in (what, self._when(mark), detail) if part)

    def _when(self, mark: DrawnMark) -> str:
        if not self._timed:
            return ""
        happening = mark.first
        said = elapsed(happening.begin)
        if mark.count > 1:
            said += f" to {elapsed(mark.end or happening.begin)}"
            return said if mark.longest is None else f"{said}, the longest took {elapsed(mark.longest)}"
        if mark.longest is not None:
            return f"at {said}, took {elapsed(mark.longest)}"
        started = self._recording.started
        clock = clock_text(None if started is None else started + happening.begin)
        return f"at {said}" + (f" ({clock[11:19]})" if clock else "")
