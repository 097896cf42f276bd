"""`zot batch results`."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from cli.batch.folder.output_file import OutputFile, deliver
from cli.batch.folder.shared_options import Folders, Statuses, run_and_exit
from cli.parameters import Prefer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent.batch.journal.shards import BatchResults
    from cli.choices import Preferred


class ResultsFormat(Enum):
    jsonl = "jsonl"
    csv = "csv"
    junit = "junit"


class ResultsBy(Enum):
    task = "task"


def register(app: typer.Typer) -> None:
    app.command("results")(results)


def results(
    folders: Folders,
    form: Annotated[
        ResultsFormat | None,
        typer.Option(
            "--format",
            help="Print JSON Lines, a CSV table, or JUnit's XML for CI. Default: jsonl; with --by task a table.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        ResultsBy | None,
        typer.Option("--by", help="Sum up the repetitions of each task, with pass@k and the estimates for all tasks."),
    ] = None,
    status: Statuses = None,
    failed: Annotated[bool, typer.Option("--failed", help="Take only tasks that are done and not ok.")] = False,
    output: OutputFile = None,
    prefer: Prefer = None,
) -> None:
    """Print the result of each task, in the order of the tasks.

    Each line has id, status, attempt, text, usage, cost_usd, reserved_usd (the maximum that requests of unknown cost
    may have cost), times and meta, see zot schema batch.result. The command only reads: use it also while the batch
    runs. Tasks that are not done have no line. Of several RUNDIRs, such as shards of one tasks file, each task has one
    line; if they contradict each other, nothing is printed without --prefer.

    With --by task there is one row for each task (repetitions, passed, faults, mean score, pass@k, tokens, US dollars,
    seconds), and the estimates for all tasks with their 95 % intervals.

    Exit status: 0 printed, whatever the statuses are; 1 a journal is damaged or FILE cannot be written, 2 a RUNDIR is
    no folder of a batch, they contradict each other, or misuse, 130 the reader of stdout has gone.

    Examples:
        zot batch results runs | jq -r .text                    the answers
        zot batch results runs --failed | jq -c '[.id,.reason]' what has failed, and why
        zot batch results runs --status timeout --status error  only timeouts and errors
        zot batch results runs --format csv -o results.csv      for a spreadsheet
        zot batch results runs --format junit -o junit.xml      for a CI job
        zot batch results runs --by task                        of repeated tasks: pass@k, with intervals
        zot batch results part1 part2 --prefer ok               shards, read as one batch
    """
    run_and_exit("results", lambda: _run(folders, form, by, status or [], prefer, failed=failed, output=output))


def _run(
    folders: list[str],
    form: ResultsFormat | None,
    by: ResultsBy | None,
    statuses: list[str],
    prefer: Preferred | None,
    *,
    failed: bool,
    output: str | None,
) -> int:
    from agent.batch.journal.formats import FORMATS
    from cli.batch.folder.shared_options import NOT_RUN, check_statuses, read_results
    from cli.choices import CommandLineError
    from wire.batch.outcome import TaskStatus

    wanted = check_statuses(statuses)
    if failed:
        if wanted:
            raise CommandLineError("--failed and --status exclude each other: leave one of them out")
        wanted = frozenset(status.value for status in TaskStatus if status is not TaskStatus.OK)
    if by is not None:
        if wanted:
            raise CommandLineError("--by task needs all results: leave --failed and --status out")
        if form is ResultsFormat.junit:
            raise CommandLineError("--by task has no form for JUnit: use --format jsonl or csv, or leave it out")
        lines = _lines_by_task(read_results(folders, prefer), form, output)
        deliver(lines, output, is_json=form is ResultsFormat.jsonl)
        return 0
    found = read_results(folders, prefer)
    if wanted:
        found = found.only(frozenset(TaskStatus(word) for word in wanted - {NOT_RUN}), not_run=NOT_RUN in wanted)
    form = form or ResultsFormat.jsonl
    deliver(FORMATS[form.value](found), output, is_json=form is ResultsFormat.jsonl)
    return 0


def _lines_by_task(results: BatchResults, form: ResultsFormat | None, output: str | None) -> Iterable[bytes]:
    from agent.batch.evaluation.evaluation import read_evaluation
    from cli.batch.evaluation.records import task_csv_lines, task_json_lines
    from cli.batch.evaluation.task_table import task_lines
    from cli.terminal import table_width

    found = read_evaluation(results)
    if form is not None:
        return (task_csv_lines if form is ResultsFormat.csv else task_json_lines)(found)
    width = table_width() if output in (None, "-") else None
    return (f"{line}\n".encode("utf-8", "replace") for line in task_lines(found, width))
