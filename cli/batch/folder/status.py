"""`zot batch status`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer  # noqa: TC002  (it reads the annotations)

from cli.batch.folder.shared_options import Folder, working
from cli.parameters import Json

if TYPE_CHECKING:
    from typing import Any

    from agent.batch.journal.results import BatchResults

DONE, RUNNING, KILLED = "done", "running", "killed"


def register(app: typer.Typer) -> None:
    app.command("status")(status)


def status(folder: Folder, as_json: Json = False) -> None:
    """Show how a batch is: what is done, what is left, what it has cost, and why it stopped.

    It only reads, also while the batch runs. With --json, state is running, done, or why the batch stopped: drained,
    stopped, budget, deadline, failures or killed. limit is the flag of the limit that was used up, reserved_usd how
    much requests of unknown cost count by the rule of --reserve.

    Exit status: 0 all tasks are ok, 1 the journal is damaged, 2 RUNDIR is no folder of a batch, 10 a task is not ok, or
    not done yet.

    Examples:
        zot batch status runs                          a few lines
        zot batch status runs --json | jq .statuses    how many tasks ended how
        zot batch status runs && echo "all is well"    in a script
    """
    working("status", lambda: _run(folder, as_json=as_json))


def _run(folder: str, *, as_json: bool) -> int:
    from cli.batch.folder.shared_options import results_of
    from cli.json_line import print_json
    from wire.exit_codes import Status

    results = results_of(folder)
    record = facts(results)
    if as_json:
        print_json(record)
    else:
        for line in lines(record, _example(results)):
            sys.stdout.write(line + "\n")
    is_ok = not record["left"] and set(record["statuses"]) <= {"ok"}
    return 0 if is_ok else Status.PARTIAL_BATCH.exit_code


def facts(results: BatchResults) -> dict[str, Any]:
    """The record of `--json`."""
    import msgspec

    from agent.batch.reserve import rule_in

    state = results.state
    batch = results.folder.read_batch()
    rule = rule_in({} if batch is None else batch.settings)
    is_running, pid = results.folder.running()
    closed = state.closed.reason if state.closed is not None else DONE if not results.not_run else KILLED
    interrupted = sum(1 for _ in state.interrupted())
    is_known = not state.unknown_costs and not interrupted
    return {
        "folder": str(results.folder.path),
        "state": RUNNING if is_running else closed,
        "limit": "" if is_running or state.closed is None else state.closed.limit,
        "pid": pid,
        "tasks": len(results.done) + len(results.not_run),
        "done": len(results.done),
        "left": len(results.not_run),
        "running" if is_running else "interrupted": interrupted,
        "paused": len(state.paused) if is_running else 0,
        "why_paused": next(reversed(state.paused.values()), "") if is_running else "",
        "statuses": state.statuses(),
        "attempts": state.attempts,
        "starts": state.starts,
        "usage": msgspec.to_builtins(state.usage),
        "cost_usd": state.known_cost_usd if is_known else None,
        "known_cost_usd": state.known_cost_usd,
        "reserved_usd": state.reserve.usd(rule),
        "reserve": rule,
        "last_start": state.opened.t if state.opened is not None else None,
        "last_end": state.closed.t if state.closed is not None else None,
    }


def _example(results: BatchResults) -> str:
    """A task that a person may want to look at: one that has failed, else any that is done."""
    histories = results.state.tasks
    failed = (task for task in results.done if (status := histories[task].status) is None or status.value != "ok")
    return next(failed, next(iter(results.done), ""))


def lines(record: dict[str, Any], example: str = "") -> list[str]:
    """The record for a person. `example` is a task that is done."""
    from cli.batch.output.summary import cost_text, next_commands, statuses_text, stopped_text
    from cli.columns import aligned
    from cli.number_format import clock_text, count_text, plural
    from wire.text import one_line, valid_text

    def said(state: str) -> str:
        if state == RUNNING:
            return f"running (pid {record['pid']})" if record["pid"] is not None else "running"
        return stopped_text(state, record["limit"]) or DONE

    statuses: dict[str, int] = record["statuses"]
    total, ok = record["tasks"], statuses.get("ok", 0)
    left = count_text(record["left"])
    if record.get("running"):
        left += f", {count_text(record['running'])} of them under way"
    elif record.get("interrupted"):
        left += f", {count_text(record['interrupted'])} of them interrupted"
    paused = f"{count_text(record['paused'])} of those under way: {record['why_paused']}"
    cost = cost_text(record["cost_usd"], record["known_cost_usd"], record["reserved_usd"])
    if record["reserved_usd"]:
        cost += f" (--reserve {record['reserve']})"
    rows = [
        ("state", said(record["state"])),
        ("tasks", f"{count_text(record['done'])} of {count_text(total)} done, {count_text(ok)} ok"),
        ("not ok", statuses_text(statuses) or "none"),
        ("left", left),
        *([("paused", one_line(valid_text(paused), 500))] if record["paused"] else ()),
        ("cost", f"{cost}, {plural(sum(record['usage'].values()), 'token')}"),
        ("attempts", f"{count_text(record['attempts'])} in {plural(record['starts'], 'start')} of the batch"),
        ("last start", clock_text(record["last_start"]) or "-"),
    ]
    shown = [one_line(valid_text(record["folder"]), 4096), *("  " + line for line in aligned(rows))]
    if record["state"] == RUNNING:
        return shown
    import shlex

    limit = record["limit"] or ("--max-cost-usd" if record["state"] == "budget" else "")
    counted = {**statuses, "not_run": record["left"]}
    where = shlex.quote(one_line(valid_text(record["folder"]), 4096))
    return [*shown, "", *next_commands(where, counted, example=example, limit=limit)]
