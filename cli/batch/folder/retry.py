"""`zot batch retry`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer  # noqa: TC002  (it reads the annotations)

from cli.batch.folder.shared_options import Folder, Statuses, check_statuses, read_results, run_and_exit
from cli.run.flags import with_flags
from wire.flags.batch import RETRY

if TYPE_CHECKING:
    from agent.batch.journal.folder import RunFolder
    from agent.batch.journal.shards import BatchResults, Shard
    from agent.batch.journal.state import BatchState
    from agent.batch.request import BatchRequest
    from cli.batch.output.stderr import ProgressStyle


def register(app: typer.Typer) -> None:
    app.command("retry")(retry)


@with_flags(RETRY)
def retry(ctx: typer.Context, folder: Folder, status: Statuses = None, **_flags: Any) -> None:
    """Run the failed tasks of a batch again, and those that were not run, with the flags of its last start.

    It needs nothing but RUNDIR and, unless it is in the environment or stored, the key; an address with a password must
    be given again, for RUNDIR has it without. With --status only tasks with these statuses are run again, and tasks
    that were not run; with --status not_run only these. Flags that are given here take the place of those of the last
    start: after a batch has used up --max-cost-usd, it resumes with a higher one. The result of a task stands until its
    new attempt has started.

    Exit status: 0 all tasks are ok, 1 the batch itself failed, 2 RUNDIR is no folder of a batch or misuse, 10 a task is
    not ok or was not run, 130 interrupted.

    Examples:
        zot batch retry runs                                      what is not ok
        zot batch retry runs --status timeout --status crashed    some of it
        zot batch retry runs --status not_run                     go on where it stopped
        zot batch retry runs --max-cost-usd 40                    with a higher limit
    """
    from cli.batch.arguments import show_from

    given = ctx.params
    flags = _selected_ids(given, "jobs", "max_cost_usd", "reserve", "max_tokens", "max_failures", "address")
    keys = _selected_ids(given, "api_key", "api_key_file", "base_url")
    show = show_from(no_progress=given["no_progress"], quiet=given["quiet"])
    run_and_exit("retry", lambda: _run(folder, status or [], flags, keys, show, as_json=given["json"]))


def _selected_ids(given: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: given[name] for name in names if given[name] is not None}


def _run(
    folder: str, statuses: list[str], flags: dict[str, Any], keys: dict[str, str], show: ProgressStyle, *, as_json: bool
) -> int:
    from msgspec.structs import replace

    from agent.batch.opening.settings import check_address
    from cli.batch.arguments import absolute_paths
    from cli.batch.run import check_and_start

    wanted = check_statuses(statuses)
    results = read_results([folder])
    (shard,) = results.shards
    request = _request(shard.folder, shard.state)
    run = absolute_paths(replace(request.run, **keys))
    check_address(run, shard.folder.path)
    request = replace(request, run=run, redo=_retry(results, shard, wanted), **flags)
    tasks = list(shard.folder.read_tasks())
    lines = {task.id: f"{shard.folder.tasks_file}:{number}" for number, task in enumerate(tasks, 1)}
    return check_and_start(request, tasks, lines, show, folder, as_json=as_json)


def _request(folder: RunFolder, state: BatchState) -> BatchRequest:
    """The request of the last start, as it was changed while it ran. Raises `FolderError`."""
    from msgspec.structs import replace

    from agent.batch.opening.settings import request_of

    batch = folder.read_batch()
    assert batch is not None
    request = request_of(batch.settings, folder.path)
    if (jobs := state.changes.get("jobs")) is not None and jobs.value:
        request = replace(request, jobs=int(jobs.value))
    if (budget := state.changes.get("budget")) is not None:
        request = replace(request, max_cost_usd=budget.value)
    return request


def _retry(results: BatchResults, shard: Shard, wanted: frozenset[str]) -> tuple[str, ...]:
    """The ids of the done tasks that are run again."""
    statuses = {task: status.value for task in results.done if (status := results.history(task).status) is not None}
    return tuple(
        task
        for task, status in statuses.items()
        if (status in wanted if wanted else status != "ok") and task in shard.definitions
    )
