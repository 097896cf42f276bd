"""The tasks of a batch by what they have in common: the values of their `meta`, and the task that they repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.number_format import dollars, elapsed, percent_text, plural, short
from cli.report.batch.overview import count_label
from cli.report.markup import text
from cli.report.page.table import Cell, TableColumn, number_cell, section, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cli.report.batch.figures import BatchFigures, TaskFigures
    from cli.report.batch.tables import Links

VALUES = 12
"""Maximum number of values of a `meta` key that divide the tasks into kinds."""
KEYS = 6
"""Maximum number of `meta` keys with a table."""
REPEATED_ROWS, REPEATED_HELD = 12, 5000
"""Rows of the table of repeated tasks: shown at once, and in all."""
MISSING = "(none)"


def values_by_key(tasks: Sequence[TaskFigures]) -> dict[str, dict[str, list[TaskFigures]]]:
    """The tasks by the values of each `meta` key that has few: at least 2, at most `VALUES`, and each for two tasks on
    average. Tasks without the key are under `MISSING`."""
    found: dict[str, dict[str, list[TaskFigures]]] = {}
    for key in dict.fromkeys(key for task in tasks for key in task.meta):
        kinds: dict[str, list[TaskFigures]] = {}
        for task in tasks:
            kinds.setdefault(task.meta.get(key, MISSING), []).append(task)
            if len(kinds) > VALUES:
                break
        if 2 <= len(kinds) <= VALUES and 2 * len(kinds) <= len({task.base for task in tasks}):
            found[key] = dict(sorted(kinds.items()))
    return found


def by_meta(batch: BatchFigures) -> str:
    """The section with a table for each key; empty without one."""
    found = values_by_key(batch.tasks)
    if not found:
        return ""
    value = TableColumn("value", is_text=True, is_name=True)
    shown = "".join(
        f"<div><h3><bdi>{text(key)}</bdi></h3>{_table(key, value, kinds)}</div>"
        for key, kinds in list(found.items())[:KEYS]
    )
    more = f" {plural(len(found) - KEYS, 'more key is', 'more keys are')} not shown." if len(found) > KEYS else ""
    caption = f"Each key of <code>meta</code> that has few values.{more}"
    return section("meta", "By kind of task", caption, f'<div class="pair">{shown}</div>')


def by_repeated_task(batch: BatchFigures, links: Links) -> str:
    """The section with each task that is repeated; empty if none is."""
    repeated: dict[str, list[TaskFigures]] = {}
    for task in batch.tasks:
        if task.repeat:
            repeated.setdefault(task.base, []).append(task)
    if not repeated:
        return ""
    order = sorted(repeated.items(), key=lambda item: rate if (rate := pass_rate(item[1])) is not None else 101)
    shown = dict(order[:REPEATED_HELD])
    left = len(order) - len(shown)
    more = f" {plural(left, 'task')} with higher rates are left out." if left > 0 else ""
    told = _table(
        "Repeated tasks",
        TableColumn("task", is_text=True, is_name=True),
        shown,
        lambda base: links.cell(_example(repeated[base]), base),
        counted="runs",
        shown_rows=REPEATED_ROWS,
    )
    return section(
        "repeated",
        "Repeated tasks",
        f"The lowest rate first. A name leads to the first repetition that has not passed, else to the first.{more}",
        told,
    )


def _example(tasks: Sequence[TaskFigures]) -> str:
    return next((task.id for task in tasks if task.has_failed or (task.is_ok and not task.has_passed)), tasks[0].id)


def _table(
    label: str,
    name: TableColumn,
    kinds: Mapping[str, Sequence[TaskFigures]],
    cell: Callable[[str], Cell] = Cell,
    *,
    counted: str = "tasks",
    shown_rows: int = 0,
) -> str:
    held = {title: [value(tasks) for tasks in kinds.values()] for title, (_, value, _) in _COLUMNS.items()}
    titles = [title for title, values in held.items() if title not in _MISSING_OFTEN or any(values)]
    if "mean score" not in titles and any(score is not None for score in held["mean score"]):  # all are 0
        titles.insert(titles.index("cost"), "mean score")
    columns = [
        name,
        *(
            TableColumn(counted if title == "tasks" else title, _COLUMNS[title][0], has_bar=title == "pass rate")
            for title in titles
        ),
    ]
    rows = (
        [cell(kind), *(number_cell(held[title][at], _COLUMNS[title][2]) for title in titles)]
        for at, kind in enumerate(kinds)
    )
    return table(label, columns, rows, shown=shown_rows)


def _faults(tasks: Iterable[TaskFigures]) -> int:
    return sum(task.final is not None and not task.is_counted for task in tasks)


def pass_rate(tasks: Iterable[TaskFigures]) -> float | None:
    """Percent that have passed, of those that count; None if none counts."""
    counted = [task for task in tasks if task.is_counted]
    return 100 * sum(task.has_passed for task in counted) / len(counted) if counted else None


def mean_score(tasks: Iterable[TaskFigures]) -> float | None:
    """None without scores."""
    scores = [score for task in tasks if task.is_counted and (score := task.score) is not None]
    return sum(scores) / len(scores) if scores else None


def _known_cost(tasks: Iterable[TaskFigures]) -> float | None:
    costs = [one.cost_usd for task in tasks for one in task.attempts if one.cost_usd is not None]
    return sum(costs) if costs else None


def _mean_time(tasks: Iterable[TaskFigures]) -> float | None:
    times = [told.duration_s for task in tasks if (told := task.told) is not None]
    return sum(times) / len(times) if times else None


_COLUMNS: dict[str, tuple[str, Callable[[Sequence[TaskFigures]], float | None], Callable[[float], str]]] = {
    "tasks": ("", len, count_label),
    "passed": (
        "ok, and with a score of 1 or more if it has one",
        lambda tasks: sum(task.has_passed for task in tasks),
        count_label,
    ),
    "faults": ("ended by a fault: in no rate", _faults, count_label),
    "not run": ("without an end", lambda tasks: sum(task.final is None for task in tasks), count_label),
    "pass rate": ("of those that have ended without a fault", pass_rate, percent_text),
    "mean score": ("", mean_score, short),
    "cost": ("of all attempts whose cost is known", _known_cost, dollars),
    "mean time": ("of the attempts that count", _mean_time, elapsed),
}
"""Hint, value of some tasks, and text of each column of numbers."""
_MISSING_OFTEN = ("faults", "not run", "mean score")
"""Columns that are left out where no row has a value, or all have 0."""
