"""Carries out `zot batch TASKS -o RUNDIR`: reads the tasks, runs the batch, and shows it."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING

from agent.batch.journal.errors import FolderError
from agent.batch.journal.folder import RunFolder
from agent.batch.opening.backlog import RedoError
from agent.batch.tasks.check import check_tasks
from agent.batch.tasks.check_engine import check_engine, outside_upload
from agent.batch.tasks.faults import TasksError
from agent.batch.tasks.read import read_tasks
from agent.batch.tasks.repeat import base_id
from agent.batch.tasks.select import SelectionError
from agent.request_checks import UsageError, check_telemetry
from cli.batch.output.outputs import INTERRUPTED, Outputs
from cli.batch.output.stderr import ProgressStyle
from cli.terminal import say
from cli.version import VERSION
from supervisor.process import fd_limit
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent.batch.request import BatchRequest
    from cli.batch.arguments import BatchArguments
    from wire.batch.task import Task


def run_batch(arguments: BatchArguments) -> int:
    """Returns the exit status. Raises `OSError`."""
    gc.disable()  # tasks make no garbage; the batch enables it when it has begun
    try:
        if arguments.resumes:
            RunFolder.existing(arguments.request.folder)
        found = read_tasks(arguments.tasks, template=arguments.template, base=Path.cwd())
        tasks = arguments.selection.apply(found.tasks)
        if not tasks:
            raise SelectionError("--slice, --filter, --limit and --shard leave no task")
    except (TasksError, SelectionError, FolderError) as error:
        return complain(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    for remark in found.remarks:
        say(f"zot batch: {remark}")
    lines: Mapping[str, str] = found.lines
    if arguments.selection.repeat is not None:
        lines = {each.id: lines[base_id(each.id, each.repeat)] for each in tasks}
    return check_and_start(
        arguments.request,
        tasks,
        lines,
        arguments.show,
        arguments.folder,
        as_json=arguments.as_json,
        has_events=arguments.has_events,
        is_dry_run=arguments.is_dry_run,
    )


def check_and_start(
    request: BatchRequest,
    tasks: list[Task],
    lines: Mapping[str, str],
    show: ProgressStyle,
    folder: str,
    *,
    as_json: bool,
    has_events: bool = True,
    is_dry_run: bool = False,
) -> int:
    """Runs these tasks, if nothing is wrong with them; returns the exit status. `lines` says where each stands, and
    `folder` is RUNDIR as the user has written it. With `is_dry_run` prints what would be run. Raises `OSError`."""
    from agent.batch.batch import Batch, BatchError

    fd_limit.check_least()
    try:
        RunFolder.for_batch(request.folder)
        check_engine(request)
        check_telemetry(request.run)
    except (FolderError, UsageError) as error:
        return complain(str(error))
    if (faults := check_tasks(tasks, lines, request)) is not None:
        return complain(str(faults))
    if remark := outside_upload(request, tasks):
        say(f"zot batch: {remark}")
    if is_dry_run:
        from cli.batch.dry_run import show_dry_run

        return show_dry_run(request, tasks, as_json=as_json)
    outputs = Outputs(show, folder, as_json=as_json)
    try:
        batch = Batch(
            request,
            tasks,
            version=VERSION,
            tell=outputs.tell,
            on_event=outputs.on_event if as_json and has_events else None,
            say=outputs.say,
            is_full=outputs.is_full,
            is_quiet=show is ProgressStyle.NOTHING,
        )
        return outputs.run(batch)
    except (RedoError, UsageError) as error:
        return complain(str(error))
    except BatchError as error:
        complain(str(error))
        return Status.ERROR.exit_code
    except KeyboardInterrupt:  # while the last records were written
        return INTERRUPTED


def complain(text: str) -> int:
    """Says each line of the text, and returns the exit status of misuse."""
    for line in text.splitlines():
        say(f"zot batch: {line}")
    return Status.USAGE.exit_code
