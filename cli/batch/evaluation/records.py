"""Evaluations as JSON objects and rows of CSV."""

from __future__ import annotations

import csv
from io import StringIO
from math import fsum
from typing import TYPE_CHECKING, Any

import msgspec

from agent.batch.journal.formats import plain_cell
from cli.json_line import json_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agent.batch.evaluation.comparison import BatchToCompare, Comparison, Pair
    from agent.batch.evaluation.evaluation import Evaluation
    from agent.batch.evaluation.interval import Estimate
    from agent.batch.evaluation.repetitions import TaskRepetitions

COUNTS = ("repetitions", "passed", "faults", "not_run", "unscored")
USE = ("tokens", "cost_usd", "known_cost_usd", "seconds")


def evaluation_record(results: Evaluation) -> dict[str, Any]:
    """The sums and estimates of a batch."""
    tasks = results.tasks.values()
    passes = {str(k): estimate_record(results.pass_at(k)) for k in results.ks()}
    return {
        "tasks": len(tasks),
        **_counts(tasks),
        "score": estimate_record(results.score()),
        "pass_at": passes,
        **_use(tasks),
    }


def task_record(task: str, of: TaskRepetitions, ks: Sequence[int]) -> dict[str, Any]:
    passes = {str(k): of.pass_at(k) for k in ks}
    return {"task": task, **_counts([of]), "score": of.score, "pass_at": passes, **_use([of])}


def estimate_record(estimate: Estimate) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(estimate)
    return found


def _counts(tasks: Iterable[TaskRepetitions]) -> dict[str, int]:
    found = [(one.count, one.passed, one.faults, one.not_run, one.unscored) for one in tasks]
    return dict(zip(COUNTS, map(sum, zip(*found, strict=True)), strict=True)) if found else dict.fromkeys(COUNTS, 0)


def _use(tasks: Iterable[TaskRepetitions]) -> dict[str, Any]:
    given = list(tasks)
    known_usd = round(fsum(one.known_cost_usd for one in given), 6)
    cost_usd = None if any(one.unknown_costs for one in given) else known_usd
    seconds = round(fsum(one.seconds for one in given), 3)
    return dict(zip(USE, (sum(one.tokens for one in given), cost_usd, known_usd, seconds), strict=True))


# --- results by task -----------------------------------------------------------------------------------------


def task_json_lines(results: Evaluation) -> Iterator[bytes]:
    """One object for each task, and at the end one for all."""
    ks = results.ks()
    for task, of in results.tasks.items():
        yield json_line({"type": "task", **task_record(task, of, ks)})
    yield json_line({"type": "total", **evaluation_record(results)})


def task_csv_lines(results: Evaluation) -> Iterator[bytes]:
    """The header, and a row for each task."""
    ks = results.ks()
    yield _csv_row(["task", *COUNTS, "score", *(f"pass@{k}" for k in ks), *USE])
    for task, of in results.tasks.items():
        found = task_record(task, of, ks)
        counts, use = (found[name] for name in COUNTS), (found[name] for name in USE)
        yield _csv_row([task, *counts, of.score, *found["pass_at"].values(), *use])


def _csv_row(cells: Iterable[object]) -> bytes:
    buffer = StringIO(newline="")
    csv.writer(buffer).writerow([plain_cell(cell) if isinstance(cell, str) else cell for cell in cells])
    return buffer.getvalue().encode("utf-8", "replace")


# --- comparisons ---------------------------------------------------------------------------------------------


def comparison_json(batches: Sequence[BatchToCompare], found: Sequence[Comparison]) -> Iterator[bytes]:
    """One object. The lists of a task have one entry for each batch, null if the batch has no such task."""
    tasks = dict.fromkeys(task for comparison in found for task in comparison.verdicts)
    yield json_line(
        {
            "base": batches[0].name,
            "batches": [{"folder": one.name, **evaluation_record(one.results)} for one in batches],
            "comparisons": [_comparison_record(one) for one in found],
            "tasks": [
                {
                    "task": task,
                    "batches": [
                        None if (of := one.results.tasks.get(task)) is None else task_record(task, of, ())
                        for one in batches
                    ],
                    "verdicts": [verdict.value if (verdict := one.verdicts.get(task)) else "missing" for one in found],
                }
                for task in tasks
            ],
        }
    )


def _comparison_record(one: Comparison) -> dict[str, Any]:
    from agent.batch.evaluation.comparison import Verdict

    def record(pair: Pair) -> dict[str, float | None]:
        return {"base": pair.base, "other": pair.other, "ratio": pair.ratio}

    return {
        "folder": one.other.name,
        **{verdict.value: one.counts[verdict] for verdict in Verdict},
        "pass_at_1": estimate_record(one.pass_at_1.estimate),
        "score": estimate_record(one.score.estimate) if one.has_scores else None,
        "tokens": record(one.tokens),
        "cost_usd": record(one.cost),
        "has_unknown_cost": one.has_unknown_cost,
        "seconds": record(one.seconds),
        "changed": one.changed,
    }


def comparison_csv_lines(batches: Sequence[BatchToCompare], found: Sequence[Comparison]) -> Iterator[bytes]:
    """The header, and a row for each task and each batch, the base first."""
    yield _csv_row(["task", "batch", "verdict", "difference", *COUNTS, "score", *USE, "is_changed"])
    changed = [frozenset(one.changed) for one in found]
    for task in dict.fromkeys(task for comparison in found for task in comparison.verdicts):
        for at, batch in enumerate(batches):
            of = batch.results.tasks.get(task)
            told: list[object] = ["", "", ""]
            if at:
                comparison = found[at - 1]
                verdict = comparison.verdicts[task].value if task in comparison.verdicts else "missing"
                told = [verdict, comparison.difference(task), str(task in changed[at - 1]).lower()]
            record = {} if of is None else task_record(task, of, ())
            figures = (record.get(name) for name in (*COUNTS, "score", *USE))
            yield _csv_row([task, batch.name, *told[:2], *figures, told[2]])
