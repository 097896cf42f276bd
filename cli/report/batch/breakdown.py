"""The tasks of a batch by what they have in common: values of their `meta`, their node, the task that they repeat."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cli.number_format import dollars, elapsed, percent_text, plural, short
from cli.report.batch.figures import evaluate
from cli.report.batch.overview import count_label, percent_of_one, range_text
from cli.report.markup import text
from cli.report.page.table import Cell, TableColumn, number_cell, section, table
from wire.batch.outcome import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agent.batch.evaluation.evaluation import Evaluation
    from cli.report.batch.figures import BatchFigures, TaskFigures
    from cli.report.batch.tables import Links

VALUES = 12
"""Maximum number of values of a `meta` key that divide the tasks into kinds."""
KEYS = 6
"""Maximum number of `meta` keys with a table."""
REPEATED_ROWS, REPEATED_HELD = 12, 5000
"""Rows of the table of repeated tasks: shown at once, and in all."""
NODE_ROWS = 20
"""Rows of the table of nodes that are shown at once."""
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


def by_node(batch: BatchFigures) -> str:
    """The section with a row for each node that tasks ran on; empty with fewer than two."""
    nodes: dict[str, list[TaskFigures]] = {}
    for task in batch.tasks:
        if task.node:
            nodes.setdefault(task.node, []).append(task)
    if len(nodes) < 2:
        return ""
    kinds = dict(sorted(nodes.items()))
    attempts = (one for task in batch.tasks for one in task.attempts)
    cut_off = sum(one.status is TaskStatus.INTERRUPTED for one in attempts if one.node)
    more = f" {plural(cut_off, 'attempt was', 'attempts were')} interrupted." if cut_off else ""
    told = _table("Nodes", TableColumn("node", is_text=True, is_name=True), kinds, shown_rows=NODE_ROWS)
    return section("nodes", "By node", f"A task counts for the node of its attempt that counts.{more}", told)


def by_repeated_task(batch: BatchFigures, links: Links) -> str:
    """The section with each task that is repeated; empty if none is."""
    repeated: dict[str, list[TaskFigures]] = {}
    for task in batch.tasks:
        if task.repeat:
            repeated.setdefault(task.base, []).append(task)
    if not repeated:
        return ""
    rates = {base: pass_rate(evaluate(tasks)) for base, tasks in repeated.items()}
    order = sorted(repeated.items(), key=lambda item: rate if (rate := rates[item[0]]) is not None else math.inf)
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
    caption = (
        f"{_estimates(batch)}. pass@k is the chance that at least one of k runs of a task passes; ranges are 95 % "
        f"intervals. Below, the lowest rate comes first; a name leads to the first run that has not passed.{more}"
    )
    return section("repeated", "Repeated tasks", caption, told)


def _estimates(batch: BatchFigures) -> str:
    found = evaluate(batch.tasks)
    told = [(f"pass@{k}", found.pass_at(k), percent_of_one) for k in found.ks()]
    if found.has_partial_scores:
        told.append(("mean score", found.score(), short))
    return (
        "; ".join(
            f"{name} {label(one.value)}{range_text(one, label)}" for name, one, label in told if one.value is not None
        )
        or "No run counts"
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
    found = [(tasks, evaluate(tasks)) for tasks in kinds.values()]
    held = {title: [value(*each) for each in found] for title, (_, value, _) in _COLUMNS.items()}
    titles = [
        title
        for title, values in held.items()
        if any(values) or (title not in _ZERO_OFTEN and any(value is not None for value in values))
    ]
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


def pass_rate(found: Evaluation) -> float | None:
    """pass@1 in percent; None if no run counts."""
    rate = _mean(task.pass_at(1) for task in found.tasks.values())  # an interval takes a thousand times as long
    return None if rate is None else 100 * rate


def mean_score(found: Evaluation) -> float | None:
    """None without scores."""
    return _mean(task.score for task in found.tasks.values()) if found.has_scores else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _known_cost(tasks: Iterable[TaskFigures]) -> float | None:
    costs = [one.cost_usd for task in tasks for one in task.attempts if one.cost_usd is not None]
    return sum(costs) if costs else None


def _mean_time(tasks: Iterable[TaskFigures]) -> float | None:
    return _mean(told.duration_s for task in tasks if (told := task.told) is not None)


_COLUMNS: dict[str, tuple[str, Callable[[Sequence[TaskFigures], Evaluation], float | None], Callable[[float], str]]] = {
    "tasks": ("", lambda tasks, _: len(tasks), count_label),
    "passed": (
        "ok, and with a score of 1 or more if it has one",
        lambda _, found: sum(task.passed for task in found.tasks.values()),
        count_label,
    ),
    "faults": ("ended by a fault: in no rate", lambda _, found: found.faults, count_label),
    "no score": ("their score command told none: in no rate", lambda _, found: found.unscored, count_label),
    "not run": ("without an end", lambda _, found: found.not_run, count_label),
    "pass rate": ("of those that have ended without a fault", lambda _, found: pass_rate(found), percent_text),
    "mean score": ("", lambda _, found: mean_score(found), short),
    "cost": ("of all attempts whose cost is known", lambda tasks, _: _known_cost(tasks), dollars),
    "mean time": ("of the attempts that count", lambda tasks, _: _mean_time(tasks), elapsed),
}
"""Hint, value of some tasks, and text of each column of numbers."""
_ZERO_OFTEN = ("faults", "no score", "not run")
"""Columns that are left out where all values are 0."""
