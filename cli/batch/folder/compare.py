"""`zot batch compare`."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.batch.completion import folders
from cli.batch.folder.output_file import OutputFile, deliver
from cli.batch.folder.shared_options import open_folder, run_and_exit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent.batch.evaluation.comparison import BatchToCompare, Comparison
    from agent.batch.journal.folder import RunFolder


class ComparisonFormat(Enum):
    text = "text"
    json = "json"
    csv = "csv"
    html = "html"


def register(app: typer.Typer) -> None:
    app.command("compare")(compare)


def compare(
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="RUNDIR RUNDIR...",
            help="The folders of the batches; the first is the base, against which each of the others is held.",
            autocompletion=folders,
        ),
    ],
    form: Annotated[
        ComparisonFormat,
        typer.Option("--format", help="Print text, one JSON object, a CSV table, or a page for a browser."),
    ] = ComparisonFormat.text,
    output: OutputFile = None,
) -> None:
    """Compare batches task by task: what is won, lost or the same, and how much better, dearer or slower it is.

    Tasks are the same by their ids; repetitions of a task count together. The differences of pass@1 and of the mean
    score are paired, task by task. If 0 is not in the 95 % interval of a difference, it is hardly chance. Tokens, US
    dollars and seconds are means of a repetition. All of these are over the tasks with results in both; the others are
    missing. A batch that runs or was stopped is compared by what it has so far, and what was not run is counted.

    Tasks that ask or check something else in both batches are named. The text lists the tasks that differ, the other
    formats all tasks.

    Exit status: 0 compared, 1 a journal is damaged or FILE cannot be written, 2 a RUNDIR is no folder of a batch or is
    named twice, two batches have no task in common, or misuse, 130 the reader of stdout has gone.

    Examples:
        zot batch compare runs-a runs-b                          in the terminal
        zot batch compare runs-a runs-b runs-c --format csv      a row for each task and each batch
        zot batch compare runs-a runs-b --format json | jq .comparisons
        zot batch compare runs-a runs-b --format html -o c.html  a page for a browser
    """
    run_and_exit("compare", lambda: _run(given, form, output))


def _run(given: Sequence[str], form: ComparisonFormat, output: str | None) -> int:
    from agent.batch.evaluation.comparison import NoCommonTasksError, compare_batches
    from agent.batch.journal.errors import FolderError
    from cli.choices import CommandLineError

    if len(given) < 2:
        raise CommandLineError("it takes two RUNDIRs at least: the base, and one to hold against it")
    opened = [open_folder(folder) for folder in given]
    named: dict[Any, str] = {}
    for folder, name in zip(opened, given, strict=True):
        if (before := named.setdefault(folder.path.resolve(), name)) is not name:
            raise FolderError(f"{before} and {name} are the same folder; name each batch once")
    batches = [_read(folder, name) for folder, name in zip(opened, given, strict=True)]
    try:
        found = compare_batches(batches)
    except NoCommonTasksError as error:
        raise FolderError(str(error)) from None
    if form is ComparisonFormat.text and output in (None, "-"):
        _print(batches, found)
    else:
        deliver(_lines(batches, found, form), output, is_json=form is ComparisonFormat.json)
    return 0


def _read(folder: RunFolder, name: str) -> BatchToCompare:
    from agent.batch.evaluation.comparison import BatchToCompare
    from agent.batch.evaluation.evaluation import read_evaluation
    from agent.batch.evaluation.task_versions import task_versions
    from agent.batch.journal.shards import BatchResults, read_shard

    results = read_evaluation(BatchResults([read_shard(folder)]))
    return BatchToCompare(name, results, task_versions(folder.read_tasks(), _score(folder)))


def _score(folder: RunFolder) -> str | None:
    """The `score` command of all tasks; None without one."""
    from agent.batch.opening.settings import FLAGS

    batch = folder.read_batch()
    flags = batch.settings.get(FLAGS) if batch is not None else None
    score = flags.get("score") if isinstance(flags, dict) else None
    return score if isinstance(score, str) else None


def _print(batches: Sequence[BatchToCompare], found: Sequence[Comparison]) -> None:
    from cli.batch.evaluation.comparison_text import comparison_lines
    from cli.styled_lines import StyledLines
    from cli.terminal import table_width

    lines = StyledLines()
    for parts in comparison_lines(batches, found, table_width()):
        lines.put(*parts)


def _lines(batches: Sequence[BatchToCompare], found: Sequence[Comparison], form: ComparisonFormat) -> Iterable[bytes]:
    from cli.batch.evaluation.comparison_text import comparison_lines
    from cli.batch.evaluation.records import comparison_csv_lines, comparison_json

    if form is ComparisonFormat.json:
        return comparison_json(batches, found)
    if form is ComparisonFormat.csv:
        return comparison_csv_lines(batches, found)
    if form is ComparisonFormat.html:
        from cli.batch.evaluation.comparison_page import render_comparison
        from cli.version import VERSION

        return [render_comparison(batches, found, version=VERSION).encode("utf-8", "replace")]
    lines = comparison_lines(batches, found, None)
    return ("".join(text for text, _style in parts).encode("utf-8", "replace") + b"\n" for parts in lines)
