"""How many tasks of a batch cost how much: histograms as data, which the script draws, and as tables."""

from __future__ import annotations

from math import ceil, floor, log2
from typing import TYPE_CHECKING, Any, NamedTuple

from cli.number_format import dollars, elapsed, plural
from cli.report.batch.overview import count_label
from cli.report.markup import text
from cli.report.page.table import Cell, TableColumn, figure, number_cell, section, table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cli.report.batch.figures import BatchFigures

MOST_BARS = 40
CAPTION = (
    "How many tasks cost how much; the axis is logarithmic. Cost and tokens are those of all attempts of a task, the "
    "time that of the one that counts, pauses included."
)


class Bar(NamedTuple):
    lowest: float
    highest: float
    """Both are 0 for the bar of what is exactly 0."""
    tasks: int


def bars_of(values: Sequence[float]) -> list[Bar]:
    """A histogram with a logarithmic axis: bars of equal width in it, without a gap, and one more for zeros. Two bars
    for each doubling, or fewer if there would be more than `MOST_BARS`."""
    positive = [value for value in values if value > 0]
    zeros = len(values) - len(positive)
    bars = [Bar(0.0, 0.0, zeros)] if zeros else []
    if not positive:
        return bars
    low, high = log2(min(positive)), log2(max(positive))
    fineness = 2.0
    while (high - low) * fineness > MOST_BARS - 2:
        fineness /= 2
    first = floor(low * fineness)
    counts = [0] * (floor(high * fineness) - first + 1)
    for value in positive:
        counts[floor(log2(value) * fineness) - first] += 1
    edges = [2.0 ** ((first + index) / fineness) for index in range(len(counts) + 1)]
    return bars + [Bar(*each) for each in zip(edges[:-1], edges[1:], counts, strict=True)]


def quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that `share` of the values do not exceed. `ordered` is ascending and not empty."""
    return ordered[max(0, min(len(ordered) - 1, ceil(share * len(ordered)) - 1))]


def distribution(title: str, values: Sequence[float], label: Callable[[float], str], aside: str = "") -> dict[str, Any]:
    """The histogram of values of tasks: each bar as its range and its tasks. `aside` says what is not in it."""
    ordered = sorted(values)
    shares = (("half ≤", 0.5), ("9 in 10 ≤", 0.9), ("highest", 1.0)) if values else ()
    return {
        "title": title,
        "tasks": len(values),
        "bars": [
            (label(bar.lowest) if bar.highest == 0 else f"{label(bar.lowest)} to {label(bar.highest)}", bar.tasks)
            for bar in bars_of(values)
        ],
        "told": [(words, label(quantile(ordered, share))) for words, share in shares],
        "aside": aside,
    }


def distributions(batch: BatchFigures) -> tuple[str, list[dict[str, Any]]] | None:
    """The section, and its data; None before the first end of a task."""
    told = [one for task in batch.tasks if (one := task.told) is not None]
    if not told:
        return None
    costs = [cost for task in batch.tasks if (cost := task.cost_usd) is not None]
    unknown = len(told) - len(costs)
    said = f"The cost of {plural(unknown, 'task is', 'tasks are')} unknown, and not in this chart."
    data = [
        distribution("Cost", costs, dollars, said if unknown else ""),
        distribution("Time", [one.duration_s for one in told], elapsed),
        distribution("Tokens", [task.tokens for task in batch.tasks if task.attempts], count_label),
    ]
    tables = "".join(map(_table, data))
    return section("distributions", "Cost, time and tokens of a task", CAPTION, figure("distributions", tables)), data


def _table(data: dict[str, Any]) -> str:
    columns = (TableColumn(data["title"].lower(), is_text=True), TableColumn("tasks"))
    rows = [(Cell(bar), number_cell(tasks, count_label)) for bar, tasks in data["bars"] if tasks]
    told = ", ".join(" ".join(each) for each in data["told"])
    aside = f'<p class="aside">{text(data["aside"])}</p>' if data["aside"] else ""
    return f"<h3>{data['title']}</h3>{table(data['title'], columns, rows)}<p>{text(told)}</p>{aside}"
