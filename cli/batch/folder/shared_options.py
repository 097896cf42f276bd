"""Shared by the commands about the folder of a batch: arguments, reading the folder, and the exit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.batch.completion import folders, statuses, task_ids
from cli.choices import CommandLineError
from cli.os_errors import exit_with, words
from cli.terminal import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agent.batch.journal.folder import RunFolder
    from agent.batch.journal.shards import BatchResults
    from cli.choices import Preferred

NOT_RUN = "not_run"
Folder = Annotated[str, typer.Argument(metavar="RUNDIR", help="The folder of the batch.", autocompletion=folders)]
Folders = Annotated[
    list[str],
    typer.Argument(
        metavar="RUNDIR...", help="The folder of the batch; several are read as one batch.", autocompletion=folders
    ),
]
TaskId = Annotated[str, typer.Argument(metavar="TASK", help="The id of the task.", autocompletion=task_ids)]
Statuses = Annotated[
    list[str] | None,
    typer.Option(
        "--status", help="Take only tasks with this status: error, timeout …; repeatable.", autocompletion=statuses
    ),
]


def run_and_exit(command: str, run: Callable[[], int]) -> None:
    """Runs a command and exits with its status. An error gives one line and status 1, a folder that is no batch's or
    misuse status 2, Ctrl-C 130."""

    def guarded() -> int:
        from agent.batch.journal.errors import FolderError, JournalError
        from wire.exit_codes import Status

        try:
            return run()
        except FolderError as error:
            complain(command, str(error))
            return Status.USAGE.exit_code
        except JournalError as error:
            complain(command, str(error))
            return Status.ERROR.exit_code
        except KeyboardInterrupt:
            return Status.INTERRUPTED.exit_code
        except BrokenPipeError:
            raise
        except OSError as error:
            complain(command, words(error))
            return Status.ERROR.exit_code

    exit_with(f"batch {command}", guarded)


def complain(command: str, text: str) -> None:
    from wire.text import one_line, valid_text

    say(f"zot batch {command}: {one_line(valid_text(text), 4000)}")


def open_folder(folder: str) -> RunFolder:
    """The folder of a batch. Raises `FolderError`."""
    from agent.batch.journal.folder import RunFolder

    return RunFolder.existing(Path(folder).absolute())


def read_results(given: Sequence[str], prefer: Preferred | None = None) -> BatchResults:
    """The results of the batches in these folders, read as one batch. Raises `FolderError` and `JournalError`."""
    from agent.batch.journal.shards import BatchResults, read_shard

    return BatchResults([read_shard(open_folder(folder)) for folder in given], prefer and prefer.value)


def check_statuses(given: Iterable[str]) -> frozenset[str]:
    """The words of --status. Raises `CommandLineError`."""
    from wire.batch.outcome import TaskStatus
    from wire.suggestions import not_one_of

    known = [*(status.value for status in TaskStatus if status is not TaskStatus.INTERRUPTED), NOT_RUN]
    found = frozenset(given)
    for word in sorted(found):
        if word not in known:
            raise CommandLineError(f"--status: {not_one_of(word, known)}")
    return found
