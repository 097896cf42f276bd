"""The top of the page of a batch: how it went, what to do next, and how its tasks have ended."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, NamedTuple

from cli.number_format import bytes_text, clock_text, count_text, dollars, elapsed, percent_text, plural, short
from cli.report.batch.figures import BatchPhase, OpenTaskState, evaluate
from cli.report.markup import text
from cli.report.page.table import Cell, TableColumn, number_cell, section, table
from cli.report.page.top import Tile, findings, tile_row, top
from wire.batch.outcome import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent.batch.evaluation.interval import Estimate
    from cli.report.batch.figures import AttemptFigures, BatchFigures

WAITING_MATTERS = 0.2
"""The share of the time of all runs from which waiting for rate limits is worth a word."""
MODELS_NAMED = 4
TILES = 5
"""Maximum number of tiles."""
COMMAND_CHARACTERS = 4000
"""A path has 4,096 bytes at most."""
RAISED = ("--max-failures", "--max-cost-usd", "--max-tokens")
"""Limits that `zot batch retry` takes."""
SANE_LIMIT = 1e12
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
    TaskStatus.ERROR: "such a failure may pass when the task is run again",
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


class Step(NamedTuple):
    """One thing to do now."""

    title: str
    commands: tuple[str, ...]
    why: str = ""
    is_bad: bool = False
    """Whether it is about a failure."""


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
    """Title, facts, notes, what to do next, and tiles. `folder` has the paths of its folders as a shell takes them;
    `written` says when the page was made."""
    ok = sum(task.is_ok for task in batch.tasks)
    title = f"{batch.name}: {count_text(ok)} of {plural(len(batch.tasks), 'task')} ok"
    models = ", ".join(batch.models[:MODELS_NAMED])
    if len(batch.models) > MODELS_NAMED:
        models += f" and {len(batch.models) - MODELS_NAMED} more"
    peak = max((one.memory_peak_bytes for task in batch.tasks for one in task.attempts), default=0)
    facts = [
        ("batch", ended_text(batch)),
        ("begun", clock_text(batch.began)),
        ("starts", count_text(batch.starts) if batch.starts > 1 else ""),
        ("attempts", count_text(batch.attempts) if batch.attempts > len(batch.tasks) else ""),
        ("at a time", plural(batch.jobs, "run") if batch.jobs else ""),
        ("memory of a run", f"{bytes_text(peak)} at most" if peak else ""),
        ("models" if len(batch.models) > 1 else "model", models),
        ("zot", batch.version),
        ("page made", written),
    ]
    steps = next_steps(batch, folder)
    calm = "All tasks are ok." if ok else "There are no tasks." if not batch.tasks else ""
    return top(title, facts, batch.notes) + _actions(steps, calm) + tile_row(tiles(batch))


def _actions(steps: Sequence[Step], calm: str) -> str:
    rows = [
        (
            text(step.title),
            "".join(f'<code class="command">{text(command, COMMAND_CHARACTERS)}</code> ' for command in step.commands)
            + (f"<em>{text(step.why)}</em>" if step.why else ""),
            step.is_bad,
        )
        for step in steps
    ]
    return findings("Next steps", rows, calm) if rows or calm else ""


def tiles(batch: BatchFigures) -> list[Tile]:
    """Five figures at most."""
    tasks, total = batch.tasks, len(batch.tasks)
    ok, failed = sum(task.is_ok for task in tasks), sum(task.has_failed for task in tasks)
    left = total - ok - failed
    usage = batch.usage
    cost, of_cost = dollars(batch.known_cost_usd), plural(usage.total, "token")
    if batch.unknown_costs:
        cost = f"≥ {cost}" if batch.known_cost_usd else "unknown"
        reserved = f"; {dollars(batch.reserved_usd)} reserved" if batch.reserved_usd else ""
        of_cost = f"cost of {plural(batch.unknown_costs, 'attempt')} unknown{reserved}"
    not_ok = percent_text(100 * failed / total) if total else ""
    found = [
        Tile("Ok", count_text(ok), percent_text(100 * ok / total) if total else ""),
        Tile("Not ok", count_text(failed), not_ok, failed > 0),
        Tile("Cost", cost, of_cost, batch.unknown_costs > 0, "warn"),
        Tile("Time of work", elapsed(batch.workload.end), _work_text(batch)),
    ]
    if left:
        found.insert(2, Tile("Without an end", count_text(left), _time_left(batch), is_bad=True, style="warn"))
    if (score := _score_tile(batch)) is not None:
        found.insert(2, score)
    elif not left:
        read = usage.input + usage.cache_read + usage.cache_write
        told = f"{count_text(read)} read, {count_text(usage.output)} written"
        found.append(Tile("Tokens", count_text(usage.total), told))
    if len(found) > TILES:  # the title and the next steps say how many are not ok
        del found[1]
    return found


def _work_text(batch: BatchFigures) -> str:
    """The pace, and the pauses if there were any."""
    worked = batch.workload.end
    attempts = sum(len(task.attempts) for task in batch.tasks)
    pace = f"{short(60 * attempts / worked)} runs a minute" if worked else ""
    paused_s = sum(pauses.seconds for pauses in batch.workload.pauses())
    return f"{pace}; runs waited {elapsed(paused_s)}" if paused_s else pace


def _score_tile(batch: BatchFigures) -> Tile | None:
    """The mean score, or pass@1, with its interval; None if no task has a score or is repeated."""
    if not batch.has_scores and not batch.has_repetitions:
        return None
    found = evaluate(batch.tasks)
    passed = sum(task.passed for task in found.tasks.values())
    said = f"{count_text(passed)} of {plural(found.count, 'run')} passed"
    if any(score not in (0, 1) for task in found.tasks.values() for score in task.scores):
        title, estimate, label = "Mean score", found.score(), short
    else:
        title, estimate, label = "pass@1", found.pass_at(1), percent_of_one
    if estimate.value is None:
        return None
    interval = f"95 %: {range_text(estimate, label).strip(' ()')}; " if estimate.low is not None else ""
    return Tile(title, label(estimate.value), f"{interval}{said}")


def percent_of_one(value: float) -> str:
    return percent_text(100 * value)


def range_text(estimate: Estimate, label: Callable[[float], str]) -> str:
    """The interval, such as ` (41 % to 63 %)`; empty without one."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f" ({label(estimate.low)} to {label(estimate.high)})"


