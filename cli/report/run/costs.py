"""The table of costs, a row for each extension."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from cli.number_format import bytes_text, count_text, dollars, duration_text, short
from cli.report.page.table import Cell, TableColumn, number_cell, section, table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cli.report.input.recorded_run import ExtensionFigures
    from wire.events import HostedShare

FIGURES_SHOWN = 6
"""The most figures that are shown at once. With name, state and the two small lines these are ten columns."""
ROWS = 1000
"""The most rows of a page."""


class CostColumn(msgspec.Struct, frozen=True):
    """A column of the table. `value` returns None without this figure; `label` is the text of a value."""

    title: str
    hint: str
    value: Callable[[ExtensionFigures], float | None]
    label: Callable[[float], str]
    has_bar: bool = False
    is_bad: bool = False
    """Whether a value above 0 is marked as bad."""
    is_rare: bool = False
    """Whether the column is left out if all its values are 0."""

    def figure(self, extension: ExtensionFigures) -> float | None:
        """The figure of an extension; None if it is not known."""
        value = self.value(extension)
        return value if value or extension.is_counted else None


def _count(value: float) -> str:
    return count_text(int(value))


def _share_s(hosted: HostedShare | None) -> float | None:
    return None if hosted is None or hosted.cpu_share_ms is None else hosted.cpu_share_ms / 1000


def _rare(title: str, hint: str, value: Callable[[ExtensionFigures], float | None]) -> CostColumn:
    """The column of a count that is bad, and mostly 0."""
    return CostColumn(title, hint, value, _count, is_bad=True, is_rare=True)


COLUMNS = (
    CostColumn(
        "CPU",
        "processor seconds of the whole tree",
        lambda extension: extension.cpu_s if extension.has_processes else None,
        lambda value: f"{short(value)} s",
        True,
    ),
    CostColumn(
        "peak RSS",
        "highest resident size",
        lambda extension: extension.rss_peak_bytes if extension.has_processes else None,
        bytes_text,
        True,
    ),
    CostColumn(
        "CPU share",
        "of a host's process, by this run's part of its busy time",
        lambda extension: _share_s(extension.hosted),
        lambda value: f"~{short(value)} s",
    ),
    CostColumn(
        "host's memory",
        "highest resident size of a host's process, once for all its runs",
        lambda extension: None if extension.hosted is None else extension.hosted.rss_peak_bytes,
        bytes_text,
    ),
    CostColumn("calls", "requests that waited for an answer", lambda extension: extension.calls, _count, True),
    CostColumn("p50", "half of the answers were faster", lambda extension: extension.p50_ms, duration_text),
    CostColumn("p99", "one answer in a hundred was slower", lambda extension: extension.p99_ms, duration_text),
    CostColumn("errors", "calls that failed", lambda extension: extension.errors, _count, is_bad=True),
    _rare("timeouts", "calls without an answer in time", lambda extension: extension.timeouts),
    CostColumn("blocks", "what it refused as a guard", lambda extension: extension.blocks, _count),
    CostColumn("exits", "processes that ended, orderly stops included", lambda extension: extension.exits, _count),
    _rare("unexpected exits", "exits without a request", lambda extension: extension.unexpected_exits),
    CostColumn("restarts", "how often it was brought back", lambda extension: extension.restarts, _count, is_bad=True),
    _rare("limits", "times over a limit", lambda extension: extension.limit_breaches),
    CostColumn("frames in", "frames that it sent", lambda extension: extension.frames_in, _count),
    CostColumn("frames out", "frames that it was sent", lambda extension: extension.frames_out, _count),
    CostColumn("bytes in", "bytes that it sent", lambda extension: extension.bytes_in, bytes_text),
    CostColumn("bytes out", "bytes that it was sent", lambda extension: extension.bytes_out, bytes_text),
    CostColumn(
        "definitions",
        "tokens of its tools in each request, by estimate",
        lambda extension: extension.definition_tokens,
        _count,
    ),
    CostColumn(
        "model tokens",
        "tokens of its tools' definitions and results in all requests to the model",
        lambda extension: extension.model_tokens,
        _count,
    ),
    CostColumn("dollars", "US dollars of its model tokens", lambda extension: extension.model_usd, dollars, True),
    _rare("lost", "events and notes dropped", lambda extension: extension.lost),
    _rare("junk", "lines on its stdout that were no frames", lambda extension: extension.junk_lines),
)
"""The columns after the name and the state, in the order of the page. The first two get small lines from the script."""
FIRST = (
    "CPU", "peak RSS", "CPU share", "host's memory", "unexpected exits", "restarts", "limits", "timeouts", "errors",
    "calls", "p99", "p50", "blocks", "lost", "junk", "exits",
)  # fmt: skip
"""The columns by importance; others follow. One with zeros only comes behind all others."""
LAST_BEFORE_EXIT = "restarts"
"""The column of the last exit follows this one."""
IN_CLIENT_NOTE = "CPU time and memory of an extension in the client program are the program's own, and unknown here."

HOSTED_NOTE = (
    "Of an extension in a host, the run has a share of its CPU time, and its memory is there once for all runs."
)


def costs(figures: Sequence[ExtensionFigures], ids: dict[str, str]) -> str:
    """The section with the table; empty without extensions. `ids` has the ids of the rows."""
    if not figures:
        return ""
    shown = sorted(figures, key=lambda extension: (-extension.cpu_s, -extension.rss_peak_bytes, extension.name))
    known = [
        cost
        for cost in COLUMNS
        if cost in COLUMNS[:2]
        or cost.title == LAST_BEFORE_EXIT
        or any(cost.figure(extension) is not None for extension in shown)
    ]
    held = [cost for cost in known if not cost.is_rare or any(cost.figure(extension) for extension in shown)]
    zeros = ", ".join(cost.title for cost in known if cost not in held)
    has_fallen = any(extension.unexpected_exits for extension in shown)
    at_once = most_important(held, shown)[: FIGURES_SHOWN - has_fallen]
    columns = [
        TableColumn("extension", "sort by name", is_text=True, is_name=True),
        TableColumn("state", "at the end of the recording", is_text=True),
        *(
            TableColumn(cost.title, cost.hint, has_bar=cost.has_bar, is_folded=cost.title not in at_once)
            for cost in held
        ),
    ]
    exit_at = next(index for index, column in enumerate(columns, 1) if column.title == LAST_BEFORE_EXIT)
    last_exit = TableColumn("last exit", "how its last process ended", is_text=True, is_folded=not has_fallen)
    columns.insert(exit_at, last_exit)
    rows = (_row(extension, held, exit_at) for extension in shown[:ROWS])
    left_out = f" The first {ROWS:,} of {len(shown):,}." if len(shown) > ROWS else ""
    left_out += f" 0 everywhere: {zeros}." if zeros else ""
    left_out += f" {IN_CLIENT_NOTE}" if any(extension.in_client for extension in shown) else ""
    left_out += f" {HOSTED_NOTE}" if any(extension.hosted for extension in shown) else ""
    return section(
        "costs",
        "Cost of each extension",
        f"Over the whole recording and its process tree.{left_out}",
        table(
            "Costs",
            columns,
            rows,
            ids=[ids[extension.name] for extension in shown[:ROWS]],
            sorted_by=2,
            filter_hint="Filter by name or state",
        ),
    )


def most_important(held: Sequence[CostColumn], figures: Sequence[ExtensionFigures]) -> list[str]:
    """The titles of the columns by importance; the first two always come first, for their small lines."""

    def weight(cost: CostColumn) -> tuple[bool, int]:
        place = FIRST.index(cost.title) if cost.title in FIRST else len(FIRST)
        return place > 1 and not any(cost.figure(extension) for extension in figures), place

    return [cost.title for cost in sorted(held, key=weight)]


def _row(extension: ExtensionFigures, held: Sequence[CostColumn], exit_at: int) -> list[Cell]:
    cells = [
        Cell(extension.name, hint=extension.name),
        Cell(
            extension.state,
            style=state_class(extension),
            hint=extension.failure,
            note=_where(extension),
        ),
        *(number_cell(cost.figure(extension), cost.label, is_bad=cost.is_bad) for cost in held),
    ]
    cells.insert(exit_at, Cell(extension.exit_status or "-"))
    return cells


def _where(extension: ExtensionFigures) -> str:
    """Where its process is, if it is not the run's own."""
    if extension.hosted is not None:
        return f"{extension.hosted.mode}, in host {extension.hosted.pid}"
    return "in the client program" if extension.in_client else ""


def state_class(extension: ExtensionFigures) -> str:
    """The style of a state: good, bad, waits or plain."""
    if extension.state == "failed":
        return "bad"
    return {"ready": "good", "asleep": "good", "backoff": "waits"}.get(extension.state, "plain")
