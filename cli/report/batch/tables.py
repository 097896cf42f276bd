"""The lists of the page of a batch: failures by reason, extremes, retries, extensions, and all tasks."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from cli.number_format import bytes_text, count_text, dollars, duration_text, elapsed, plural, short
from cli.report.batch.overview import advice, count_label, style_of
from cli.report.batch.reasons import groups_of
from cli.report.batch.selection import most_expensive, most_tried, slowest
from cli.report.markup import text
from cli.report.page.table import Cell, TableColumn, chip, name_text, number_cell, section, table
from cli.report.page.top import code_elements
from wire.batch.outcome import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from cli.report.batch.figures import BatchFigures, ExtensionUse, TaskFigures

GROUPS = 60
"""Maximum number of shown groups of failures."""
GROUP_OPEN, GROUP_TASKS = 12, 300
"""Maximum number of tasks of a group: shown at once, and unfolded."""
GROUP_REASON = 600
SAID_CHARACTERS, WHY_CHARACTERS = 700, 160
FEW = 30
"""Number of tasks up to which a list of some of them tells nothing more than that of all."""
EXTENSIONS = 300
ROWS = 15
"""Maximum number of rows that the script shows at once in the table of all tasks."""
ROWS_HELD = 20_000
"""Maximum number of tasks in the table; failed ones come first."""
TASK = TableColumn("task", is_text=True, is_name=True)
OUTCOME = TableColumn("outcome", is_text=True)


class Links:
    """Links to the pages of tasks."""

    def __init__(self, folder: str, names: dict[str, str]) -> None:
        """`folder` is part of an address and escaped as such; `names` has the files of the tasks with a page, by id."""
        self.folder = folder
        self.names = names

    def to(self, task: str) -> str:
        """The id of a task, as a link if it has a page."""
        return name_text(task, self._address(task))

    def cell(self, task: str, label: str = "") -> Cell:
        """The cell with the name of a task, or with another label that leads to its page."""
        return Cell(label or task, link=self._address(task))

    def _address(self, task: str) -> str:
        page = self.names.get(task)
        return f"{self.folder}/{page}" if page else ""


def failures(batch: BatchFigures, links: Links) -> str:
    """Tasks that have failed, grouped by reason; empty without any."""
    groups = groups_of(batch.tasks)
    if not groups:
        return ""
    shown = ""
    for group in groups[:GROUPS]:
        tasks = [links.to(task.id) for task in group.tasks[:GROUP_TASKS]]
        more = len(group.tasks) - len(tasks)
        folded = tasks[GROUP_OPEN:]
        rest = ""
        if folded:
            left_out = f"<li>and {count_text(more)} more</li>" if more else ""
            rest = (
                f"<details><summary>{count_text(len(group.tasks) - GROUP_OPEN)} more</summary>"
                f'<ul class="ids">{_items(folded)}{left_out}</ul></details>'
            )
        kind = text(group.error_kind, 40)
        shown += (
            f"<li><div>{chip(group.status, 'bad')} {kind} <b>{plural(len(group.tasks), 'task')}</b> "
            f'<span class="soft">{_advice(group.tasks[0])}</span></div>'
            f'<p class="reason"><bdi>{text(group.reason.strip() or "no reason was given", GROUP_REASON)}</bdi></p>'
            f'{_output(group.tasks[0])}<ul class="ids">{_items(tasks[:GROUP_OPEN])}</ul>{rest}</li>'
        )
    left = len(groups) - GROUPS
    caption = "The largest group first. … stands for numbers and ids that differ from task to task."
    if left > 0:
        caption += f" {plural(left, 'smaller group is', 'smaller groups are')} not shown."
    return section("failures", "Failures by reason", caption, f'<ol class="groups">{shown}</ol>')


def _advice(task: TaskFigures) -> str:
    return code_elements(text(advice(told))) if (told := task.told) is not None else ""


def _output(task: TaskFigures) -> str:
    """The lines of the failed command of a task that tell why; empty if none has failed."""
    told = task.told
    if told is None or not told.said:
        return ""
    return f'<p class="soft">{text(task.id, 80)} said:</p><pre class="said">{text(told.said, SAID_CHARACTERS)}</pre>'


def _items(items: Sequence[str]) -> str:
    return "".join(f"<li>{item}</li>" for item in items)


def pauses(batch: BatchFigures) -> str:
    """Why runs waited, and how long; empty if none did."""
    rows = [
        (
            Cell(one.reason[:200] or "no reason was given"),
            number_cell(one.times, count_label),
            number_cell(one.seconds, elapsed),
        )
        for one in batch.workload.pauses()
    ]
    columns = (TableColumn("why runs waited", is_text=True), TableColumn("pauses"), TableColumn("all runs together"))
    return table("Pauses", columns, rows) if rows else ""


def extremes(batch: BatchFigures, links: Links) -> str:
    """The slowest tasks and the most expensive ones; empty if the table of all tasks shows them as well."""
    if len(batch.tasks) <= FEW:
        return ""
    columns = (TASK, OUTCOME, *map(TableColumn, ("time", "paused", "cost", "tokens")))
    parts = [
        f"<div><h3>{title}</h3>{table(title, columns, (_extreme(task, links) for task in tasks))}</div>"
        for title, tasks in (("Slowest", slowest(batch.tasks)), ("Most expensive", most_expensive(batch.tasks)))
        if tasks
    ]
    if not parts:
        return ""
    return section(
        "extremes",
        "Slowest and most expensive tasks",
        "The time is that of the attempt that counts, pauses included; cost and tokens are those of all attempts of "
        "the task.",
        f'<div class="pair">{"".join(parts)}</div>',
    )


def _extreme(task: TaskFigures, links: Links) -> list[Cell]:
    told = task.told
    assert told is not None
    return [
        links.cell(task.id),
        _state(told.status.value),
        number_cell(told.duration_s, elapsed),
        number_cell(told.paused_s or None, elapsed),
        _cost(task),
        number_cell(task.tokens, count_label),
    ]


def _state(state: str) -> Cell:
    return Cell(state, style=style_of(state))


def _cost(task: TaskFigures) -> Cell:
    cost = task.cost_usd
    return Cell("unknown" if task.attempts else "-") if cost is None else number_cell(cost, dollars)


def retries(batch: BatchFigures, links: Links) -> str:
    """Attempts that were followed by another one; empty without any."""
    before: Counter[str] = Counter()
    helped: Counter[str] = Counter()
    for task in batch.tasks:
        for one in task.attempts:
            final = task.final
            if not one.is_final and (final is None or one.number < final.number):
                before[one.status.value] += 1
                helped[one.status.value] += task.state is TaskStatus.OK
    tried = most_tried(batch.tasks)
    if not before or not tried:
        return ""
    by_status = table(
        "Retries by status",
        (TableColumn("attempt ended with", is_text=True), TableColumn("attempts"), TableColumn("task ok now")),
        (
            (_state(status), number_cell(count, count_label), number_cell(helped[status], count_label))
            for status, count in before.most_common()
        ),
    )
    by_task = table(
        "Most attempts",
        (TASK, TableColumn("now", is_text=True), TableColumn("attempts"), TableColumn("cost of all")),
        (
            (links.cell(task.id), _state(task.state.value), number_cell(len(task.attempts), count_label), _cost(task))
            for task in tried
        ),
    )
    return section(
        "retries",
        "Tried again",
        "Attempts whose outcome is not the final one of their task: retries, tasks that were interrupted, and results "
        "that were run again on demand.",
        f'<div class="pair"><div><h3>Why</h3>{by_status}</div><div><h3>Most attempts</h3>{by_task}</div></div>',
    )


def _seconds(cpu_s: float) -> str:
    return f"{short(cpu_s)} s" if cpu_s < 60 else elapsed(cpu_s)


_EXTENSION_COLUMNS: tuple[tuple[str, Callable[[ExtensionUse], float | None], Callable[[float], str]], ...] = (
    ("runs", lambda use: use.runs, count_label),
    ("CPU", lambda use: use.cpu_s if use.hosted_runs < use.runs else None, _seconds),
    ("peak RSS", lambda use: use.rss_peak_bytes if use.hosted_runs < use.runs else None, bytes_text),
    ("CPU share", lambda use: use.cpu_share_s if use.hosted_runs else None, lambda cpu_s: f"~{_seconds(cpu_s)}"),
    ("host's memory", lambda use: sum(use.host_rss_bytes.values()) if use.hosted_runs else None, bytes_text),
    ("model tokens", lambda use: use.model_tokens, count_label),
    ("dollars", lambda use: None if use.model_tokens is None else use.model_usd, dollars),
    ("calls", lambda use: use.calls, count_label),
    ("waited", lambda use: use.start_wait_s or None, elapsed),
    ("slowest p99", lambda use: use.p99_ms, duration_text),
    ("errors", lambda use: use.errors, count_label),
    ("timeouts", lambda use: use.timeouts, count_label),
    ("blocks", lambda use: use.blocks, count_label),
    ("restarts", lambda use: use.restarts, count_label),
    ("unexpected exits", lambda use: use.unexpected_exits, count_label),
    ("lost", lambda use: use.lost, count_label),
)
_MISSING_OFTEN = frozenset({"CPU share", "host's memory", "waited", "model tokens", "dollars"})
"""Columns that are left out if no extension has a value: `waited` is for starts of those that start when needed."""
_HINTS = {
    "model tokens": "tokens of its tools' definitions and results in all requests to the model",
    "dollars": "US dollars of its model tokens",
}
_BAD = frozenset({"errors", "timeouts", "restarts", "unexpected exits", "lost"})


def extensions(batch: BatchFigures) -> str:
    """The section with the use of each extension in all attempts; empty without extensions."""
    if not batch.extensions:
        return ""
    hosts = {host for use in batch.extensions for host in use.host_rss_bytes}
    held = [
        (title, value, label)
        for title, value, label in _EXTENSION_COLUMNS
        if title not in _MISSING_OFTEN or any(value(use) is not None for use in batch.extensions)
    ]
    columns = [
        TableColumn("extension", is_text=True, is_name=True),
        *(TableColumn(title, _HINTS.get(title, ""), has_bar=title == "CPU") for title, *_ in held),
    ]
    rows = (
        [
            Cell(use.name, note=f"{plural(use.hosted_runs, 'run')} of a host" if use.hosted_runs else ""),
            *(number_cell(value(use), label, is_bad=title in _BAD) for title, value, label in held),
        ]
        for use in batch.extensions[:EXTENSIONS]
    )
    left = len(batch.extensions) - EXTENSIONS
    more = f" {count_text(left)} with less use are not shown." if left > 0 else ""
    return section(
        "extensions",
        "Use of each extension",
        "Sums of all attempts, over whole process trees; peak RSS and p99 are the highest of any attempt. The most CPU "
        f"first.{_shared(batch, hosts)}{more}",
        table("Extensions", columns, rows),
    )


def _shared(batch: BatchFigures, hosts: Collection[tuple[str, int]]) -> str:
    """The use of hosts' extensions by all tasks together."""
    if not hosts:
        return ""
    shares = sum(use.cpu_share_s for use in batch.extensions)
    memory = sum(sum(use.host_rss_bytes.values()) for use in batch.extensions)
    where = f"host {min(hosts)[1]}" if len(hosts) == 1 else plural(len(hosts), "host")
    return (
        f" Processes of {where} had ~{_seconds(shares)} of CPU for these runs, by their busy time; their memory, "
        f"{bytes_text(memory)} at most, is there once for all runs."
    )


