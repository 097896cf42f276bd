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


def labelled_bars(bars: Sequence[Bar], label: Callable[[float], str]) -> list[tuple[str, int]]:
    """The bars with their ranges in words. A bar whose ends are the same words is one with the next: no two ranges
    read alike."""
    found: list[tuple[str, int]] = []
    begin, tasks = "", 0
    for bar in bars:
        if bar.highest == 0:
            found.append((label(0.0), bar.tasks))
            continue
        begin, end, tasks = begin or label(bar.lowest), label(bar.highest), tasks + bar.tasks
        if begin != end:
            found.append((f"{begin} to {end}", tasks))
            begin, tasks = "", 0
    if begin and tasks:
        found.append((f"{begin} or more", tasks))
    return found


def distribution(title: str, values: Sequence[float], label: Callable[[float], str], aside: str = "") -> dict[str, Any]:
    """The histogram of values of tasks: each bar as its range and its tasks. `aside` says what is not in it."""
    ordered = sorted(values)
    shares = (("half ≤", 0.5), ("9 in 10 ≤", 0.9), ("highest", 1.0)) if values else ()
    return {
        "title": title,
        "tasks": len(values),
        "bars": labelled_bars(bars_of(values), label),
        "told": [(words, label(quantile(ordered, share))) for words, share in shares],
        "aside": aside,
    }


def distributions(batch: BatchFigures) -> tuple[str, list[dict[str, Any]]] | None:
    """The section, and its data; None if no histogram would have two bars."""
    told = [one for task in batch.tasks if (one := task.told) is not None]
    costs = [cost for task in batch.tasks if (cost := task.cost_usd) is not None]
    unknown = len(told) - len(costs)
    said = f"The cost of {plural(unknown, 'task is', 'tasks are')} unknown, and not in this chart."
    data = [
        distribution("Cost", costs, dollars, said if unknown else ""),
        distribution("Time", [one.duration_s for one in told], elapsed),
        distribution("Tokens", [task.tokens for task in batch.tasks if task.attempts], count_label),
    ]
    alike = [each for each in data if not _is_spread(each)]
    data = [each for each in data if _is_spread(each)]
    if not data:
        return None
    said = "".join(
        f" {each['title']} of {plural(each['tasks'], 'task')}: {each['bars'][0][0]}." for each in alike if each["bars"]
    )
    tables = "".join(map(_table, data))
    told_of = " and ".join(", ".join(each["title"].lower() for each in data).rsplit(", ", 1)).capitalize()
    shown = section("distributions", f"{told_of} of a task", CAPTION + text(said), figure("distributions", tables))
    return shown, data


def _is_spread(data: dict[str, Any]) -> bool:
    bars: list[tuple[str, int]] = data["bars"]
    return sum(tasks > 0 for _, tasks in bars) > 1


def _table(data: dict[str, Any]) -> str:
    columns = (TableColumn(data["title"].lower(), is_text=True), TableColumn("tasks"))
    rows = [(Cell(bar), number_cell(tasks, count_label)) for bar, tasks in data["bars"] if tasks]
    told = ", ".join(" ".join(each) for each in data["told"])
    aside = f'<p class="aside">{text(data["aside"])}</p>' if data["aside"] else ""
    return f"<h3>{data['title']}</h3>{table(data['title'], columns, rows)}<p>{text(told)}</p>{aside}"
