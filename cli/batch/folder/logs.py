"""`zot batch logs`."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from cli.batch.folder.shared_options import Folder, TaskId, complain, open_folder, run_and_exit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agent.batch.journal.folder import RunFolder
    from wire.batch.outcome import Outcome

POLL_S = 0.2
"""Seconds between two reads of a file that grows."""
BLOCK = 64 * 1024
LINE_LIMIT = 16 << 20
"""Maximum part of a line in memory, in bytes."""
EVENTS = ".events.jsonl"


def register(app: typer.Typer) -> None:
    app.command("logs")(logs)


def logs(
    folder: Folder,
    task: TaskId,
    attempt: Annotated[
        int | None,
        typer.Option(help="Show attempt number N. Default: the last one.", metavar="N", min=1, show_default=False),
    ] = None,
    stderr: Annotated[bool, typer.Option("--stderr", help="Show what the run wrote to its stderr.")] = False,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on until the attempt or the batch ends.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the events unchanged, as JSON lines.")] = False,
) -> None:
    """Show what happened in the run of a task, from its events, and how its setup, its check and the task ended.

    Exit status: 0 shown, 1 the task has not run or its files cannot be read, 2 there is no such task, RUNDIR is no
    folder of a batch, or misuse; 130 Ctrl-C, or the reader of stdout has gone.

    Examples:
        zot batch logs runs fix-12                   messages, tools, and what it has cost
        zot batch logs runs fix-12 --attempt 1       of the attempt before the retry
        zot batch logs runs fix-12 -f                while it runs
        zot batch logs runs fix-12 --stderr          warnings, and why it could not start
        zot batch logs runs fix-12 --json | jq .type its events
    """
    run_and_exit("logs", lambda: _run(folder, task, attempt, stderr=stderr, follow=follow, as_json=as_json))


def _run(folder: str, task: str, attempt: int | None, *, stderr: bool, follow: bool, as_json: bool) -> int:
    from cli.choices import CommandLineError
    from wire.exit_codes import Status

    if stderr and as_json:
        raise CommandLineError("--stderr and --json exclude each other: stderr is no JSON")
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
    person = None if stderr or as_json else _Person()
    show = person.show if person is not None else _raw
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


def lines_of(path: Path, is_over: Callable[[], bool]) -> Iterator[bytes]:
    """The lines of a file of a run, each with its LF if it has one; one that is too long comes in pieces. At its end
    they go on until `is_over`. Raises `FolderError`, `OSError`."""
    from agent.batch.journal.rundir_files import IN_RUNS, open_rundir_file

    rest = b""
    with open(open_rundir_file(path, depth=IN_RUNS), "rb") as file:
        while True:
            was_over = is_over()  # before the read, so that the last bytes are read, too
            while data := file.read(BLOCK):
                *whole, rest = (rest + data).split(b"\n")
                yield from (line + b"\n" for line in whole)
                if len(rest) > LINE_LIMIT:
                    yield rest
                    rest = b""
            if was_over:
                break
            sys.stdout.flush()
            time.sleep(POLL_S)
    if rest:
        yield rest


def _raw(line: bytes) -> bool:
    """Prints the piece; on a terminal without control characters. Returns whether it is the last record of a run."""
    from wire.text import printable

    if sys.stdout.isatty():
        line = printable(line.decode("utf-8", "replace")).encode("utf-8", "replace")
    sys.stdout.buffer.write(line)
    return line.startswith(b'{"type":"done"')


class _Person:
    """Shows records to a person."""

    def __init__(self) -> None:
        from cli.run.run_view import RunPrinter

        self._view = RunPrinter()
        self._broken: list[str] = []
        self._view.on_broken = self._broken.append
        self._status = ""
        """In the last `result` record."""

    def show(self, line: bytes) -> bool:
        """Shows the record of a line. Returns whether it is the last one of the run. Raises `OSError`."""
        import msgspec

        from wire import events

        try:
            record = events.decode(line)
        except msgspec.DecodeError:  # cut by a crash, or of a newer version
            return False
        if isinstance(record, events.Result):
            self._status = record.status
            self._view.costs(record)
        else:
            self._view.show(record)
        self._raise_if_broken()
        return isinstance(record, events.Done)

    def end(self, outcome: Outcome) -> None:
        """Shows how the attempt ended. Raises `OSError`."""
        self._view.outcome(outcome, self._status)
        self._raise_if_broken()

    def _raise_if_broken(self) -> None:
        if self._broken:
            raise BrokenPipeError if not self._broken[0] else OSError(self._broken[0])