def _time_left(batch: BatchFigures) -> str:
    counts = batch.states()
    words = {
        OpenTaskState.RUNNING: "running",
        OpenTaskState.INTERRUPTED: "interrupted",
        OpenTaskState.NOT_RUN: "not run",
    }
    parts = [f"{count_text(counts[state.value])} {word}" for state, word in words.items() if counts.get(state.value)]
    return ", ".join(parts) or "all have one"


def advice(attempt: AttemptFigures) -> str:
    """The advice for a failure, with commands and flags between backquotes; empty without any."""
    if attempt.error_kind == "overloaded":
        return "the provider was overloaded: run them again later"
    if attempt.status is TaskStatus.ERROR and not attempt.may_pass:
        return "such a failure would come again: change what the reason names"
    return ADVICE.get(attempt.status, "")


def next_steps(batch: BatchFigures, folder: str) -> list[Step]:
    """The most important first. `folder` has the paths of its folders as a shell takes them."""
    results, more = batch.results, ""
    is_one = len(results.shards) == 1
    if not is_one:
        more = " -o report.html" + (f" --prefer {results.prefer}" if results.prefer else "")
    left = [task.id for task in batch.tasks if isinstance(task.state, OpenTaskState)]
    failed = [task.id for task in batch.tasks if task.has_failed]
    unscored = [task.id for task in batch.tasks if (told := task.final) is not None and told.is_unscored]

    def commands(command: str, tasks: Sequence[str], flags: str = "") -> tuple[str, ...]:
        """The command for each folder that has some of the tasks."""
        found = [shlex.quote(os.path.abspath(one.path)) for one in results.folders_of(tasks)]
        return tuple(f"zot batch {command} {one}{flags}" for one in found)

    found: list[Step] = []
    if batch.phase is BatchPhase.RUNNING:
        found.append(Step("The batch is still running: make this page again later", (f"zot report {folder}{more}",)))
    elif batch.phase is BatchPhase.NOT_BEGUN and left:
        found.append(Step("No task was begun: give the command of the batch again", ()))
    elif left:
        title = f"{plural(len(left), 'task was', 'tasks were')} not run to the end: go on"
        if limit := _higher_limit(batch):
            title = f"{plural(len(left), 'task was', 'tasks were')} not run: raise {batch.limit}, and go on"
        is_killed = batch.phase is BatchPhase.KILLED
        found.append(Step(title, commands("retry", left, f" --status not_run{limit}"), is_bad=is_killed))
    if failed:
        again = commands("retry", failed)
        title = f"{plural(len(failed), 'task')} failed: run {'it' if len(failed) == 1 else 'them'} again"
        found.append(Step(title, again, "once the causes below are mended", is_bad=True))
        found.append(Step("Read why", commands("logs", failed, " --failed"), "one failed task after another"))
    if unscored:
        them = "it" if len(unscored) == 1 else "them"
        title = f"{plural(len(unscored), 'task has', 'tasks have')} no score: score {them} again"
        found.append(Step(title, commands("score", unscored, " --missing"), "no model runs for this", is_bad=True))
    return found + _waiting(batch, folder)


def _waiting(batch: BatchFigures, folder: str) -> list[Step]:
    """The step for runs that have waited for rate limits for much of their time; empty otherwise."""
    runs_s = sum(one.duration_s for task in batch.tasks for one in task.attempts)
    paused_s = sum(pauses.seconds for pauses in batch.workload.pauses() if pauses.is_rate_limit)
    if not runs_s or paused_s <= WAITING_MATTERS * runs_s:
        return []
    why = f"runs waited {percent_text(100 * paused_s / runs_s)} of their time for rate limits: more would only wait"
    if batch.phase is BatchPhase.RUNNING and batch.jobs > 1 and len(batch.results.shards) == 1:
        return [Step("Use fewer --jobs", (f"zot batch ctl {folder} jobs {batch.jobs // 2}",), why)]
    return [Step("Use fewer --jobs next time", (), why)]


def _higher_limit(batch: BatchFigures) -> str:
    """The flag of the limit that has ended the batch, with twice its value; empty if none has, or it counts from each
    start anew."""
    value = batch.flags.get(batch.limit.removeprefix("--").replace("-", "_"))
    if batch.limit not in RAISED or not isinstance(value, (int, float)) or value > SANE_LIMIT:
        return ""
    return f" {batch.limit} {2 * value:g}" if isinstance(value, float) else f" {batch.limit} {2 * value}"


def style_of(state: str) -> str:
    """The style of a state: good, bad, waits or plain."""
    if state == TaskStatus.OK.value:
        return "good"
    return {"running": "waits", "interrupted": "waits", "not_run": "plain"}.get(state, "bad")


def outcomes(batch: BatchFigures) -> str:
    """How many tasks have ended how; empty if all have ended in one way, which the title says."""
    counts, total = batch.states(), len(batch.tasks)
    if len(counts) < 2:
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
