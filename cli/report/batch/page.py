"""The page of a batch: one file that works alone and may not fetch anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.number_format import clock_text, count_text, elapsed, plural, short
from cli.report.batch.breakdown import by_meta, by_node, by_repeated_task
from cli.report.batch.distributions import distributions
from cli.report.batch.overview import outcomes, overview
from cli.report.batch.tables import all_tasks, extensions, extremes, failures, pauses, retries
from cli.report.markup import text
from cli.report.page.document import chart_document
from cli.report.page.table import TableColumn, figure, number_cell, section, table

if TYPE_CHECKING:
    from cli.report.batch.figures import BatchFigures
    from cli.report.batch.tables import Links
    from cli.report.batch.workload import Workload

COLUMNS, ROWS = 240, 12
"""Stretches of time in the chart of the runs, and in its table."""
STARTS_MARKED = 40
STEADY = 0.85
"""Mean number of runs, of the highest, from which on a chart of them is one block."""


def render(batch: BatchFigures, links: Links, *, folder: str, pages_said: str, written: str, version: str) -> str:
    """The HTML of the whole page. `folder` has the paths of its folders as a shell takes them; `pages_said` tells which
    tasks have a page of their own; `written` says when the page was made. Parts that tell nothing are left out."""
    data: dict[str, Any] = {"end": batch.workload.end}
    body = overview(batch, folder, written) + all_tasks(batch, links, pages_said)
    body += failures(batch, links) + by_repeated_task(batch, links) + by_meta(batch) + by_node(batch)
    body += outcomes(batch)
    if has_changed(batch.workload):
        columns = batch.workload.columns(COLUMNS)
        data["workload"] = {"end": batch.workload.end, "columns": columns, "starts": _starts(batch.workload)}
        body += _workload(batch)
    if (found := distributions(batch)) is not None:
        shown, data["distributions"] = found
        body += shown
    body += extremes(batch, links) + retries(batch, links) + extensions(batch)
    return chart_document(f"{text(batch.name, 100)}: a batch of zot", body, data, version=version, source=folder)


def has_changed(workload: Workload) -> bool:
    """Whether a chart of the runs tells more than their number: some waited, the batch was started again, or there were
    fewer for a while."""
    columns = workload.columns(COLUMNS)
    if len(workload.starts) > 1 or any(paused for _, paused in columns):
        return bool(columns)
    return workload.most > 1 and sum(running for running, _ in columns) < STEADY * workload.most * len(columns)


def _workload(batch: BatchFigures) -> str:
    workload = batch.workload
    caption = f"At most {plural(workload.most, 'run')} at the same time. The axis is the time of work since the start"
    if len(workload.starts) > 1:
        caption += (
            f"; the batch was started {count_text(len(workload.starts))} times, each start has a line, and what "
            "lies between two of them is left out"
        )
    columns = (TableColumn("from"), TableColumn("running, mean"), TableColumn("paused, mean"))
    rows = [
        (number_cell(workload.end * at / ROWS, elapsed), number_cell(running, short), number_cell(paused, short))
        for at, (running, paused) in enumerate(workload.columns(ROWS))
    ]
    drawn = figure("workload", table("Runs over time", columns, rows))
    return section("workload", "Runs at the same time", f"{caption}.", drawn + pauses(batch))


def _starts(workload: Workload) -> list[tuple[float, str]]:
    """The moment of each start after the first, and what is told of it."""
    return [
        (moment, f"start {count_text(number)}, {clock_text(began)}, {jobs} at a time")
        for number, (moment, began, jobs) in enumerate(workload.starts[1:STARTS_MARKED], 2)
    ]
