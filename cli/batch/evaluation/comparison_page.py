"""A comparison of batches as a page for a browser: one file that works alone and fetches nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.batch.evaluation.comparison import Verdict
from cli.batch.evaluation.comparison_text import figures, heading, name_of, notes, result_text
from cli.batch.evaluation.estimate_text import difference_text, estimate_text, method_text, signed
from cli.number_format import count_text, plural
from cli.report.markup import text
from cli.report.page.document import chart_document
from cli.report.page.table import Cell, TableColumn, number_cell, section, table
from cli.report.page.top import Tile, tile_row, top

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.batch.evaluation.comparison import BatchToCompare, Comparison

STYLES = {Verdict.WON: "good", Verdict.LOST: "bad", Verdict.SAME: "plain", Verdict.MISSING: "waits"}
ROWS = 100
"""Maximum number of rows that the script shows at once."""
ROWS_HELD = 20_000
"""Maximum number of tasks on the page; those that differ come first."""


def render_comparison(batches: Sequence[BatchToCompare], found: Sequence[Comparison], *, version: str) -> str:
    """The HTML of the page."""
    has_scores = any(batch.results.has_partial_scores for batch in batches)
    names = [name_of(batch) for batch in batches]
    title = (
        f"{names[1]} against {names[0]}" if len(found) == 1 else f"{count_text(len(found))} batches against {names[0]}"
    )
    tiles = _tiles(found[0]) if len(found) == 1 else ()
    body = top(title, [], notes(batches, found)) + tile_row(tiles) + _batches(batches, has_scores=has_scores)
    body += "".join(_comparison(at, one) for at, one in enumerate(found, 1))
    body += _tasks(batches, found, has_scores=has_scores)
    return chart_document(text(title, 100), body, {}, version=version, source=", ".join(names))


def _tiles(one: Comparison) -> list[Tile]:
    value, _, interval = difference_text(one.score.estimate).partition(" ")
    what = "the mean score" if one.has_partial_scores else "pass@1"
    return [
        Tile("Won", count_text(one.counts[Verdict.WON])),
        Tile("Lost", count_text(one.counts[Verdict.LOST])),
        Tile("Same", count_text(one.counts[Verdict.SAME])),
        Tile("Missing", count_text(one.counts[Verdict.MISSING]), "no result that counts in one of both"),
        Tile(f"Difference of {what}", value, f"95 %: {interval.strip('()')}" if interval else ""),
    ]


def _batches(batches: Sequence[BatchToCompare], *, has_scores: bool) -> str:
    columns = [TableColumn("batch", is_text=True, is_name=True), *map(TableColumn, ("tasks", "repetitions", "faults"))]
    columns += [TableColumn("not run"), TableColumn("pass@1")]
    columns += [TableColumn("mean score")] if has_scores else []
    rows = []
    for batch in batches:
        of = batch.results
        counts = [(len(of.tasks), False), (of.count, False), (of.faults, True), (of.not_run, False)]
        estimates = [of.pass_at(1), *([of.score()] if has_scores else [])]
        rows.append(
            [
                Cell(name_of(batch)),
                *(number_cell(count, lambda value: count_text(round(value)), is_bad=bad) for count, bad in counts),
                *(Cell(estimate_text(one), one.value) for one in estimates),
            ]
        )
    caption = (
        "Each with all of its own results. Faults are runs that say nothing about the agent; they count nowhere else."
    )
    return section("batches", "The batches", caption, table("Batches", columns, rows))


def _comparison(number: int, one: Comparison) -> str:
    columns = [TableColumn("of a repetition", is_text=True, is_name=True)]
    columns += [TableColumn(name_of(one.base)), TableColumn(name_of(one.other)), TableColumn("difference or ratio")]
    rows = [[Cell(cell) for cell in row] for row in figures(one)]
    method = method_text([one.score.estimate, one.pass_at_1.estimate])
    caption = f"Means over the {plural(len(one.common), 'task')} with results in both.{f' {method}.' if method else ''}"
    return section(f"comparison-{number}", text(heading(one)), caption, table(f"Comparison {number}", columns, rows))


def _tasks(batches: Sequence[BatchToCompare], found: Sequence[Comparison], *, has_scores: bool) -> str:
    listed = list(dict.fromkeys(task for one in found for task in one.verdicts))
    differing = {task for task in listed if any(one.verdicts.get(task) is not Verdict.SAME for one in found)}
    shown = sorted(listed, key=lambda task: task not in differing)[:ROWS_HELD]
    columns = [TableColumn("task", is_text=True, is_name=True)]
    is_one = len(found) == 1
    columns += [TableColumn("verdict" if is_one else name_of(one.other), is_text=True) for one in found]
    columns += [TableColumn(name_of(batch), is_text=True) for batch in batches]
    columns += [TableColumn("difference" if is_one else f"difference of {name_of(one.other)}") for one in found]
    changed = {task for one in found for task in one.changed}
    rows = []
    for task in shown:
        verdicts = [one.verdicts.get(task, Verdict.MISSING) for one in found]
        results = [result_text(batch.results.tasks.get(task), has_scores=has_scores) for batch in batches]
        rows.append(
            [
                Cell(task, note="asks something else" if task in changed else ""),
                *(Cell(verdict.value, style=STYLES[verdict]) for verdict in verdicts),
                *map(Cell, results),
                *(number_cell(one.difference(task), signed) for one in found),
            ]
        )
    left = len(listed) - len(shown)
    more = f" {plural(left, 'task')} at the end of the order are left out." if left > 0 else ""
    return section(
        "compared",
        "All tasks",
        f"Passed repetitions of those that count{', after their mean score' if has_scores else ''}. Tasks that differ "
        f"come first.{more}",
        table("All tasks", columns, rows, filter_hint="Filter by id or verdict", shown=ROWS),
    )
