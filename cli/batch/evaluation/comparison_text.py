"""A comparison of batches for a person: the batches, each one against the base, and the tasks that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.batch.evaluation.comparison import Verdict
from cli.batch.evaluation.estimate_text import difference_text, estimate_text, method_text
from cli.batch.evaluation.task_table import task_name
from cli.columns import align_columns, fit_columns
from cli.number_format import count_text, dollars, elapsed, plural, short
from wire.text import one_line, valid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agent.batch.evaluation.comparison import BatchToCompare, Comparison, Pair
    from agent.batch.evaluation.repetitions import TaskRepetitions

MOST_TASKS = 50
"""Tasks that the list shows; CSV and JSON have all."""
MOST_IDS = 5
STYLES = {Verdict.WON: "green", Verdict.LOST: "red"}
Part = tuple[str, str]
"""Text and style of a part of a line."""


def comparison_lines(
    batches: Sequence[BatchToCompare], found: Sequence[Comparison], width: int | None
) -> Iterator[list[Part]]:
    """Lines, each in parts. Columns of the first table give way until its lines have at most `width` columns."""
    has_scores = any(batch.results.has_partial_scores for batch in batches)
    yield from _table(_batch_rows(batches, has_scores=has_scores), width)
    for one in found:
        yield []
        yield [(heading(one), "bold")]
        rows = [("", name_of(one.base), name_of(one.other), "difference"), *figures(one)]
        for line in align_columns(rows, right={1, 2}):
            yield [(f"  {line}".rstrip(), "")]
    if told := notes(batches, found):
        yield []
        yield from ([(note, "")] for note in told)
    if method := method_text(estimate for one in found for estimate in (one.score.estimate, one.pass_at_1.estimate)):
        yield []
        yield [(method, "dim")]
    yield from _tasks(batches, found, has_scores=has_scores)


def name_of(batch: BatchToCompare) -> str:
    """Its folder, as the user has named it, from its end if it is long."""
    name = one_line(valid_text(batch.name), 4096)
    return name if len(name) <= 40 else f"…{name[-39:]}"


def _table(rows: Sequence[Sequence[str]], width: int | None) -> Iterator[list[Part]]:
    last = len(rows[0]) - 1
    heading, *others = fit_columns(rows, width, [last, last - 1], right=range(1, last + 1))
    yield [(heading, "bold")]
    for line in others:
        yield [(line, "")]


def _batch_rows(batches: Sequence[BatchToCompare], *, has_scores: bool) -> list[list[str]]:
    titles = ["batch", "tasks", "reps", "faults", "not run", "pass@1", *(["score"] if has_scores else [])]
    rows = [titles]
    for batch in batches:
        of = batch.results
        counts = [len(of.tasks), of.count, of.faults, of.not_run]
        estimates = [of.pass_at(1), *([of.score()] if has_scores else [])]
        rows.append([name_of(batch), *map(count_text, counts), *map(estimate_text, estimates)])
    return rows


def heading(one: Comparison) -> str:
    """`runs-b against runs-a, 38 tasks in both: 9 won, 4 lost, 25 same; 2 missing`."""
    won, lost, same, missing = (count_text(one.counts[verdict]) for verdict in Verdict)
    return (
        f"{name_of(one.other)} against {name_of(one.base)}, {plural(len(one.common), 'task')} in both: "
        f"{won} won, {lost} lost, {same} same; {missing} missing"
    )


def figures(one: Comparison) -> list[tuple[str, str, str, str]]:
    """For each figure its name, that of the base, that of the other batch, and the difference or ratio."""
    least = "≥ " if one.has_unknown_cost else ""

    def row(name: str, pair: Pair, text: Callable[[float], str], change: str = "") -> tuple[str, str, str, str]:
        ratio = "-" if pair.ratio is None else f"{short(pair.ratio)} times"
        base, other = ("-" if value is None else text(value) for value in (pair.base, pair.other))
        return name, base, other, change or ratio

    differences = [("pass@1", one.pass_at_1), *([("mean score", one.score)] if one.has_partial_scores else [])]
    return [
        *(row(name, found.means, short, difference_text(found.estimate)) for name, found in differences),
        row("tokens", one.tokens, lambda value: count_text(round(value))),
        row("cost", one.cost, lambda value: least + dollars(value)),
        row("time", one.seconds, lambda value: elapsed(round(value, 3))),
    ]


def notes(batches: Sequence[BatchToCompare], found: Sequence[Comparison]) -> list[str]:
    """Facts without which a reader would trust the figures too much."""
    told = []
    for one in found:
        names = f"{name_of(one.base)} and {name_of(one.other)}"
        if one.changed:
            ids = ", ".join(map(task_name, one.changed[:MOST_IDS]))
            more = f" and {count_text(len(one.changed) - MOST_IDS)} more" if len(one.changed) > MOST_IDS else ""
            tasks = plural(len(one.changed), "task asks or checks", "tasks ask or check")
            told.append(f"{tasks} something else in {names}: {ids}{more}")
        if one.base.results.has_scores != one.other.results.has_scores and one.common:
            scored, bare = (one.base, one.other) if one.base.results.has_scores else (one.other, one.base)
            told.append(
                f"{name_of(scored)} has scores and {name_of(bare)} has none: they are compared by what has passed"
            )
    told += [
        f"{name_of(batch)}: {count_text(batch.results.unscored)} without a score are left out; "
        "zot batch score --missing scores them"
        for batch in batches
        if batch.results.unscored
    ]
    return told


def _tasks(batches: Sequence[BatchToCompare], found: Sequence[Comparison], *, has_scores: bool) -> Iterator[list[Part]]:
    """The tasks that are not the same everywhere."""
    listed = dict.fromkeys(task for one in found for task in one.verdicts)
    differing = [task for task in listed if any(one.verdicts.get(task) is not Verdict.SAME for one in found)]
    if not differing:
        return
    rows = [["task", *map(name_of, batches)]]
    styles = []
    for task in differing[:MOST_TASKS]:
        verdicts = [one.verdicts.get(task, Verdict.MISSING) for one in found]
        cells = [result_text(batch.results.tasks.get(task), has_scores=has_scores) for batch in batches]
        told = [f"{cell}  {verdict.value}" for cell, verdict in zip(cells[1:], verdicts, strict=True)]
        rows.append([task_name(task), cells[0], *told])
        styles.append(STYLES.get(verdicts[0], "") if len(found) == 1 else "")
    yield []
    for line, style in zip(align_columns(rows), ["bold", *styles], strict=True):
        yield [(line, style)]
    if len(differing) > MOST_TASKS:
        yield [(f"and {plural(len(differing) - MOST_TASKS, 'task')} more that differ; --format csv has all", "")]


def result_text(of: TaskRepetitions | None, *, has_scores: bool) -> str:
    """`3 of 4`, with the mean score if there are scores: `0.75 (3 of 4)`; else why nothing counts."""
    if of is None:
        return "not in it"
    if not of.count:
        if of.unscored:
            return "no score"
        return plural(of.faults, "fault") if of.faults else "not run"
    passed = f"{count_text(of.passed)} of {count_text(of.count)}"
    return f"{short(of.score or 0)} ({passed})" if has_scores else passed