def all_tasks(batch: BatchFigures, links: Links, said: str) -> str:
    """The section with all tasks. `said` tells which have a page."""
    # Failed tasks first, then the others in their order.
    shown = sorted(batch.tasks, key=lambda task: not task.has_failed)[:ROWS_HELD]
    if not shown:
        return ""
    columns: list[tuple[TableColumn, Callable[[TaskFigures], Cell]]] = [
        (TASK, lambda task: links.cell(task.id)),
        (OUTCOME, lambda task: _state(task.state.value)),
    ]
    if any(task.has_failed for task in shown):
        columns.append((TableColumn("why", is_text=True), lambda task: Cell(_why(task))))
    if batch.has_scores:
        columns.append((TableColumn("score"), lambda task: number_cell(task.score, short)))
    if any(task.node for task in shown):
        columns.append((TableColumn("node", is_text=True), lambda task: Cell(task.node)))
    columns += _FIGURES
    if len(batch.results.shards) > 1:
        folder = TableColumn("batch", "the folder with its last attempt", is_text=True)
        columns.append((folder, lambda task: Cell(_rundir(batch, task))))
    rows = ([cell(task) for _, cell in columns] for task in shown)
    held = len(batch.tasks) - len(shown)
    left = f" {plural(held, 'task')} at the end of the order are left out." if held > 0 else ""
    return section(
        "tasks",
        "All tasks",
        f"{text(said)} Failed tasks come first.{left}",
        table("All tasks", [column for column, _ in columns], rows, filter_hint="Filter by id or outcome", shown=ROWS),
    )


def _rundir(batch: BatchFigures, task: TaskFigures) -> str:
    """The folder with the files of the attempt that tells most, as the user has named it; empty without an attempt."""
    return str(batch.results.locate(task.id, task.latest)[0].path) if task.latest else ""


def _why(task: TaskFigures) -> str:
    """One line on why a task has failed; empty if it has not."""
    told = task.told
    if told is None or not task.has_failed:
        return ""
    why = (told.said or told.reason).strip().partition("\n")[0]
    return why if len(why) <= WHY_CHARACTERS else f"{why[: WHY_CHARACTERS - 1]}…"


_FIGURES: list[tuple[TableColumn, Callable[[TaskFigures], Cell]]] = [
    (TableColumn("attempts"), lambda task: number_cell(len(task.attempts), count_label)),
    (TableColumn("time"), lambda task: number_cell(told.duration_s if (told := task.told) else None, elapsed)),
    (TableColumn("cost"), _cost),
    (TableColumn("tokens"), lambda task: number_cell(task.tokens if task.attempts else None, count_label)),
]
"""Columns of the table of all tasks."""
