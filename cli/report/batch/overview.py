"""The top of the page of a batch: how it went, what to do next, and how its tasks have ended."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import TYPE_CHECKING

from cli.number_format import bytes_text, clock_text, count_text, dollars, elapsed, percent_text, plural, short
from cli.report.batch.figures import BatchPhase, OpenTaskState
from cli.report.markup import text
from cli.report.page.table import Cell, TableColumn, number_cell, section, table
from cli.report.page.top import Tile, code_elements, findings, top
from wire.batch.outcome import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.report.batch.figures import AttemptFigures, BatchFigures

WAITING_MATTERS = 0.2
"""The share of the time of all runs from which waiting for rate limits is worth a word."""
MODELS_NAMED = 4
WHY_CLOSED = {
    "done": "ended",
    "drained": "ended early: it was asked to start nothing more",
    "stopped": "ended early: it was interrupted",
    "budget": "ended early: its budget of cost or tokens was used up",
    "deadline": "ended early: its deadline had passed",
    "failures": "ended early: too many tasks had failed",
    "failed": "ended early: its files could not be written",
}
ADVICE: dict[TaskStatus, str] = {
    TaskStatus.ERROR: "look at the reasons below; such a failure may pass when the task is run again",
    TaskStatus.USAGE: "their own settings cannot be used: fix the tasks file first",
    TaskStatus.BLOCKED: "a guard refused what they did: see on their pages which one, and why",
    TaskStatus.MAX_STEPS: "they needed more turns than `max_steps`",
    TaskStatus.BUDGET: "they needed more than their `max_cost_usd`",
    TaskStatus.TIMEOUT: "they needed longer than their `timeout_s`",
    TaskStatus.AUTHENTICATION: "the provider refused the key: `zot doctor` says which one is used",
    TaskStatus.RATE_LIMIT: "the provider refused them for too long: run them again later, or with fewer `--jobs`",
    TaskStatus.REQUIRED_EXTENSION: "an extension that they require did not start: `zot ext doctor` says why",
    TaskStatus.INVALID_ANSWER: "the final text does not fit the `output_schema`",
    TaskStatus.CRASHED: "their process died: their pages have what it wrote to stderr",
    TaskStatus.OUT_OF_MEMORY: "they were over `--run-memory`",
    TaskStatus.SETUP_FAILED: "their `setup` failed: their pages have its output",
    TaskStatus.CHECK_FAILED: "the run was ok, and their `check` was not: their pages have its output",
}


def ended_text(batch: BatchFigures) -> str:
    """How the batch stands or ended, in a few words."""
    match batch.phase:
        case BatchPhase.NOT_BEGUN:
            return "not begun"
        case BatchPhase.RUNNING:
            return "still running"
        case BatchPhase.KILLED:
            return "killed: its process is gone, without a reason"
        case BatchPhase.ENDED:
            return WHY_CLOSED.get(batch.closed, f"ended: {batch.closed}")


def overview(batch: BatchFigures, folder: str, written: str) -> str:
    """Title, facts, notes, tiles, what to do next, and outcomes. `folder` has the names of its folders as a
    shell takes them; `written` says when the page was made."""
    ok = sum(task.is_ok for task in batch.tasks)
    title = f"{batch.name}: {count_text(ok)} of {plural(len(batch.tasks), 'task')} ok"
    models = ", ".join(batch.models[:MODELS_NAMED])
    if len(batch.models) > MODELS_NAMED:
        models += f" and {len(batch.models) - MODELS_NAMED} more"
    facts = [
        ("batch", ended_text(batch)),
        ("begun", clock_text(batch.began)),
        ("starts", count_text(batch.starts) if batch.starts > 1 else ""),
        ("at a time", plural(batch.jobs, "run") if batch.jobs else ""),
        ("models" if len(batch.models) > 1 else "model", models),
        ("zot", batch.version),
        ("page made", written),
    ]
    steps = [(text(what), code_elements(text(why)), is_bad) for what, why, is_bad in next_steps(batch, folder)]
    calm = "All tasks are ok." if batch.tasks else "There are no tasks."
    shown = top(title, facts, batch.notes, tiles(batch)) + findings("Next steps", steps, calm)
    return shown + _outcomes(batch)


def tiles(batch: BatchFigures) -> list[Tile]:
    tasks, attempts = batch.tasks, [one for task in batch.tasks for one in task.attempts]
    ok = sum(task.is_ok for task in tasks)
    failed = sum(task.has_failed for task in tasks)
    left = len(tasks) - ok - failed
    worked = batch.workload.end
    paused_s = sum(pauses.seconds for pauses in batch.workload.pauses())
    peak = max(((one.memory_peak_bytes, task.id) for task in tasks for one in task.attempts), default=(0, ""))
    usage = batch.usage
    read = usage.input + usage.cache_read + usage.cache_write
    cost, of_cost = dollars(batch.known_cost_usd), "of all attempts"
    if batch.unknown_costs:
        cost = f"≥ {cost}" if batch.known_cost_usd else "unknown"
        reserved = f"; {dollars(batch.reserved_usd)} reserved" if batch.reserved_usd else ""
        of_cost = f"cost of {plural(batch.unknown_costs, 'attempt')} unknown{reserved}"
    return [
        Tile("Ok", count_text(ok), percent_text(100 * ok / len(tasks)) if tasks else ""),
        Tile("Not ok", count_text(failed), percent_text(100 * failed / len(tasks)) if tasks else "", failed > 0),
        Tile("Without an end", count_text(left), _time_left(batch), left > 0, "warn"),
        Tile("Cost", cost, of_cost, batch.unknown_costs > 0, "warn"),
        Tile("Tokens", count_text(usage.total), f"{count_text(read)} read, {count_text(usage.output)} written"),
        Tile("Time of work", elapsed(worked), f"{short(60 * len(attempts) / worked)} runs a minute" if worked else ""),
        Tile("Attempts", count_text(batch.attempts), _retry_steps(batch)),
        Tile("Paused", elapsed(paused_s), "all runs together, for rate limits"),
        Tile("Memory of a run", bytes_text(peak[0]) if peak[0] else "-", f"most: {peak[1]}" if peak[0] else ""),
    ]


def _time_left(batch: BatchFigures) -> str:
    counts = batch.states()
    words = {
        OpenTaskState.RUNNING: "running",
        OpenTaskState.INTERRUPTED: "interrupted",
        OpenTaskState.NOT_RUN: "not run",
    }
    parts = [f"{count_text(counts[state.value])} {word}" for state, word in words.items() if counts.get(state.value)]
    return ", ".join(parts) or "all have one"


def _retry_steps(batch: BatchFigures) -> str:
    retried = sum(len(task.attempts) > 1 for task in batch.tasks)
    return f"{plural(retried, 'task')} retried" if retried else "each task once"


def _advice(attempt: AttemptFigures) -> tuple[int, str, str]:
    """The place of the advice among all, the failure, and what to do about it."""
    place, status = list(ADVICE).index(attempt.status), attempt.status.value
    if attempt.error_kind == "overloaded":
        return place, attempt.error_kind, "the provider was overloaded: run them again later"
    if attempt.status is TaskStatus.ERROR and not attempt.may_pass:
        return place, status, "such a failure would come again: change what the reasons below name"
    return place, status, ADVICE[attempt.status]


def next_steps(batch: BatchFigures, folder: str) -> list[tuple[str, str, bool]]:
    """Each step, its reason, and whether it is about a failure; commands are in backquotes. The most important
    first."""
    results, more = batch.results, ""
    is_one = len(results.shards) == 1
    if not is_one:
        more = " -o report.html" + (f" --prefer {results.prefer}" if results.prefer else "")
    left = [task.id for task in batch.tasks if isinstance(task.state, OpenTaskState)]
    failed = [task.id for task in batch.tasks if task.has_failed]

    def retry(tasks: Sequence[str], flags: str = "") -> str:
        """A command for each folder that has some of the tasks."""
        folders = [folder] if is_one else [shlex.quote(str(one.path)) for one in results.folders_of(tasks)]
        return " ".join(f"`zot batch retry {one}{flags}`" for one in folders)

    found: list[tuple[str, str, bool]] = []
    if batch.phase is BatchPhase.RUNNING:
        found.append(("Make this page again later", f"the batch is still running: `zot report {folder}{more}`", False))
    elif batch.phase is BatchPhase.NOT_BEGUN:
        found.append(("Start it", "no task was begun", False))
    elif left:
        why = f"{plural(len(left), 'task has', 'tasks have')} no end: {retry(left, ' --status not_run')}"
        found.append(("Go on", why, batch.phase is BatchPhase.KILLED))
    told = Counter(_advice(task.told) for task in batch.tasks if task.told is not None and task.has_failed)
    found += [(f"{what} ({count_text(count)})", advice, True) for (_, what, advice), count in sorted(told.items())]
    if failed:
        found.append(("Run again what has failed", f"once it is fixed: {retry(failed)}", False))
    if batch.unknown_costs:
        why = f"the cost of {plural(batch.unknown_costs, 'attempt')} is unknown, and not counted as 0"
        found.append(("Do not take the sum for all of it", why, False))
    runs_s = sum(one.duration_s for task in batch.tasks for one in task.attempts)
    paused_s = sum(pauses.seconds for pauses in batch.workload.pauses())
    if runs_s and paused_s > WAITING_MATTERS * runs_s:
        why = f"runs waited {percent_text(100 * paused_s / runs_s)} of their time for rate limits: more would only wait"
        found.append(("Use fewer --jobs", why, False))
    return found


def style_of(state: str) -> str:
    """The style of a state: good, bad, waits or plain."""
    if state == TaskStatus.OK.value:
        return "good"
    return {"running": "waits", "interrupted": "waits", "not_run": "plain"}.get(state, "bad")


def _outcomes(batch: BatchFigures) -> str:
    counts, total = batch.states(), len(batch.tasks)
    if not total:
        return ""
    columns = (TableColumn("outcome", is_text=True), TableColumn("tasks", has_bar=True), TableColumn("of all"))
    rows = (
        (
            Cell(state, style=style_of(state)),
            number_cell(count, count_label),
            number_cell(100 * count / total, percent_text),
        )
        for state, count in counts.items()
    )
    caption = "Each task counts once, with its final outcome."
    return section("outcomes", "How the tasks have ended", caption, table("Outcomes", columns, rows))


def count_label(value: float) -> str:
    return count_text(round(value))
