"""`zot batch status`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer  # noqa: TC002  (it reads the annotations)

from cli.batch.folder.shared_options import Folders, run_and_exit
from cli.parameters import Json, Prefer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent.batch.journal.shards import BatchResults
    from agent.batch.reserve import Spent
    from cli.choices import Preferred
    from wire.batch.journal_lines import Changed

NAMED = 5
"""Maximum number of tasks of a node that are named."""
DONE, RUNNING, KILLED, NOT_BEGUN = "done", "running", "killed", "not_begun"


def register(app: typer.Typer) -> None:
    app.command("status")(status)


def status(folders: Folders, prefer: Prefer = None, as_json: Json = False) -> None:
    """Show the state of a batch: what is done, what is left, what it has cost, and why it stopped.

    It only reads, also while the batch runs. Several RUNDIRs, such as shards of one tasks file, are shown as one batch;
    if they contradict each other about a task, it needs --prefer. With --json, state is running, done, or why the batch
    stopped: drained, stopped, budget, deadline, failures or killed; not_begun if its start was refused. limit is the
    flag of the limit that was used up, reserved_usd how much requests of unknown cost count by the rule of --reserve,
    evaluation the estimates of repeated or scored tasks (null without any), nodes the tasks that run, by node (missing
    for a batch on one machine).

    Exit status: 0 all tasks are ok, 1 a journal is damaged, 2 a RUNDIR is no folder of a batch, they contradict each
    other, or misuse, 10 a task is not ok, or not done yet.

    Examples:
        zot batch status runs                          a few lines
        zot batch status part1 part2                   of two shards together
        zot batch status runs --json | jq .statuses    how many tasks ended how
        zot batch status runs && echo "all is well"    in a script
    """
    run_and_exit("status", lambda: _run(folders, prefer, as_json=as_json))


def _run(folders: list[str], prefer: Preferred | None, *, as_json: bool) -> int:
    from cli.batch.evaluation.estimate_text import evaluation_line, evaluation_of
    from cli.batch.evaluation.records import evaluation_record
    from cli.batch.folder.shared_options import read_results
    from cli.json_line import print_json
    from wire.batch.outcome import TaskStatus
    from wire.exit_codes import Status

    results = read_results(folders, prefer)
    record = facts(results)
    evaluation = evaluation_of(results)
    if as_json:
        record["evaluation"] = evaluation and evaluation_record(evaluation)
        print_json(record)
    else:
        not_ok = [task for task in results.done if results.history(task).status is not TaskStatus.OK]
        again = [str(folder.path) for folder in results.folders_of([*not_ok, *results.not_run])]
        estimates = evaluation_line(evaluation) if evaluation is not None else ""
        for line in lines(record, _example(results), prefer and prefer.value, again, estimates):
            sys.stdout.write(line + "\n")
    is_ok = not record["left"] and set(record["statuses"]) <= {"ok"}
    return 0 if is_ok else Status.PARTIAL_BATCH.exit_code


def facts(results: BatchResults) -> dict[str, Any]:
    """The record of `--json`."""
    import msgspec

    states = [shard.state for shard in results.shards]
    found = [(state, *shard.folder.running()) for state, shard in zip(states, results.shards, strict=True)]
    running = [(state, pid) for state, is_running, pid in found if is_running]
    ended, limit = (RUNNING, "") if running else _end(results)
    interrupted = sum(1 for state in ([state for state, _ in running] or states) for _ in state.interrupted())
    paused = [why for state, _ in running for why in state.paused.values()]
    sent = [
        {"id": sent.id, "tasks": len(sent.left), "expires": sent.expires or None}
        for state in states
        for sent in state.sent.open.values()
    ]
    spent = _spent(results) if interrupted and not running else results.spent()
    opened = [state.opened.t for state in states if state.opened is not None]
    closed = [state.closed.t for state in states if state.closed is not None]
    folders = [str(shard.folder.path) for shard in results.shards]
    nodes: dict[str, list[str]] = {}
    for state, _ in running:
        for node, ids in state.running_by_node().items():
            nodes.setdefault(node, []).extend(ids)
    return {
        "folder": folders[0],
        "folders": folders,
        "state": ended,
        "limit": limit,
        "pid": running[0][1] if running else None,
        "tasks": len(results.done) + len(results.not_run),
        "done": len(results.done),
        "left": len(results.not_run),
        "running" if running else "interrupted": interrupted,
        **({"nodes": nodes} if nodes else {}),
        "sent": sent,
        "paused": len(paused),
        "why_paused": paused[-1] if paused else "",
        "is_paused": any("pause" in state.changes for state, _ in running),
        "changes": [_change(line) for state, _ in running for line in state.changes.values()],
        "statuses": results.statuses(),
        "attempts": sum(state.attempts for state in states),
        "starts": sum(state.starts for state in states),
        "usage": msgspec.to_builtins(spent.usage),
        "cost_usd": spent.known_usd if spent.is_known and not (interrupted or sent) else None,
        "known_cost_usd": spent.known_usd,
        "reserved_usd": spent.reserved_usd,
        "reserve": ", ".join(dict.fromkeys(shard.rule() for shard in results.shards)),
        "last_start": max(opened, default=None),
        "last_end": max(closed, default=None) if len(closed) == len(states) else None,
    }


def _change(line: Changed) -> dict[str, Any]:
    return {name: getattr(line, name) for name in ("what", "value", "before", "task", "now", "by", "t")}


def sent_line(sent: dict[str, Any], total: int) -> str:
    """One message batch of `--batch-api`. Its state is the last one that is noted."""
    from agent.batch.message_batches.words import sent_words

    state = "in_progress" if sent["id"] else "doubtful"
    return sent_words(sent["tasks"], total, sent["id"], state, sent["expires"] or 0.0)


def _node_line(node: str, tasks: Sequence[str]) -> str:
    """`node-1: 3 tasks (a, b and c)`."""
    from cli.number_format import plural
    from wire.suggestions import join_names
    from wire.text import one_line, valid_text

    names = join_names([one_line(valid_text(task), 60) for task in tasks], NAMED)
    return f"{one_line(valid_text(node), 60)}: {plural(len(tasks), 'task')} ({names})"


def _spent(results: BatchResults) -> Spent:
    """US dollars, with the attempts that were cut off, as the next start will count them."""
    from agent.batch.opening.resume import cut_off_runs
    from agent.batch.reserve import Spent
    from agent.batch.tally import spent_in

    total = Spent()
    for shard in results.shards:
        total += spent_in(shard.state, shard.rule(), cut_off_runs(shard.folder, shard.state).values())
    return total


def _end(results: BatchResults) -> tuple[str, str]:
    """Why the batch ended, and the flag of the limit that was used up: of several folders, if a task is left, the first
    that did not end as done."""
    ends = []
    for shard in results.shards:
        closed = shard.state.closed
        is_left = any(not shard.has_result(task) for task in shard.definitions)
        cut_off = DONE if not is_left else KILLED if shard.state.starts else NOT_BEGUN
        ends.append((cut_off, "") if closed is None else (closed.reason, closed.limit))
    if len(ends) > 1 and not results.not_run:
        return DONE, ""
    return next((end for end in ends if end[0] != DONE), ends[0])


def _changes(changes: Sequence[dict[str, Any]]) -> str:
    from cli.batch.output.summary import change_text
    from wire.batch.records import BatchChanged

    told = [{name: value for name, value in each.items() if name != "t"} for each in changes]
    return "; ".join(change_text(BatchChanged(**each, time="")) for each in told)


def _example(results: BatchResults) -> str:
    """The id of a task for the example: a failed one, else any that is done."""
    failed = (task for task in results.done if (status := results.history(task).status) is None or status.value != "ok")
    return next(failed, next(iter(results.done), ""))


def lines(
    record: dict[str, Any],
    example: str = "",
    prefer: str | None = None,
    again: Sequence[str] = (),
    estimates: str = "",
) -> list[str]:
    """The record for a person. `example` is a task that is done, `prefer` the word for contradictions. `again` are the
    folders with tasks to run again. `estimates` are those of repeated or scored tasks; empty without any."""
    from cli.batch.output.summary import cost_text, next_commands, statuses_text, stopped_text
    from cli.columns import align_columns
    from cli.number_format import clock_text, count_text, plural
    from wire.text import one_line, valid_text

    def said(state: str) -> str:
        if state == RUNNING:
            word = "paused by the user" if record["is_paused"] else "running"
            return f"{word} (pid {record['pid']})" if record["pid"] is not None else word
        return "not begun" if state == NOT_BEGUN else stopped_text(state, record["limit"]) or DONE

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
        *([("estimates", estimates)] if estimates else ()),
        ("left", left),
        *(("on", _node_line(node, ids)) for node, ids in sorted(record.get("nodes", {}).items())),
        *(("sent", sent_line(sent, total)) for sent in record["sent"]),
        *([("paused", one_line(valid_text(paused), 500))] if record["paused"] else ()),
        *([("changed", _changes(record["changes"]))] if record["changes"] else ()),
        ("cost", f"{cost}, {plural(sum(record['usage'].values()), 'token')}"),
        ("attempts", f"{count_text(record['attempts'])} in {plural(record['starts'], 'start')} of the batch"),
        ("last start", clock_text(record["last_start"]) or "-"),
    ]
    folders = [one_line(valid_text(folder), 4096) for folder in record["folders"]]
    shown = [*folders, *("  " + line for line in align_columns(rows))]
    if record["state"] == RUNNING:
        return shown
    import shlex

    limit = record["limit"] or ("--max-cost-usd" if record["state"] == "budget" else "")
    counted = {**statuses, "not_run": record["left"]}
    where = shlex.join(folders)
    if len(folders) > 1:  # `logs` and `retry` take one folder
        where += f" --prefer {prefer}" if prefer else ""
        commands = [f"zot batch results {where}", f"zot report {where} -o report.html"]
        return [
            *shown,
            "",
            *commands,
            *(f"zot batch retry {shlex.quote(one_line(valid_text(folder), 4096))}" for folder in again),
        ]
    return [*shown, "", *next_commands(where, counted, example=example, limit=limit, has_estimates=bool(estimates))]
