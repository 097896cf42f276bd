"""`zot batch logs --failed`: the runs of all tasks that have failed, one after another."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING

from cli.batch.folder.log_lines import PersonLog, lines_of, print_raw
from cli.batch.folder.shared_options import complain, read_results

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent.batch.journal.folder import RunFolder
    from wire.batch.outcome import Outcome


def show_failed(given: str, most: int | None, *, stderr: bool, as_json: bool) -> int:
    """Shows at most `most` of the tasks that are done and not ok. Returns the exit status: 1 if a file of one cannot be
    read; the others are shown. Raises `FolderError`, `JournalError`, `OSError`."""
    from agent.batch.journal.errors import FolderError
    from cli.os_errors import words
    from wire.batch.outcome import TaskStatus

    results = read_results([given]).only([status for status in TaskStatus if status is not TaskStatus.OK])
    (folder,) = (shard.folder for shard in results.shards)
    if not results.done:
        complain("logs", "no task has failed")
    status = 0
    for number, outcome in enumerate(islice(results.outcomes(), most)):
        try:
            if as_json:
                _print_records(folder, outcome)
            else:
                _show(folder, outcome, stderr=stderr, is_first=not number)
        except BrokenPipeError:
            raise
        except (FolderError, OSError) as error:
            complain("logs", f"task {outcome.id}: {words(error) if isinstance(error, OSError) else error}")
            status = 1
    return status


def _show(folder: RunFolder, outcome: Outcome, *, stderr: bool, is_first: bool) -> None:
    person = PersonLog()
    person.begin(outcome, is_first=is_first)
    path = (folder.stderr if stderr else folder.events)(outcome.id, outcome.attempt)
    sys.stdout.flush()
    for line in _lines(path):
        (print_raw if stderr else person.show)(line)
    sys.stdout.buffer.flush()


def _print_records(folder: RunFolder, outcome: Outcome) -> None:
    """Prints the records of a run as `zot batch --json` does, and its `task_end`."""
    from wire.batch.records import TaskEnd, add_task, encode_record

    for line in _lines(folder.events(outcome.id, outcome.attempt)):
        if line.startswith(b"{") and line.endswith(b"}\n"):  # not one that a crash has cut
            print_raw(add_task(line, outcome.id, outcome.attempt))
    print_raw(encode_record(TaskEnd(task=outcome.id, attempt=outcome.attempt, final=True, outcome=outcome)))


def _lines(path: Path) -> Iterator[bytes]:
    """Nothing if there is no such file: a run whose `setup` failed was not started."""
    try:
        yield from lines_of(path, lambda: True)
    except FileNotFoundError:
        return
