"""`zot batch results`."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.batch.folder.shared_options import Folders, Statuses, run_and_exit
from cli.parameters import Prefer

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import IO

    from cli.choices import Preferred


class ResultsFormat(Enum):
    jsonl = "jsonl"
    csv = "csv"
    junit = "junit"


def register(app: typer.Typer) -> None:
    app.command("results")(results)


def results(
    folders: Folders,
    form: Annotated[
        ResultsFormat, typer.Option("--format", help="Print JSON Lines, a CSV table, or JUnit's XML for CI.")
    ] = ResultsFormat.jsonl,
    status: Statuses = None,
    failed: Annotated[bool, typer.Option("--failed", help="Take only tasks that are done and not ok.")] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            help="Write to this file instead of stdout, whole or not at all; an existing file is replaced.",
            metavar="FILE",
        ),
    ] = None,
    prefer: Prefer = None,
) -> None:
    """Print the result of each task, in the order of the tasks.

    Each line has id, status, attempt, text, usage, cost_usd, reserved_usd (the maximum that requests of unknown cost
    may have cost), times and meta, see zot schema batch.result. The command only reads: use it also while the batch
    runs. Tasks that are not done have no line. Of several RUNDIRs, such as shards of one tasks file, each task has one
    line; if they contradict each other, nothing is printed without --prefer.

    Exit status: 0 printed, whatever the statuses are; 1 a journal is damaged or FILE cannot be written, 2 a RUNDIR is
    no folder of a batch, they contradict each other, or misuse, 130 the reader of stdout has gone.

    Examples:
        zot batch results runs | jq -r .text                    the answers
        zot batch results runs --failed | jq -c '[.id,.reason]' what has failed, and why
        zot batch results runs --status timeout --status error  only timeouts and errors
        zot batch results runs --format csv -o results.csv      for a spreadsheet
        zot batch results runs --format junit -o junit.xml      for a CI job
        zot batch results part1 part2 --prefer ok               shards, read as one batch
    """
    run_and_exit("results", lambda: _run(folders, form, status or [], prefer, failed=failed, output=output))


def _run(
    folders: list[str],
    form: ResultsFormat,
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
    found = read_results(folders, prefer)
    if wanted:
        found = found.only(frozenset(TaskStatus(word) for word in wanted - {NOT_RUN}), not_run=NOT_RUN in wanted)
    lines = FORMATS[form.value](found)
    if output is None or output == "-":
        sys.stdout.buffer.writelines(_clean_for(sys.stdout.buffer, lines, form))
    else:
        _write(Path(output), lines, form)
    return 0


def _clean_for(stream: IO[bytes], lines: Iterable[bytes], form: ResultsFormat) -> Iterable[bytes]:
    """On a terminal the lines without control characters."""
    from wire.text import printable, printable_json

    if not stream.isatty():
        return lines
    if form is ResultsFormat.jsonl:
        return map(printable_json, lines)
    return (printable(line.decode("utf-8", "replace")).encode() for line in lines)


def _write(path: Path, lines: Iterable[bytes], form: ResultsFormat) -> None:
    from cli.choices import CommandLineError
    from supervisor.home.safe_files import replacement

    if not path.name or path.is_dir():
        raise CommandLineError(f"-o {path}: a folder; name the file in it")
    if path.exists() and not path.is_file():  # a device, a pipe: there is nothing to replace
        with path.open("wb") as file:
            file.writelines(_clean_for(file, lines, form))
        return
    with replacement(path, 0o666) as file:
        file.writelines(lines)
