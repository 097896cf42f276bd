"""`zot runs`: a line for each run of the past."""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING

from cli.columns import cut_line, fit_columns, print_table
from cli.json_line import print_json
from cli.logs.timed_lines import since_ms
from cli.runs.cells import cost, fallen, falls_by_extension, record, took, when
from cli.terminal import complain, say, table_width, terminal_text
from supervisor.home.zot_home import zot_home
from supervisor.traces.places import TIME_LENGTH, new_id
from supervisor.traces.trace_reader import read_traces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from supervisor.traces.trace_reader import RunTrace

HEADINGS = ("ID", "STARTED", "TOOK", "KIND", "OUTCOME", "EXTENSIONS", "COST", "FOLDER")
RIGHT = (2, 6)
GIVES_WAY = (7, 6, 1, 3)
"""Columns that are left out on a terminal that is too narrow, the least important first. The id has the start, too."""
FOLDER_COLUMNS = 30
"""Maximum characters of a folder on a terminal: its end, which tells most."""
SHOWN = 50


def list_runs(*, failed: bool, extension: str | None, since: str | None, most: int | None, as_json: bool) -> int:
    """Prints a line for each run; returns the exit status. Without `most` JSON lines have all runs, and the table the
    last `SHOWN`. Raises `CommandLineError`."""
    wanted = _wanted(since_runs(since, "runs"), failed=failed, extension=extension)
    if as_json:
        for run in islice(wanted, most):
            print_json(record(run))
        return 0
    most = most or SHOWN
    found = list(islice(wanted, most + 1))
    if not found:
        among = "no such run" if failed or extension or since else "no run"
        say(f"zot runs: {among} has left a trace in {zot_home() / 'runs'}")
        return 0
    print_runs(found[:most])
    if len(found) > most:
        say(f"zot runs: only the last {most} are shown; -n N shows more, --since 1d those of the last day")
    return 0


def since_runs(since: str | None, command: str) -> Iterator[RunTrace]:
    """The runs that began after the moment of `--since`, the newest first. Names damaged traces on stderr. Raises
    `CommandLineError`."""
    earliest = None if since is None else since_ms(since) / 1000
    return _since(read_traces(zot_home(), lambda line: complain(command, line)), earliest)


def _since(runs: Iterator[RunTrace], earliest: float | None) -> Iterator[RunTrace]:
    first = "" if earliest is None else new_id(earliest, 0)[:TIME_LENGTH]
    for run in runs:
        if run.id[:TIME_LENGTH] < first:
            return
        yield run


def _wanted(runs: Iterator[RunTrace], *, failed: bool, extension: str | None) -> Iterator[RunTrace]:
    for run in runs:
        if (not failed or run.has_failed) and (extension is None or extension in falls_by_extension(run)):
            yield run


def print_runs(runs: list[RunTrace]) -> None:
    width, now = table_width(), time.time()
    lines = fit_columns([HEADINGS, *(_cells(run, now, width) for run in runs)], width, GIVES_WAY, RIGHT)
    print_table([cut_line(line, width) for line in lines])


def _cells(run: RunTrace, now: float, width: int | None) -> tuple[str, ...]:
    head = run.header
    folder = terminal_text(head.folder or head.cwd)
    if width is not None and len(folder) > FOLDER_COLUMNS:
        folder = "…" + folder[1 - FOLDER_COLUMNS :]
    return (
        terminal_text(run.id),
        when(head.time),
        took(run, now),
        head.kind,
        terminal_text(run.outcome, 40),
        fallen(run),
        cost(run),
        folder,
    )
