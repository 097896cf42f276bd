"""`zot batch ctl`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from cli.batch.completion import ctl_values
from cli.batch.folder.shared_options import Folder, complain, run_and_exit
from cli.parameters import Json

if TYPE_CHECKING:
    from typing import Any

    from agent.batch.journal.folder import RunFolder
    from wire.batch import control

VALUES = {"jobs": "N", "budget": "USD", "requeue": "TASK", "show": "TASK"}
"""The actions that take a value, and its name."""
ACTIONS = ("jobs", "budget", "pause", "resume", "stop", "requeue", "show")
NOW = ("pause", "requeue")
"""The actions that take --now."""
ID = "1"


def actions(incomplete: str) -> list[str]:
    """The actions that begin so, for a shell's completion."""
    return [word for word in ACTIONS if word.startswith(incomplete)]


def register(app: typer.Typer) -> None:
    app.command("ctl")(ctl)


def ctl(
    folder: Folder,
    action: Annotated[
        str | None,
        typer.Argument(metavar="[ACTION]", help=" | ".join(ACTIONS), autocompletion=actions, show_default=False),
    ] = None,
    value: Annotated[
        str | None,
        typer.Argument(
            metavar="[VALUE]",
            help="N of jobs, USD of budget, TASK of requeue and show.",
            autocompletion=ctl_values,
            show_default=False,
        ),
    ] = None,
    now: Annotated[bool, typer.Option("--now", help="With pause and requeue: abort what runs.")] = False,
    as_json: Json = False,
) -> None:
    """Change a batch while it runs, or show it or one of its tasks.

    jobs N sets the runs at the same time; with fewer, running ones end first. budget USD replaces --max-cost-usd. pause
    lets nothing new start and sends no new request to the model, until resume; with --now the runs are aborted, count
    as interrupted, and start again after resume. stop aborts the runs and ends the batch, as the key Q does. requeue
    TASK runs a task again that is done; its result stands until then. show TASK tells of one task. Without an action,
    the state of the batch is shown.

    Each change is in the journal of RUNDIR before this command ends. The next start of the batch has its own flags
    again; zot batch retry goes on with the changed budget and jobs.

    Exit status: 0 done, or nothing to do; 1 the batch does not answer or refuses; 2 no batch runs in RUNDIR, there is
    no such task, or misuse; 130 Ctrl-C.

    Examples:
        zot batch ctl runs                    how it is, and what it waits for
        zot batch ctl runs jobs 8             eight at a time
        zot batch ctl runs budget 40          40 dollars in all
        zot batch ctl runs pause --now        nothing runs until: zot batch ctl runs resume
        zot batch ctl runs requeue fix-12     run it again
        zot batch ctl runs show fix-12        its step, tokens and dollars
    """
    from cli.choices import CommandLineError
    from wire.suggestions import not_one_of

    if action is not None and action not in ACTIONS:
        raise CommandLineError(not_one_of(action, ACTIONS))
    if now and action not in NOW:
        raise CommandLineError("--now goes with pause and requeue only")
    name = VALUES.get(action or "")
    if (value is None) != (name is None):
        if name is None:
            raise CommandLineError(f"{action} takes no value: {value!r} is one too many")
        raise CommandLineError(f"{name} is missing: zot batch ctl RUNDIR {action} {name}")
    request = _request(action, value or "", now=now)
    run_and_exit("ctl", lambda: _run(folder, request, as_json=as_json))


def _request(action: str | None, value: str, *, now: bool) -> control.Request:
    """Raises `CommandLineError`."""
    from wire.batch import control

    if action == "jobs":
        return control.SetJobs(ID, _number(value))
    if action == "budget":
        return control.SetBudget(ID, _dollars(value))
    if action == "pause":
        return control.Pause(ID, now)
    if action == "requeue":
        return control.Requeue(ID, value, now)
    if action == "show":
        return control.Show(ID, value)
    if action == "resume":
        return control.Resume(ID)
    return control.Stop(ID) if action == "stop" else control.GetState(ID)


def _number(text: str) -> int:
    from cli.choices import CommandLineError
    from wire.batch.control import MOST_JOBS

    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text[:9]) <= MOST_JOBS or len(text) > 9:
        pause = "; pause lets nothing new start" if text == "0" else ""
        raise CommandLineError(f"jobs {text}: it is a whole number from 1 to {MOST_JOBS}{pause}")
    return int(text)


def _dollars(text: str) -> float:
    from math import isfinite

    from cli.choices import CommandLineError

    try:
        found = float(text.removeprefix("$"))
    except ValueError:
        found = -1.0
    if not isfinite(found) or found < 0:
        raise CommandLineError(f"budget {text}: it is a number of US dollars, such as 20 or 7.50")
    return found


