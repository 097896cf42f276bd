"""`zot batch logs`."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from cli.batch.completion import task_ids
from cli.batch.folder.log_lines import POLL_S, PersonLog, lines_of, print_raw
from cli.batch.folder.shared_options import Folder, complain, open_folder, run_and_exit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent.batch.journal.folder import RunFolder
    from wire.batch.outcome import Outcome

EVENTS = ".events.jsonl"


def register(app: typer.Typer) -> None:
    app.command("logs")(logs)


def logs(
    folder: Folder,
    task: Annotated[
        str | None, typer.Argument(metavar="[TASK]", help="The id of the task.", autocompletion=task_ids)
    ] = None,
    attempt: Annotated[
        int | None,
        typer.Option(help="Show attempt number N. Default: the last one.", metavar="N", min=1, show_default=False),
    ] = None,
    stderr: Annotated[bool, typer.Option("--stderr", help="Show what the run wrote to its stderr.")] = False,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on until the attempt or the batch ends.")] = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print the events as JSON lines: unchanged, with --failed as zot batch --json."),
    ] = False,
    failed: Annotated[
        bool, typer.Option("--failed", help="Show each task that is done and not ok, its failed check first.")
    ] = False,
    most: Annotated[
        int | None, typer.Option("-n", help="With --failed: show at most N tasks. Default: all.", metavar="N", min=1)
    ] = None,
) -> None:
    """Show what happened in the run of a task, from its events, and how its setup, its check and the task ended.

    With --failed it shows this of each failed task, in the order of the tasks: of the attempt that counts.

    Exit status: 0 shown, 1 the task has not run or its files cannot be read, 2 there is no such task, RUNDIR is no
    folder of a batch, or misuse; 130 Ctrl-C, or the reader of stdout has gone.

    Examples:
        zot batch logs runs fix-12                   messages, tools, and what it has cost
        zot batch logs runs fix-12 --attempt 1       of the attempt before the retry
        zot batch logs runs fix-12 -f                while it runs
        zot batch logs runs fix-12 --stderr          warnings, and why it could not start
        zot batch logs runs fix-12 --json | jq .type its events
        zot batch logs runs --failed -n 3            the first three that failed, and why
    """
    if failed:
        others: dict[str, object] = {"TASK": task, "--attempt": attempt, "-f": follow}
        run_and_exit("logs", lambda: _show_failed(folder, others, most, stderr=stderr, as_json=as_json))
    else:
        run_and_exit("logs", lambda: _run(folder, task, attempt, most, stderr=stderr, follow=follow, as_json=as_json))


def _show_failed(folder: str, others: dict[str, object], most: int | None, *, stderr: bool, as_json: bool) -> int:
    from cli.batch.folder.failed_logs import show_failed
    from cli.choices import CommandLineError

    for name, given in others.items():
        if given:
            raise CommandLineError(f"--failed and {name} exclude each other: leave one of them out")
    _refuse_both(stderr=stderr, as_json=as_json)
    return show_failed(folder, most, stderr=stderr, as_json=as_json)


def _refuse_both(*, stderr: bool, as_json: bool) -> None:
    from cli.choices import CommandLineError

    if stderr and as_json:
        raise CommandLineError("--stderr and --json exclude each other: stderr is no JSON")


def _run(
    folder: str, task: str | None, attempt: int | None, most: int | None, *, stderr: bool, follow: bool, as_json: bool
) -> int:
    from cli.choices import CommandLineError
    from wire.exit_codes import Status

    if most is not None:
        raise CommandLineError("-n is for --failed only; leave it out")
    if not task:
        raise CommandLineError("name a task of the batch, or --failed for all that have failed")
    _refuse_both(stderr=stderr, as_json=as_json)
    batch = open_folder(folder)
    _require(batch, task)
    number = attempt or max(attempts_in(batch.run(task)), default=0)
    path = batch.stderr(task, number) if stderr else batch.events(task, number)
    if number and not stderr and os.path.lexists(path):
        _note_other_attempts(batch, task, number, is_chosen=attempt is not None)
    if not number or not os.path.lexists(path):
        which = f"attempt {attempt}" if attempt is not None else "run yet"
        complain("logs", f"task {task} has no {which}; zot batch status {folder} says what is done")
        return Status.ERROR.exit_code
    person = None if stderr or as_json else PersonLog()
    show = person.show if person is not None else print_raw
    is_over = (lambda: not batch.running()[0]) if follow else (lambda: True)
    for line in lines_of(path, is_over):
        if show(line) and follow:
            break
    if person is not None and (outcome := _outcome(batch, task, number, is_over)) is not None:
        person.end(outcome)
    return 0


def _outcome(batch: RunFolder, task: str, attempt: int, is_over: Callable[[], bool]) -> Outcome | None:
    """How the attempt ended, once the journal has it: after its run comes `check`. None if it has not by the time
    `is_over`. Raises `JournalError`."""
    from agent.batch.journal.reader import read_journal
    from agent.batch.journal.shards import outcome_of_attempt

    while True:
        was_over = is_over()
        if was_over or read_journal(batch.journal).state.history(task).running != attempt:  # texts are read once
            return outcome_of_attempt(batch, task, attempt)
        sys.stdout.flush()
        time.sleep(POLL_S)


def _require(batch: RunFolder, task: str) -> None:
    """Raises `CommandLineError` if the batch has no such task."""
    from cli.choices import CommandLineError
    from wire.suggestions import no_such

    known = [found.id for found in batch.read_tasks()]
    if task not in known and not batch.run(task).is_dir():
        raise CommandLineError(no_such("task in this batch", task, known))


def attempts_in(run: Path) -> list[int]:
    """The attempts that have files in the folder of a task. Raises `FolderError`, `OSError`."""
    from agent.batch.journal.rundir_files import IN_RUNS, rundir_names

    try:
        names = rundir_names(run, depth=IN_RUNS - 1)
    except FileNotFoundError:
        return []
    numbers = (name.removesuffix(EVENTS) for name in names if name.endswith(EVENTS))
    return sorted(int(number) for number in numbers if number.isdecimal())


def _note_other_attempts(batch: RunFolder, task: str, number: int, *, is_chosen: bool) -> None:
    others = len(attempts_in(batch.run(task)))
    if others > 1 and not is_chosen:
        complain("logs", f"this is attempt {number} of {others}; --attempt shows another one")
