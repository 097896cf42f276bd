"""The results of a batch by task, as a table for a person, with the estimates from all tasks below it."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

from cli.batch.evaluation.estimate_text import estimate_text, method_text
from cli.columns import align_columns, fit_columns
from cli.number_format import count_text, dollars, elapsed, plural, short
from wire.text import one_line, valid_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.batch.evaluation.evaluation import Evaluation
    from agent.batch.evaluation.repetitions import TaskRepetitions

NAME_LENGTH = 60
Column = tuple[str, "Callable[[TaskRepetitions], str]"]


def task_lines(results: Evaluation, width: int | None) -> list[str]:
    """The heading, a line for each task, an empty line and the estimates. Columns give way until lines have at most
    `width` columns; None means any width."""
    ks = results.ks()
    columns: list[Column] = [("reps", lambda of: count_text(of.count)), ("passed", lambda of: count_text(of.passed))]
    if results.faults:
        columns.append(("faults", lambda of: count_text(of.faults)))
    if results.not_run:
        columns.append(("not run", lambda of: count_text(of.not_run)))
    if results.unscored:
        columns.append(("no score", lambda of: count_text(of.unscored)))
    if results.has_partial_scores:
        columns.append(("score", lambda of: _number(of.score)))
    first_k = len(columns) + 1
    columns += [(f"pass@{k}", _pass_at(k)) for k in ks]
    columns += [
        ("tokens", lambda of: count_text(of.tokens)),
        ("cost", cost_text),
        ("time", lambda of: elapsed(round(of.seconds, 1))),
    ]
    rows = [["task", *(title for title, _ in columns)]]
    rows += [[task_name(task), *(text(of) for _, text in columns)] for task, of in results.tasks.items()]
    count = len(columns)
    gives_way = [count, count - 2, *range(first_k + 1, first_k + len(ks) - 1), count - 1]
    lines = fit_columns(rows, width, gives_way, right=range(1, count + 1))
    return [*lines, "", *total_lines(results)]


def _pass_at(k: int) -> Callable[[TaskRepetitions], str]:
    return lambda of: _number(of.pass_at(k))


def _number(value: float | None) -> str:
    return "-" if value is None else short(value)


def task_name(task: str) -> str:
    return one_line(valid_text(task), NAME_LENGTH)


def cost_text(of: TaskRepetitions) -> str:
    return f"{'≥ ' if of.unknown_costs else ''}{dollars(of.known_cost_usd)}"


def total_lines(results: Evaluation) -> list[str]:
    """Sums and estimates of all tasks."""
    tasks = results.tasks.values()
    parts = [plural(len(tasks), "task"), f"{plural(results.count, 'repetition')} that {_verb(results.count)}"]
    if results.faults:
        parts.append(plural(results.faults, "fault"))
    if results.not_run:
        parts.append(f"{count_text(results.not_run)} not run")
    if results.unscored:
        parts.append(f"{count_text(results.unscored)} without a score")
    cost = f"{'≥ ' if any(of.unknown_costs for of in tasks) else ''}{dollars(fsum(of.known_cost_usd for of in tasks))}"
    tokens, seconds = sum(of.tokens for of in tasks), fsum(of.seconds for of in tasks)
    sums = f"{plural(tokens, 'token')}, {cost}, {elapsed(round(seconds, 1))} of runs"
    estimates = [(f"pass@{k}", results.pass_at(k), k) for k in results.ks()]
    if results.has_partial_scores:
        estimates.append(("mean score", results.score(), 1))
    rows = [(name, estimate_text(one), _left_out(len(tasks) - one.tasks, least)) for name, one, least in estimates]
    shown = [line.rstrip() for line in align_columns(rows)] if rows else []
    method = method_text(one for _, one, _ in estimates)
    return [", ".join(parts), sums, *shown, *([method] if method else [])]


def _verb(count: int) -> str:
    return "counts" if count == 1 else "count"


def _left_out(count: int, least: int) -> str:
    """The tasks that are not in an estimate, which takes `least` repetitions."""
    why = "no repetition counts" if least == 1 else f"fewer than {least} repetitions count"
    return f"{plural(count, 'task')} left out: {why}" if count else ""
