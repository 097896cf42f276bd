"""The lists of the page of a batch: failures by reason, extremes, retries, extensions, and all tasks."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from cli.number_format import bytes_text, count_text, dollars, duration_text, elapsed, plural, short
from cli.report.batch.chosen import most_expensive, most_tried, slowest
from cli.report.batch.overview import chip
from cli.report.batch.reasons import groups_of
from cli.report.markup import name, number, text
from wire.batch.outcome import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cli.report.batch.figures import BatchFigures, ExtensionUse, TaskFigures

ID_CHARACTERS = 80
GROUPS = 60
"""Groups of failures that are shown."""
GROUP_OPEN, GROUP_TASKS = 12, 300
"""Tasks of a group that are shown at once, and those that can be unfolded."""
GROUP_REASON = 600
EXTENSIONS = 300
ROWS = 100
"""Rows of the table of all tasks that are there without the script, and that the script shows at once."""
ROWS_HELD = 20_000
"""Tasks that the table can show; those that are not ok come first."""


TEXT = ' class="text"'


class Links:
    """Where the page of each task is."""

    def __init__(self, folder: str, names: dict[str, str]) -> None:
        """`folder` is part of an address and escaped as such; `names` has the files of the tasks with a page, by id."""
        self.folder = folder
        self.names = names

    def to(self, task: str) -> str:
        """The id of a task, as a link if it has a page."""
        shown = f"<bdi>{text(task, ID_CHARACTERS) if task.strip() else name(task)}</bdi>"
        page = self.names.get(task)
        return f'<a href="{self.folder}/{page}">{shown}</a>' if page else shown


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
            f"<li><div>{chip(group.status)} {kind} <b>{plural(len(group.tasks), 'task')}</b></div>"
            f'<p class="reason"><bdi>{text(group.reason.strip() or "no reason was given", GROUP_REASON)}</bdi></p>'
            f'<ul class="ids">{_items(tasks[:GROUP_OPEN])}</ul>{rest}</li>'
        )
    left = len(groups) - GROUPS
    caption = "The largest group first. … stands for numbers and ids that differ from task to task."
    if left > 0:
        caption += f" {plural(left, 'smaller group is', 'smaller groups are')} not shown."
    return (
        f'<section id="failures"><h2>Failures by reason</h2><p class="caption">{caption}</p>'
        f'<ol class="groups">{shown}</ol></section>'
    )


def _items(items: Sequence[str]) -> str:
    return "".join(f"<li>{item}</li>" for item in items)


def pauses(batch: BatchFigures) -> str:
    """Why runs waited, and how long; empty if none did."""
    found = batch.workload.pauses()
    if not found:
        return ""
    rows = "".join(
        f'<tr><td class="text"><bdi>{text(one.reason or "no reason was given", 200)}</bdi></td>'
        f"<td>{count_text(one.times)}</td><td>{elapsed(one.seconds)}</td></tr>"
        for one in found
    )
    return _table(("why runs waited", "pauses", "all runs together"), rows, "Pauses", texts=1)


def extremes(batch: BatchFigures, links: Links) -> str:
    """The slowest tasks and the most expensive ones; empty before the first end."""
    parts = ""
    for title, tasks in (("Slowest", slowest(batch.tasks)), ("Most expensive", most_expensive(batch.tasks))):
        if tasks:
            rows = "".join(_extreme(task, links) for task in tasks)
            parts += f"<div><h3>{title}</h3>{_table(HEADS, rows, title, texts=2)}</div>"
    if not parts:
        return ""
    return (
        '<section id="extremes"><h2>Slowest and most expensive tasks</h2><p class="caption">The time is that of the '
        "attempt that counts, pauses included; cost and tokens are those of all attempts of the task.</p>"
        f'<div class="pair">{parts}</div></section>'
    )


HEADS = ("task", "outcome", "time", "paused", "cost", "tokens")


def _extreme(task: TaskFigures, links: Links) -> str:
    told = task.told
    assert told is not None
    return (
        f'<tr><th scope="row">{links.to(task.id)}</th><td class="text">{chip(told.status.value)}</td>'
        f"<td>{elapsed(told.duration_s)}</td><td>{elapsed(told.paused_s) if told.paused_s else '-'}</td>"
        f"<td>{_cost(task)}</td><td>{count_text(task.tokens)}</td></tr>"
    )


def _cost(task: TaskFigures) -> str:
    cost = task.cost_usd
    return "not known" if cost is None else dollars(cost)


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
    rows = "".join(
        f'<tr><td class="text">{chip(status)}</td><td>{count_text(count)}</td><td>{count_text(helped[status])}</td>'
        "</tr>"
        for status, count in before.most_common()
    )
    most = "".join(
        f'<tr><th scope="row">{links.to(task.id)}</th><td class="text">{chip(task.state.value)}</td>'
        f"<td>{count_text(len(task.attempts))}</td><td>{_cost(task)}</td></tr>"
        for task in tried
    )
    by_status = _table(("attempt ended with", "attempts", "task ok now"), rows, "Retries by status", texts=1)
    by_task = _table(("task", "now", "attempts", "cost of all"), most, "Most attempts", texts=2)
    return (
        '<section id="retries"><h2>Tried again</h2><p class="caption">Attempts whose outcome is not the final one of '
        "their task: retries, tasks that were interrupted, and results that were run again on demand.</p>"
        f'<div class="pair"><div><h3>Why</h3>{by_status}</div><div><h3>Most attempts</h3>{by_task}</div></div>'
        "</section>"
    )


_EXTENSION_COLUMNS: tuple[tuple[str, Callable[[ExtensionUse], str]], ...] = (
    ("runs", lambda use: count_text(use.runs)),
    ("CPU", lambda use: f"{short(use.cpu_s)} s" if use.cpu_s < 60 else elapsed(use.cpu_s)),
    ("peak RSS", lambda use: bytes_text(use.rss_peak_bytes)),
    ("calls", lambda use: count_text(use.calls)),
    ("slowest p99", lambda use: duration_text(use.p99_ms)),
    ("errors", lambda use: count_text(use.errors)),
    ("timeouts", lambda use: count_text(use.timeouts)),
    ("blocks", lambda use: count_text(use.blocks)),
    ("restarts", lambda use: count_text(use.restarts)),
    ("unexpected exits", lambda use: count_text(use.unexpected_exits)),
    ("lost", lambda use: count_text(use.lost)),
)
_BAD = frozenset({"errors", "timeouts", "restarts", "unexpected exits", "lost"})


def extensions(batch: BatchFigures) -> str:
    """What each extension used in all attempts; empty without extensions."""
    if not batch.extensions:
        return ""
    most_cpu = max(use.cpu_s for use in batch.extensions)
    rows = ""
    for use in batch.extensions[:EXTENSIONS]:
        rows += f'<tr><th scope="row"><bdi>{name(use.name)}</bdi></th>'
        for title, shown in _EXTENSION_COLUMNS:
            value = shown(use)
            style = ' class="zero"' if value == "0" else ' class="bad"' if title in _BAD else ""
            bar = (
                f'<i style="width:{number(100 * use.cpu_s / most_cpu, 1)}%"></i>' if title == "CPU" and most_cpu else ""
            )
            rows += f"<td{style}>{bar}<span>{value}</span></td>"
        rows += "</tr>"
    left = len(batch.extensions) - EXTENSIONS
    more = f" {count_text(left)} with less use are not shown." if left > 0 else ""
    heads = ("extension", *(title for title, _ in _EXTENSION_COLUMNS))
    return (
        '<section id="extensions"><h2>What the extensions used</h2><p class="caption">Sums of all attempts, over whole '
        f"process trees; peak RSS and p99 are the highest of any attempt. The most CPU first.{more}</p>"
        f"{_table(heads, rows, 'Extensions', texts=1)}</section>"
    )


def _table(heads: Sequence[str], rows: str, label: str, *, texts: int) -> str:
    """A table that scrolls by itself. The first `texts` columns are texts, the others numbers."""
    head = "".join(
        f'<th scope="col"{TEXT if index < texts else ""}>{text(title)}</th>' for index, title in enumerate(heads)
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(label)}"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def all_tasks(batch: BatchFigures, links: Links, said: str) -> tuple[str, dict[str, Any]]:
    """The section with all tasks, and the data of which the script makes its rows. `said` tells which have a page."""
    # Those that have failed first, then the others in their order.
    shown = sorted(batch.tasks, key=lambda task: not task.has_failed)[:ROWS_HELD]
    if not shown:
        return "", {}
    rows = "".join(_row(task, links) for task in shown[:ROWS])
    data = {
        "folder": links.folder,
        "most": ROWS,
        "tasks": [
            [
                task.id[:ID_CHARACTERS],
                task.state.value,
                len(task.attempts),
                round(told.duration_s, 3) if (told := task.told) else None,
                task.cost_usd,
                task.tokens if task.attempts else None,
                links.names.get(task.id, ""),
            ]
            for task in shown
        ],
    }
    kinds = ("text", "text", "number", "number", "number", "number")
    titles = ("task", "outcome", "attempts", "time", "cost", "tokens")
    head = "".join(
        f'<th scope="col"{TEXT if kind == "text" else ""}><button type="button">{title}</button></th>'
        for kind, title in zip(kinds, titles, strict=True)
    )
    held = len(batch.tasks) - len(shown)
    left = f" {plural(held, 'task')} at the end of the order are left out." if held > 0 else ""
    return (
        '<section id="tasks"><h2>All tasks</h2>'
        f'<p class="caption">{text(said)} Those that have failed come first.{left}</p>'
        '<p class="filter" hidden><input type="search" id="filter" placeholder="Filter by id or outcome" '
        'aria-label="Filter the tasks by id or outcome"> <span id="count" role="status"></span></p>'
        '<div class="scroll" tabindex="0" role="region" aria-label="All tasks"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        f'<p class="more"><button type="button" id="more" hidden>show more</button><noscript>{_first(shown)}</noscript>'
        "</p></section>"
    ), data


def _row(task: TaskFigures, links: Links) -> str:
    told = task.told
    took, cost, tokens = ("-", "-", "-") if told is None else (elapsed(told.duration_s), _cost(task), _tokens(task))
    return (
        f'<tr><th scope="row">{links.to(task.id)}</th><td class="text">{chip(task.state.value)}</td>'
        f"<td>{count_text(len(task.attempts))}</td><td>{took}</td><td>{cost}</td><td>{tokens}</td></tr>"
    )


def _tokens(task: TaskFigures) -> str:
    return count_text(task.tokens)


def _first(shown: Sequence[TaskFigures]) -> str:
    return (
        f"The first {ROWS} of {count_text(len(shown))}: a browser with scripts shows all." if len(shown) > ROWS else ""
    )
