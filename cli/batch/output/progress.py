"""Draws the progress of a batch as lines of text that fit the terminal. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from agent.batch.message_batches.words import sent_words
from agent.batch.request import RunState
from cli.batch.output.summary import node_text
from cli.columns import pad_or_cut
from cli.number_format import count_text, dollars, duration, number, plural, size
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agent.batch.request import BatchView, RunView

KEYS = "p pause  q drain  Q stop"
KEYS_PAUSED = "p resume  q drain  Q stop"
KEYS_DRAINING = "Q stop"
MOST_RUNS = 10
"""Maximum lines of the table of runs."""
MOST_SENT = 3
"""Maximum number of message batches that are shown."""
ID_CELLS = 32
"""Maximum width of an id in the table."""
MOST_NODES = 6
"""Maximum number of nodes that are shown."""
NODE_CELLS = 20
"""Maximum width of the name of a node in the table."""
HEADINGS = ("TASK", "NODE", "TRY", "STATE", "TIME", "STEP", "TOKENS", "COST", "MEMORY")
GIVES_WAY = ("TRY", "MEMORY", "COST", "TOKENS", "NODE", "STEP")
"""Columns that are left out on a narrow terminal, the least important first."""
_BAR = ("█", "▓", "▒", "░")
_ASCII_BAR = ("#", "x", "=", ".")
_BAR_STYLES = ("green", "red", "cyan", "dim")
_BAR_CELLS = (10, 40)
"""Minimum and maximum width of the bar."""
_STATE_STYLES = {RunState.PAUSED: "yellow", RunState.STOPPING: "dim", RunState.RUNNING: "cyan"}


def progress(
    view: BatchView, width: int, height: int, *, ascii_only: bool = False, has_keys: bool = True
) -> list[Text]:
    """At most `height` lines of at most `width` cells: the batch first, then the runs, the slowest first. Where there
    is little room the table of runs gives way, then the keys."""
    head = [
        _overall_bar(view, width, ascii_only=ascii_only),
        _counts(view),
        *_failures(view),
        *_sent(view),
        _use(view),
        *_nodes(view),
        *_standstill(view),
    ]
    keys = [Text(_keys(view), "dim")] if has_keys and len(head) < height else []
    room = height - len(head) - len(keys)
    has_table = room >= (2 if len(view.runs) == 1 else 3)
    lines = [*head[:height], *(runs_table(view.runs, width, min(room, MOST_RUNS + 2)) if has_table else ()), *keys]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines


def _overall_bar(view: BatchView, width: int, *, ascii_only: bool) -> Text:
    done = sum(view.statuses.values())
    share = 100 * done // view.tasks if view.tasks else 100
    rest = f"  {done:,} of {view.tasks:,}  {share}%  {duration(view.elapsed_s)}"
    if view.eta_s is not None and done < view.tasks:
        rest += f", about {duration(view.eta_s)} left"
    least, most = _BAR_CELLS
    cells = min(most, width - cell_len(rest))
    under_way = len(view.runs) + sum(sent.tasks for sent in view.sent)
    counts = (view.statuses.get("ok", 0), done - view.statuses.get("ok", 0), under_way, view.waiting)
    line = Text()
    if cells >= least:
        signs = _ASCII_BAR if ascii_only else _BAR
        for sign, style, length in zip(signs, _BAR_STYLES, bar(counts, cells), strict=True):
            line.append(sign * length, style)
    return line.append(rest if cells >= least else rest.lstrip(), "bold")


def bar(counts: Sequence[int], cells: int) -> list[int]:
    """How many of the cells each count gets: its share, and at least one for a count above zero. Together they are
    `cells`, which is at least the number of counts."""
    total = sum(counts)
    if not total:
        return [0] * (len(counts) - 1) + [cells]
    lengths = [max(1, cells * count // total) if count else 0 for count in counts]
    while (over := sum(lengths) - cells) != 0:
        lengths[lengths.index(max(lengths))] -= 1 if over > 0 else over
    return lengths


def _counts(view: BatchView) -> Text:
    paused = sum(run.state is RunState.PAUSED for run in view.runs)
    ok, ended = view.statuses.get("ok", 0), sum(view.statuses.values())
    parts = [
        (f"{count_text(ok)} ok", "green"),
        (f"{count_text(ended - ok)} failed" if ended > ok else "", "red"),
        (f"{len(view.runs) - paused} running" if view.runs or not view.sent else "", "cyan"),
        (f"{count_text(sum(sent.tasks for sent in view.sent))} sent" if view.sent else "", "cyan"),
        (f"{paused} paused" if paused else "", "yellow"),
        (f"{count_text(view.waiting)} waiting", ""),
        (f"{count_text(view.retried)} retried" if view.retried else "", ""),
    ]
    return _join(parts)


def _failures(view: BatchView) -> Iterable[Text]:
    failed = failures(view.statuses)
    if failed:
        yield Text(f"failed: {failed}", "red")


def _sent(view: BatchView) -> Iterable[Text]:
    """A line for each of the first message batches, and why the provider does not answer."""
    for sent in view.sent[:MOST_SENT]:
        yield Text(sent_words(sent.tasks, view.tasks, sent.id, sent.state, sent.expires), "cyan")
        if sent.trouble:
            yield Text(f"no answer: {one_line(sent.trouble, 500)}; tried again", "yellow")
    if (more := len(view.sent) - MOST_SENT) > 0:
        yield Text(f"and {plural(more, 'message batch', 'message batches')} more", "dim")


def _nodes(view: BatchView) -> Iterable[Text]:
    """A line for each of the first nodes, those that take no runs last, and a line for the others."""
    nodes = sorted(view.nodes, key=lambda node: bool(node.trouble))
    shown = nodes if len(nodes) <= MOST_NODES else nodes[: MOST_NODES - 1]
    for node in shown:
        yield Text(node_text(node), "yellow" if node.trouble else "")
    if rest := nodes[len(shown) :]:
        lost = sum(bool(node.trouble) for node in rest)
        more = f", {count_text(lost)} of them without runs" if lost else ""
        runs = f"{count_text(sum(node.runs for node in rest))} of {plural(sum(node.jobs for node in rest), 'run')}"
        yield Text(f"and {plural(len(rest), 'node')} more: {runs}{more}", "dim")


def failures(statuses: Mapping[str, int]) -> str:
    """`8 error, 3 timeout, 1 crashed`, the most frequent first; empty if no task has failed."""
    kinds = sorted(statuses.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count_text(count)} {status}" for status, count in kinds if count and status != "ok")


def _use(view: BatchView) -> Text:
    cost = f"{'at least ' if view.has_unknown_cost else ''}{dollars(view.known_cost_usd)}"
    return _join(
        [
            (cost, "bold"),
            (f"{dollars(view.reserved_usd)} reserved" if view.reserved_usd else "", "yellow"),
            (f"{number(view.usage.total)} tokens", ""),
            (f"{number(view.tokens_per_minute)}/min", ""),
            (f"memory {size(view.memory_bytes)}", ""),
            (f"{view.jobs} jobs", ""),
            (f"{count_text(view.rate_limited)} refused (429)" if view.rate_limited else "", "yellow"),
        ]
    )


def _standstill(view: BatchView) -> Iterable[Text]:
    """Lines about why the batch does less than it could."""
    if view.is_draining:
        yield Text(f"draining: no new tasks start, {len(view.runs)} still running", "yellow")
    if view.is_paused_by_user:
        yield Text("paused: p resumes", "yellow")
    elif view.why_paused:
        yield Text(f"waiting: {one_line(view.why_paused, 500)}", "yellow")


def _keys(view: BatchView) -> str:
    return KEYS_DRAINING if view.is_draining else KEYS_PAUSED if view.is_paused_by_user else KEYS


def runs_table(runs: Sequence[RunView], width: int, height: int) -> list[Text]:
    """A heading and a line for each of the slowest runs, and how many there are more; nothing without runs."""
    if not runs:
        return []
    shown = sorted(runs, key=lambda run: -run.since_s)
    more = len(shown) - (height - 1)
    if more > 0:
        more += 1  # its own line
        shown = shown[: height - 2]
    rows = [_cells(run) for run in shown]
    kept = [name for name in HEADINGS if name != "NODE" or any(run.node for run in runs)]
    widths = {
        name: max([len(name), *(cell_len(row[name]) for row in rows)]) if name != "TASK" else _id_cells(rows)
        for name in HEADINGS
    }
    for name in GIVES_WAY:
        if name in kept and sum(widths[key] + 2 for key in kept) - 2 > width:
            kept.remove(name)
    lines = [Text("  ".join(_cell(name, name, widths[name]) for name in kept).rstrip(), "bold")]
    for run, row in zip(shown, rows, strict=True):
        line = Text("  ").join(Text(_cell(name, row[name], widths[name]), _style(name, run)) for name in kept)
        if run.why_paused:
            line.append(f"  {one_line(run.why_paused, 200)}", "yellow")
        lines.append(line)
    if more > 0:
        lines.append(Text(f"and {more} more", "dim"))
    return lines


def _id_cells(rows: Sequence[Mapping[str, str]]) -> int:
    return min(ID_CELLS, max([len("TASK"), *(cell_len(row["TASK"]) for row in rows)]))


def _cells(run: RunView) -> dict[str, str]:
    return {
        "TASK": one_line(run.task, 200),
        "NODE": one_line(run.node, NODE_CELLS) or "-",
        "TRY": str(run.attempt),
        "STATE": run.state.value,
        "TIME": duration(run.since_s),
        "STEP": str(run.step) if run.step else "-",
        "TOKENS": number(run.usage.total),
        "COST": "?" if run.cost_usd is None else dollars(run.cost_usd),
        "MEMORY": size(run.memory_bytes) if run.memory_bytes else "-",
    }


def _cell(name: str, text: str, width: int) -> str:
    if name in ("TASK", "NODE", "STATE"):
        return pad_or_cut(text, width)
    return text.rjust(width)


def _style(name: str, run: RunView) -> str:
    return _STATE_STYLES.get(run.state, "") if name == "STATE" else ""


def _join(parts: Iterable[tuple[str, str]]) -> Text:
    return Text("  ").join(Text(text, style) for text, style in parts if text)
