"""The lanes of the timeline as the data that the script draws, and their marks as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.number_format import clock_text, count_text, elapsed, plural
from cli.report.input.recorded_run import SourceKind
from cli.report.markup import NAME_CHARACTERS
from cli.report.page.table import Cell, TableColumn, figure, section, table
from cli.report.run.timeline import PROMINENT, DrawnMark, Lane, LaneKind, lanes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.report.input.recorded_run import Happening, RecordedRun

DETAILS = 200_000
"""The most characters of all details together."""
ROWS = 300
"""The most rows of the table."""
WORDS = {
    "started": "started",
    "restarted": "restarted",
    "reloaded": "reloaded",
    "exited": "ended by itself",
    "stopped": "stopped by the user",
    "failed": "given up",
    "limit": "over a limit",
    "no_verdict": "no verdict",
    "warning": "warning",
    "error": "error",
    "blocked": "blocked",
    "call": "call failed",
}
"""The kinds of happenings that are points, and not bars. The script has a symbol for each."""
_TITLES = {LaneKind.TURNS: "Turns", LaneKind.TOOLS: "Tools", LaneKind.GUARDS: "Intercepts", LaneKind.RUN: "The run"}
_BAD = {"tool_call": ", failed", "intercept": ", blocked"}
_NOUNS = {"turn": "turn", "tool_call": "tool call", "intercept": "intercept"}


def timeline(recording: RecordedRun, ids: dict[str, str]) -> tuple[str, dict[str, Any]]:
    """The section with all lanes, and their data; both empty if nothing happened. `ids` has the ids of the rows in the
    table of costs."""
    lanes = lanes_of(recording.happenings, recording.end)
    if not lanes:
        return "", {}
    marks = sum(len(lane.marks) for lane in lanes)
    words = _Words(recording, min(400, max(60, DETAILS // marks)))
    caption = "In order, not in time: each event has the same width." if recording.source is SourceKind.EVENTS else ""
    if any(mark.count > 1 for lane in lanes for mark in lane.marks):
        total = sum(lane.total for lane in lanes)
        caption = f"{caption} {total:,} events: neighbours of one kind share a mark, which tells how many.".strip()
    data = {
        "lanes": [_lane(lane, ids, words) for lane in lanes],
        "words": WORDS,
        "shown": sum(lane.kind is not LaneKind.EXTENSION for lane in lanes) + PROMINENT,
    }
    return section("timeline", "Events", caption, figure("lanes", _table(lanes, words))), data


def _lane(lane: Lane, ids: dict[str, str], words: _Words) -> dict[str, Any]:
    own = lane.kind is LaneKind.EXTENSION
    return {
        "kind": lane.kind.value,
        "name": lane.name[:NAME_CHARACTERS] if own else _TITLES[lane.kind],
        "row": ids[lane.name] if own else "",
        "total": lane.total,
        "rows": lane.rows,
        "lives": [(round(begin, 6), round(until, 6), life.value) for begin, until, life in lane.lives],
        "marks": [words.mark(mark, own=own) for mark in lane.marks],
    }


def _table(lanes: Sequence[Lane], words: _Words) -> str:
    """At most `ROWS` marks in their order; calls and intercepts that went well are the first to be left out. Failed
    calls of extensions are in two lanes, and here once."""
    told = {id(mark.first): mark for lane in lanes for mark in lane.marks}
    noteworthy = sorted(told.values(), key=_went_well)[:ROWS]
    marks = sorted(noteworthy, key=lambda mark: mark.first.begin)
    columns = ("what", "extension", "when", "detail")
    shown = table("Events", [TableColumn(title, is_text=True) for title in columns], map(words.row, marks))
    left_out = f"{count_text(len(told) - ROWS)} more are in the chart only."
    return shown + (f'<p class="caption">{left_out}</p>' if len(told) > ROWS else "")


def _went_well(mark: DrawnMark) -> bool:
    return not mark.bad and mark.first.kind in _BAD


class _Words:
    """Tells what a mark stands for."""

    def __init__(self, recording: RecordedRun, detail: int) -> None:
        """`detail` is the most characters of one detail."""
        self._recording = recording
        self._detail = detail

    def mark(self, mark: DrawnMark, *, own: bool) -> list[Any]:
        """Begin, end, kind, whether it is bad, count, row, label, and what is told of it, in lines. The end of a point
        is None; `own` is for a mark in the lane of an extension."""
        first = mark.first
        kind = _kind(first, own=own)
        until = None if kind in WORDS else round(first.begin if mark.end is None else mark.end, 6)
        label = first.name[:14] if mark.count == 1 and first.kind in ("turn", "tool_call") else ""
        told = "\n".join(part for part in self._told(mark) if part)
        return [round(first.begin, 6), until, kind, int(mark.bad > 0), mark.count, mark.row, label, told]

    def row(self, mark: DrawnMark) -> list[Cell]:
        what, when, detail = self._told(mark)
        ended = _BAD.get(mark.first.kind, "") if mark.bad else ""
        return [*map(Cell, (what.partition(" · ")[0] + ended, mark.first.extension, when, detail))]

    def _told(self, mark: DrawnMark) -> tuple[str, str, str]:
        """The event and its extension, its time, and the detail."""
        first = mark.first
        detail = first.detail if len(first.detail) <= self._detail else first.detail[: self._detail] + "…"
        kind = _kind(first)
        noun = _NOUNS.get(first.kind) or WORDS.get(kind, first.kind)
        what = f"{noun} {first.name[:60]}".strip()
        if mark.count > 1:
            what = f"{plural(mark.count, 'time')} {noun}" + (f", the first: {first.name[:60]}" if first.name else "")
            if 0 < mark.bad < mark.count:
                what += f", {mark.bad:,} of them bad"
        if first.extension:
            what += f" · {'blocked by ' if first.kind == 'intercept' else ''}{first.extension[:60]}"
        return what, self._when(mark), detail

    def _when(self, mark: DrawnMark) -> str:
        if self._recording.source is SourceKind.EVENTS:
            return ""
        first = mark.first
        said = elapsed(first.begin)
        if mark.count > 1:
            said += f" to {elapsed(mark.end or first.begin)}"
            return said if mark.longest is None else f"{said}, the longest took {elapsed(mark.longest)}"
        if mark.longest is not None:
            return f"at {said}, took {elapsed(mark.longest)}"
        started = self._recording.started
        clock = clock_text(None if started is None else started + first.begin)
        return f"at {said}" + (f" ({clock[11:19]})" if clock else "")


def _kind(happening: Happening, *, own: bool = False) -> str:
    """A word of `WORDS` for a point, else the kind of the bar."""
    if happening.kind == "intercept":
        return "blocked" if happening.bad else "intercept"
    return "call" if own and happening.kind == "tool_call" else happening.kind
