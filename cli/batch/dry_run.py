"""Prints what a batch would run (`zot batch TASKS -o RUNDIR --dry-run`)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agent.batch.dry_run.dry_run import DryRun, dry_run
from agent.batch.journal.errors import FolderError, JournalError
from agent.batch.opening.backlog import RedoError
from agent.request_checks import UsageError
from cli.columns import align_columns
from cli.json_line import print_json
from cli.number_format import bytes_text, count_text, dollars, plural
from cli.terminal import say
from cli.version import VERSION
from wire.exit_codes import Status
from wire.suggestions import join_names
from wire.text import one_line, valid_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent.batch.dry_run.extension_sets import ExtensionSet
    from agent.batch.dry_run.forecast import Forecast
    from agent.batch.dry_run.probe import Probe
    from agent.batch.request import BatchRequest
    from wire.batch.task import Task

NAMED = 3
"""Maximum number of ids and extensions that a line names."""
SETS = 5
"""Maximum number of sets of extensions that are shown."""


def show_dry_run(request: BatchRequest, tasks: Sequence[Task], *, as_json: bool) -> int:
    """Returns the exit status. Raises `OSError`."""
    import msgspec

    try:
        found = dry_run(request, tasks, VERSION, say=lambda line: say(f"zot batch: {line}"))
    except (FolderError, RedoError, UsageError) as error:
        say(f"zot batch: {error}")
        return Status.USAGE.exit_code
    except JournalError as error:
        say(f"zot batch: {error}")
        return Status.ERROR.exit_code
    except KeyboardInterrupt:
        return Status.INTERRUPTED.exit_code
    if as_json:
        print_json(msgspec.to_builtins(found))
    else:
        for line in lines(found, request):
            sys.stdout.write(line + "\n")
    return 0


def lines(found: DryRun, request: BatchRequest) -> list[str]:
    """The record for a person."""
    to_run = len(found.new) + len(found.again) + len(found.interrupted)
    rows = [
        ("would run", _ids(f"{count_text(to_run)} of {plural(found.tasks, 'task')}", found)),
        *([("awaited", f"{plural(len(found.awaited), 'task')} in message batches")] if found.awaited else ()),
        *([("done", f"{count_text(found.done)} stay" + _changed(found.changed))] if found.done else ()),
        ("at a time", _pace(found, request)),
        *_extensions(found.extension_sets),
        *_probe(found.probe),
        *_cost(found, request),
    ]
    head = [one_line(valid_text(found.folder), 4096) + ": nothing is started"]
    if found.running_pid is not None:
        head.append(f"  process {found.running_pid} runs this batch now: a start would be refused until it ends")
    return [
        *head,
        *("  " + line for line in align_columns([(name, one_line(valid_text(text), 2000)) for name, text in rows])),
    ]


def _pace(found: DryRun, request: BatchRequest) -> str:
    if request.batch_api:
        return "all tasks, in message batches at half the price"
    runs = "as many runs as the nodes allow" if found.jobs is None else plural(found.jobs, "run")
    where = "" if request.engine == "local" else " on a cluster, which is not asked now"
    return f"{runs}{where}, --workspace {found.workspace}"


def _ids(text: str, found: DryRun) -> str:
    kinds = (("new", found.new), ("again", found.again), ("interrupted", found.interrupted))
    parts = [f"{count_text(len(ids))} {kind} ({join_names(ids, NAMED)})" for kind, ids in kinds if ids]
    return f"{text}: {', '.join(parts)}" if parts else text


def _changed(ids: Sequence[str]) -> str:
    return f"; {count_text(len(ids))} changed since ({join_names(ids, NAMED)}): --redo changed runs them" if ids else ""


def _extensions(sets: Sequence[ExtensionSet]) -> Iterator[tuple[str, str]]:
    for each in sets[:SETS]:
        names = join_names(each.extensions, 10) if each.extensions else "none"
        of = "each task" if len(sets) == 1 else f"{plural(each.tasks, 'task')} such as {each.example}"
        shared = (
            f"; one process of {join_names(each.may_be_shared, NAMED)} may serve several runs"
            if each.may_be_shared
            else ""
        )
        yield "extensions", f"{of}: {names}{shared}"
        for name, why in each.skipped.items():
            yield "", f"not {name}: {why}" if name else why
    if len(sets) > SETS:
        yield "", f"and {plural(len(sets) - SETS, 'other set')}"


def _probe(probe: Probe | None) -> Iterator[tuple[str, str]]:
    if probe is None:
        return
    for name, each in probe.extensions.items():
        yield "memory", f"{name}: {bytes_text(each.memory_bytes)} in {plural(each.processes, 'process', 'processes')}"
    if probe.memory_bytes:
        yield "memory", f"a run: {bytes_text(probe.memory_bytes)} of its own, extensions included, at its first request"
    for name, why in probe.given_up.items():
        yield "", f"{name} did not start: {why}"
    if probe.reason:
        yield "no request", f"a run of task {probe.task} would end before its first request: {probe.reason}"


def _cost(found: DryRun, request: BatchRequest) -> Iterator[tuple[str, str]]:
    cost, probe = found.forecast, found.probe
    if found.replayed:
        yield "replayed", f"{plural(found.replayed, 'task')}: a cassette answers, no model"
    if cost is None or probe is None:
        return
    tools = plural(probe.tools, "tool")
    first = f"{bytes_text(probe.request_bytes)} with {tools}, about {plural(cost.first_request_tokens, 'token')}"
    yield "first request", f"{first}, at most {count_text(cost.first_request_tokens_at_most)}"
    yield "", f"of all tasks together about {plural(cost.all_first_requests_tokens, 'token')}, by their size"
    if cost.request_usd_at_most is None:
        yield "cost", f"no bound: the price or the window of a model is unknown ({probe.model})"
    else:
        first, full = _usd(cost.first_request_usd_at_most), _usd(cost.request_usd_at_most)
        yield "a request", f"at most {first} the first, {full} with a full window"
        yield "a run", _run_bound(cost)
        yield "all tasks", _all_bound(cost, found, request)
    if cost.estimated_usd is not None and cost.estimated_tokens is not None:
        by = "by the average of the tasks that are finished in this folder"
        yield "estimate", f"{_usd(cost.estimated_usd)}, {plural(cost.estimated_tokens, 'token')}: {by}"


def _run_bound(cost: Forecast) -> str:
    if cost.run_usd_at_most is None:
        return "no bound: --task-max-cost or --max-steps gives one"
    if cost.run_bound_by == "max_cost_usd":
        return f"at most {_usd(cost.run_usd_at_most)}: --task-max-cost and its last request"
    again = "requests that are sent again count besides"
    return f"at most {_usd(cost.run_usd_at_most)}: --max-steps with full windows; {again}"


def _all_bound(cost: Forecast, found: DryRun, request: BatchRequest) -> str:
    budget = found.max_cost_usd
    stops = (
        "" if budget is None else f"nothing starts after {_usd(budget)} (--max-cost-usd, {_usd(found.spent_usd)} used)"
    )
    if cost.all_usd_at_most is None:
        return f"{stops}; runs under way then have no bound" if stops else "no bound; --max-cost-usd stops new starts"
    if cost.all_bound_by == "max_cost_usd":
        return f"at most {_usd(cost.all_usd_at_most)}: {stops}, and runs under way end"
    attempts = f", {1 + request.retries} attempts each" if request.retries else ""
    return f"at most {_usd(cost.all_usd_at_most)}{attempts}"


def _usd(usd: float | None) -> str:
    return "?" if usd is None else dollars(usd)
