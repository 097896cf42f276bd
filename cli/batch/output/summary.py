"""The lines about a batch for a person: one for each attempt that has ended, and the table at the end. Pure.

[ 12/1000] ok            fix-1  12.5 s  $0.0123
[ 13/1000] check_failed  fix-2  3m05s  $0.4  exit 1: 2 tests failed
[ 13/1000] retried       fix-3  3.2 s  $0  rate_limit: HTTP 529: overloaded
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rich.cells import cell_len

from cli.columns import align_columns
from cli.number_format import count_text, dollars, elapsed, plural
from wire.batch.outcome import TaskStatus
from wire.text import one_line, valid_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent.batch.request import NodeView
    from wire.batch.control import NodeState
    from wire.batch.journal_lines import Changed
    from wire.batch.outcome import Outcome
    from wire.batch.records import BatchChanged, BatchEnd, TaskEnd

REASON_LENGTH = 160
"""Characters, where no terminal tells how many there is room for."""
SHORTEST_REASON = 20
"""Characters that a reason has also in a narrow terminal."""
TRIED_AGAIN = "retried"
"""In place of the status of an attempt that is not the end of its task."""
_STATUS_WIDTH = len(TaskStatus.CHECK_FAILED.value)


def finished_line(end: TaskEnd, done: int, tasks: int, width: int | None = None) -> str:
    """The line about the end of an attempt. `done` tasks of `tasks` have ended, this one included if it is final. The
    reason is cut so that the line has `width` columns; None: there is no terminal."""
    outcome = end.outcome
    cost = "cost unknown" if outcome.cost_usd is None else dollars(outcome.cost_usd)
    count = f"[{done:>{len(str(tasks))}}/{tasks}]"
    is_tried_again = not end.final and outcome.status is not TaskStatus.INTERRUPTED
    status = f"{TRIED_AGAIN if is_tried_again else outcome.status.value:<{_STATUS_WIDTH}}"
    line = f"{count} {status}  {one_line(outcome.id, 200)}  {elapsed(outcome.duration_ms / 1000)}  {cost}"
    if outcome.node:
        line += f"  on {one_line(outcome.node, 60)}"
    if outcome.score is not None:
        line += "  no score" if outcome.score.value is None else f"  score {outcome.score.value:.4g}"
    reason = first_line(outcome.reason)
    if is_tried_again:
        reason = f"{outcome.status.value}: {reason}" if reason else outcome.status.value
    return f"{line}  {cut_to(reason, width, line)}" if reason else line


def node_text(node: NodeView | NodeState) -> str:
    """`node-2 (10.0.0.7): 3 of 4 runs`, or why it takes none. One that offers none yet is made ready."""
    where = f" ({one_line(valid_text(node.address), 60)})" if node.address else ""
    runs = f"{count_text(node.runs)} of {plural(node.jobs, 'run')}" if node.jobs else "joining"
    how = one_line(valid_text(node.trouble), 300) or runs
    return f"{one_line(valid_text(node.name), 60)}{where}: {how}"


def changed_line(change: BatchChanged | Changed) -> str:
    """`jobs 4 → 8 by zot batch ctl`."""
    words = change_text(change)
    return f"{words} by {'the key p' if change.by == 'key' else 'zot batch ctl'}"


def change_text(change: BatchChanged | Changed) -> str:
    """`jobs 4 → 8`."""
    value, before = change.value or 0, change.before
    if change.what == "jobs":
        return f"jobs {count_text(int(before or 0))} → {count_text(int(value))}"
    if change.what == "budget":
        from agent.batch.control.decision import budget_words

        return budget_words(before, value)
    if change.what == "requeue":
        aborted = " (its run was aborted)" if change.now else ""
        return f"task {one_line(valid_text(change.task), 200)} requeued{aborted}"
    if change.what == "pause":
        return "paused, running ones aborted" if change.now else "paused"
    return {"resume": "resumed", "stop": "stopped"}[change.what]


def first_line(reason: str) -> str:
    """The first line of a reason says what failed; the others say what to do, or show details."""
    lines = valid_text(reason).strip().splitlines()
    return one_line(lines[0], REASON_LENGTH) if lines else ""


def cut_to(reason: str, width: int | None, line: str) -> str:
    """The reason as it fits behind `line` and two spaces."""
    if width is None:
        return reason
    return one_line(reason, max(SHORTEST_REASON, width - cell_len(line) - 2))


MOST_GROUPS = 10
"""Maximum number of groups of failures in the list."""
MOST_IDS = 3
"""Maximum number of ids for each group."""
BUDGETS = {"--max-cost-usd": "USD", "--max-tokens": "N"}
"""Flags whose limits count all starts of a batch, with the words for their values."""
_STOPPED = {
    "drained": "it was asked to drain",
    "stopped": "it was interrupted",
    "budget": "--max-cost-usd or --max-tokens",
    "deadline": "--deadline has passed",
    "failures": "as many tasks as --max-failures have failed",
    "failed": "its files could not be written; make room, then start it again to resume",
    "killed": "its process was killed, or the machine went down",
}
NOT_RUN = "not_run"


def stopped_text(reason: str, limit: str) -> str:
    """`stopped before its end: …`; empty for a batch that is done. `limit` is the flag that was used up; empty: an
    earlier version of zot has not told."""
    if reason == "budget":
        what = limit or _STOPPED[reason]
        return f"stopped before its end: {what} is used up; all starts count, so it takes a higher limit to resume"
    return f"stopped before its end: {_STOPPED.get(reason, reason)}" if reason != "done" else ""


def cost_text(cost_usd: float | None, known_usd: float, reserved_usd: float) -> str:
    """`$1.20`, or `at least $1.20, as not all costs are known; $0.32 is reserved`."""
    if cost_usd is not None:
        return dollars(known_usd)
    reserved = f"; {dollars(reserved_usd)} is reserved" if reserved_usd else ""
    return f"at least {dollars(known_usd)}, as not all costs are known{reserved}"


class Failures:
    """Groups the tasks that have ended badly, by their status and reason."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str], list[str]] = {}
        self._last = ""

    def add(self, outcome: Outcome) -> None:
        """Counts a final outcome; one that is ok is in no group."""
        self._last = outcome.id
        if outcome.status.value != "ok":
            group = (outcome.status.value, first_line(outcome.reason))
            self._groups.setdefault(group, []).append(outcome.id)

    def remove(self, task: str) -> None:
        """Forgets a task, which is run again."""
        for group, ids in list(self._groups.items()):
            if task in ids:
                ids.remove(task)
                if not ids:
                    del self._groups[group]

    @property
    def example(self) -> str:
        """The id of a task that a person may want to look at; "" if none has ended."""
        return max(self._groups.values(), key=len)[0] if self._groups else self._last

    def lines(self, width: int | None = None) -> list[str]:
        """`COUNT  STATUS  IDS  REASON` in columns, the largest group first; nothing without failures. Reasons are cut
        to `width` columns."""
        groups = sorted(self._groups.items(), key=lambda item: -len(item[1]))
        if not groups:
            return []
        rows = [(str(len(ids)), status, _some(ids), reason or "-") for (status, reason), ids in groups[:MOST_GROUPS]]
        heading = ("tasks", "status", "ids", "reason")
        before = ["  " + line for line in align_columns([(*row[:3], "") for row in (heading, *rows)], right={0})]
        lines = [start + cut_to(row[3], width, start[:-2]) for start, row in zip(before, (heading, *rows), strict=True)]
        if len(groups) > MOST_GROUPS:
            rest = sum(len(ids) for _, ids in groups[MOST_GROUPS:])
            lines.append(f"  and {plural(rest, 'task')} with other reasons")
        return lines