def _run(given: str, request: control.Request, *, as_json: bool) -> int:
    from agent.batch.control.client import BatchControlError, ask
    from cli.batch.folder.shared_options import open_folder
    from cli.json_line import print_json
    from wire.batch import control
    from wire.exit_codes import Status

    folder = open_folder(given)
    try:
        reply = ask(folder, request)
    except BatchControlError as error:
        complain("ctl", str(error))
        return (Status.USAGE if error.is_misuse else Status.ERROR).exit_code
    if as_json:
        print_json(_record(folder, reply))
    elif isinstance(reply, control.Changed):
        sys.stdout.write(reply.words + "\n")
    else:
        lines = _state_lines(reply) if isinstance(reply, control.BatchState) else _task_lines(folder, reply)
        for line in lines:
            sys.stdout.write(line + "\n")
    return 0


def _record(folder: RunFolder, reply: control.Changed | control.BatchState | control.TaskState) -> dict[str, Any]:
    """The reply for a program: without its id; of a task with its last event."""
    import msgspec

    from agent.batch.control.client import last_event
    from wire.batch import control

    found: dict[str, Any] = msgspec.to_builtins(reply)
    del found["id"]
    if isinstance(reply, control.TaskState):
        line = last_event(folder, reply)
        found["last_event"] = msgspec.json.decode(line) if line else None
    return found


def _state_lines(state: control.BatchState) -> list[str]:
    from cli.batch.output.summary import node_text, statuses_text
    from cli.columns import align_columns
    from cli.number_format import count_text, dollars, duration, plural
    from wire.text import one_line, valid_text

    how = "stopping" if state.is_stopping else "paused" if state.is_paused else "running"
    if state.is_draining and not state.is_stopping:
        how += ", no new tasks start"
    done, ok = sum(state.statuses.values()), state.statuses.get("ok", 0)
    budget = "no limit" if state.max_cost_usd is None else dollars(state.max_cost_usd)
    reserved = f", {dollars(state.reserved_usd)} reserved" if state.reserved_usd else ""
    left = "" if state.eta_s is None or not state.waiting else f", about {duration(state.eta_s)} left"
    rows = [
        ("state", f"{how} (pid {state.pid})"),
        ("tasks", f"{count_text(done)} of {plural(state.tasks, 'task')} done, {count_text(ok)} ok"),
        ("not ok", statuses_text(state.statuses) or "none"),
        ("now", f"{count_text(state.running)} running, {count_text(state.waiting)} waiting"),
        ("jobs", count_text(state.jobs)),
        ("budget", f"{budget}; {dollars(state.known_cost_usd)} used{reserved}"),
        *(("node", node_text(node)) for node in state.nodes),
        *([("waits for", one_line(valid_text(state.why), 500))] if state.why else ()),
        ("time", f"{duration(state.elapsed_s)}{left}"),
    ]
    return [one_line(valid_text(state.folder), 4096), *("  " + line for line in align_columns(rows))]


def _task_lines(folder: RunFolder, task: control.TaskState) -> list[str]:
    from agent.batch.control.client import last_event
    from cli.columns import align_columns
    from cli.number_format import dollars, elapsed, plural
    from wire.text import one_line, valid_text

    state = f"{task.state}: {task.phase}" if task.phase else task.state
    if task.state == "done":
        state = task.status or "interrupted"
    elif task.status:
        state += f"; its result ({task.status}) stands until it runs again"
    has_run = task.state == "running" or (task.state == "done" and task.status)
    cost = "cost unknown" if task.cost_usd is None else dollars(task.cost_usd)
    failed = f", {task.failed} failed and tried again" if task.failed else ""
    rows = [
        ("state", state),
        *([("reason", one_line(valid_text(task.reason), 500))] if task.reason else ()),
        *([("waits for", one_line(valid_text(task.waits_for), 500))] if task.waits_for else ()),
        ("attempts", f"{task.attempts}{failed}"),
    ]
    if task.node:
        rows.append(("node", one_line(valid_text(task.node), 200)))
    if has_run:
        usage = task.usage
        tokens = usage.input + usage.output + usage.cache_read + usage.cache_write
        rows += [("step", str(task.step)), ("cost", f"{cost}, {plural(tokens, 'token')}")]
        rows += [("time", elapsed(task.since_s))]
    if task.events:
        rows.append(("events", one_line(task.events, 4096)))
    if line := last_event(folder, task):
        rows.append(("last event", one_line(valid_text(line.decode("utf-8", "replace")), 300)))
    return [one_line(valid_text(task.task), 200), *("  " + line for line in align_columns(rows))]
