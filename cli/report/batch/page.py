"""Assembles the page of a batch: one file that works alone and may not fetch anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cli.number_format import count_text, dollars, elapsed, plural
from cli.report.batch.charts import distribution, workload_chart
from cli.report.batch.overview import overview
from cli.report.batch.tables import all_tasks, extensions, extremes, failures, pauses, retries
from cli.report.markup import script_data, text
from cli.report.page.shell import document, packaged

if TYPE_CHECKING:
    from cli.report.batch.figures import BatchFigures
    from cli.report.batch.tables import Links

ROOM = Path(__file__).parent


def render(batch: BatchFigures, links: Links, *, folder: str, pages_said: str, written: str, version: str) -> str:
    """The HTML of the whole page. `folder` has the names of its folders as a shell takes them; `pages_said` tells which
    tasks have a page of their own; `written` says when the page was made."""
    tasks, data = all_tasks(batch, links, pages_said)
    body = (
        overview(batch, folder, written)
        + failures(batch, links)
        + _workload(batch)
        + _distributions(batch)
        + extremes(batch, links)
        + retries(batch, links)
        + extensions(batch)
        + tasks
    )
    script = f'"use strict";\n(() => {{\n{packaged("script/numbers.js")}\n{packaged("batch.js", folder=ROOM)}\n}})();'
    return document(
        f"{text(batch.name, 100)}: a batch of zot",
        packaged("colors.css", "page.css") + "\n" + packaged("batch.css", folder=ROOM),
        f"<main>{body}</main><footer>Made by zot {text(version)} from {text(folder, 200)}.</footer>"
        f'<script type="application/json" id="data">{script_data(data)}</script>',
        script,
    )


def _workload(batch: BatchFigures) -> str:
    chart = workload_chart(batch.workload)
    if not chart:
        return ""
    caption = (
        f"At most {plural(batch.workload.most, 'run')} at the same time. The axis is the time of work since the start"
    )
    if len(batch.workload.starts) > 1:
        caption += (
            f"; the batch was started {count_text(len(batch.workload.starts))} times, each start has a line, and what "
            "lies between two of them is left out"
        )
    return (
        f'<section id="workload"><h2>Runs at the same time</h2><p class="caption">{caption}.</p>'
        f"{chart}{pauses(batch)}</section>"
    )


def _distributions(batch: BatchFigures) -> str:
    told = [one for task in batch.tasks if (one := task.told) is not None]
    if not told:
        return ""
    costs = [cost for task in batch.tasks if (cost := task.cost_usd) is not None]
    unknown = len(told) - len(costs)
    aside = (
        f"The cost of {plural(unknown, 'task is', 'tasks are')} not known, and not in this chart." if unknown else ""
    )
    return (
        '<section id="distributions"><h2>Cost, time and tokens of a task</h2><p class="caption">How many tasks cost '
        "how much; the axis is logarithmic. Cost and tokens are those of all attempts of a task, the time that of the "
        'one that counts, pauses included.</p><div class="cells">'
        + distribution("Cost", costs, dollars, aside)
        + distribution("Time", [one.duration_s for one in told], elapsed)
        + distribution(
            "Tokens", [task.tokens for task in batch.tasks if task.attempts], lambda value: count_text(round(value))
        )
        + "</div></section>"
    )