def summary(end: BatchEnd, folder: str, failures: Failures, width: int | None = None, estimates: str = "") -> list[str]:
    """The results of the batch, why it ended, the failures of this start, and the commands to go on with. `width` is
    the terminal's, None without a terminal. `estimates` are those of repeated or scored tasks; empty without any."""
    ok = end.statuses.get("ok", 0)
    cost = cost_text(end.cost_usd, end.known_cost_usd, end.reserved_usd)
    where = shlex.quote(one_line(valid_text(folder), 4096))
    took = elapsed(round(end.duration_ms / 1000, 1))
    tokens = plural(end.usage.total, "token")
    lines = [f"{count_text(ok)} of {plural(end.tasks, 'task')} ok in {took}; {tokens}, {cost}"]
    if end.reason == "done" and not failures.example:
        bad = sum(end.statuses.values()) - ok
        kept = f"; {count_text(bad)} failed {'is' if bad == 1 else 'are'} kept" if bad else ""
        lines.insert(0, f"nothing to do: every task is done{kept}")
    others = statuses_text(end.statuses)
    if others:
        lines.append(others)
    if estimates:
        lines.append(estimates)
    if why := stopped_text(end.reason, end.limit):
        lines.append(why)
    if failed := failures.lines(width):
        lines += ["", *failed]
    commands = next_commands(
        where, end.statuses, example=failures.example, limit=end.limit, has_estimates=bool(estimates)
    )
    return [*lines, "", *commands]


def statuses_text(statuses: Mapping[str, int]) -> str:
    """The tasks that are not ok: `8 error, 3 timeout, 12 not run`."""
    kinds = [(status, count) for status, count in statuses.items() if count and status not in ("ok", NOT_RUN)]
    parts = [f"{count_text(count)} {status}" for status, count in sorted(kinds, key=lambda item: (-item[1], item[0]))]
    if left := statuses.get(NOT_RUN, 0):
        parts.append(f"{count_text(left)} not run")
    return ", ".join(parts)


def next_commands(
    where: str, statuses: Mapping[str, int], *, example: str = "", limit: str = "", has_estimates: bool = False
) -> list[str]:
    """The commands that make sense now. `where` is the folder as a shell takes it, `example` the id of a task that has
    run, `limit` the flag of a budget that has to be higher for more to start; empty: none has. `has_estimates`: tasks
    have repetitions or scores."""
    more = f" {limit} {BUDGETS[limit]}" if limit in BUDGETS else ""
    failed = any(count for status, count in statuses.items() if status not in ("ok", NOT_RUN))
    rows: list[tuple[str, str]] = [(f"zot batch results {where}", "the results, one JSON object per line")]
    if has_estimates:
        rows.append((f"zot batch results {where} --by task", "pass@k and scores, a row for each task"))
    if example:
        dashes = "-- " if example.startswith("-") else ""
        task = dashes + shlex.quote(one_line(valid_text(example), 200))
        rows.append((f"zot batch logs {where} {task}", "one run: its messages, tools and answer"))
    if statuses.get(NOT_RUN, 0):
        rows.append((f"zot batch retry {where} --status not_run{more}", "run the tasks that were not run"))
    if failed:
        rows.append((f"zot batch retry {where}{more}", "run again what has failed"))
    rows.append((f"zot report {where}", "a page of charts"))
    return align_columns(rows)


def _some(ids: Sequence[str]) -> str:
    names = [one_line(name, 60) for name in ids[:MOST_IDS]]
    more = len(ids) - MOST_IDS
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
