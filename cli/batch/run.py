"""Carries out `zot batch TASKS -o RUNDIR`: reads the tasks, runs the batch, and shows it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agent.batch.tasks.check import check_tasks
from agent.batch.tasks.faults import TasksError
from agent.batch.tasks.filter import SelectionError
from agent.batch.tasks.read import read_tasks
from cli.dialogue import say
from supervisor.process import fd_limit
from wire.exit_codes import Status

if TYPE_CHECKING:
    from cli.batch.asked import AskedBatch
    from wire.batch.task import Task

INTERRUPTED = Status.INTERRUPTED.exit_code


def run_batch(asked: AskedBatch) -> int:
    """Returns the exit status."""
    fd_limit.check_least()
    try:
        found = read_tasks(asked.tasks, template=asked.template, base=Path.cwd())
        tasks = asked.selection.apply(found.tasks)
        if not tasks:
            raise SelectionError("--slice, --filter, --limit and --shard leave no task")
        if (faults := check_tasks(tasks, found.lines, asked.request)) is not None:
            raise faults
    except (TasksError, SelectionError) as error:
        return complain(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    for remark in found.remarks:
        say(f"zot batch: {remark}")
    return start(asked, tasks)


def start(asked: AskedBatch, tasks: list[Task]) -> int:
    """Runs these tasks; returns the exit status."""
    raise NotImplementedError


def complain(text: str) -> int:
    """Says each line of the text, and returns the exit status of misuse."""
    for line in text.splitlines():
        say(f"zot batch: {line}")
    return Status.USAGE.exit_code
