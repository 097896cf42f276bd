"""Draws `zot top` as lines of text that fit the width of the terminal."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from cli import number_format
from cli.columns import pad_or_cut
from cli.hosts.find import count_states
from cli.hosts.status_lines import has_sessions, with_log
from cli.top.model import ASCII_GROWS, COLUMNS, GAP, GROWS, NAME, Mode, fit, sort_names
from cli.top.rows import rows_of, session_cell, session_name, sessions_of, suffix
from wire.text import counted, one_line, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.top.model import Histories, TopColumn, TopView
    from cli.top.rows import TopRow
    from wire.stats import ExtensionStats, HostStats, Stats

STATE_STYLES = {
    "ready": "green", "asleep": "dim", "failed": "bold red", "backoff": "yellow", "exited": "dim", "stopping": "dim",
    "stopped": "dim",
}  # fmt: skip
TOTAL_SPARK = 16
FEW_KEYS = "? help  q quit"
KEYS = ("Enter details  l logs  r restart  / filter  ? help  q quit", FEW_KEYS)
KEYS_WITH_RUNS = (
    "Enter details  l logs  u runs  r restart  / filter  ? help  q quit",
    "Enter details  l logs  u runs  r restart  ? help  q quit",
    "u runs  ? help  q quit",
)
"""The keys in the footer if runs use any extension of the host. The first text that fits is shown."""
KEYS_OF_ONE = "Esc back  Enter details  l logs  r restart  ? help"
QUESTION = "restart {}? y yes, any other key no"
HELP = (
    ("Enter", "details of the selected extension; Esc or q: back"),
    ("l", "the last lines of its log"),
    ("r  P", "restart it, after y; profile it for 10 s"),
    ("u", "unfold or fold the runs that use it (▸); ~ is a share of it, not measured"),
    ("s  S  ← →", "sort by the next or the previous column"),
    ("R", "reverse the order"),
    ("/", "filter by name or state; Enter keeps it, Esc ends it"),
    ("↑ ↓  j k", "select another extension; in a log: scroll"),
    ("PgUp PgDn Space", "by a page; Home End  g G: to the first, to the last"),
    ("?", "this help"),
    ("q  Ctrl-C", "quit"),
)


class SelectedExtension(NamedTuple):
    """The data of the selected extension."""

    facts: Sequence[str]
    """The lines of its status."""
    log: Sequence[str]
    """The last lines of its log, with their times."""


NOTHING_KNOWN = SelectedExtension((), ())


def header(stats: Stats, histories: Histories | None, width: int | None, *, ascii_only: bool = False) -> list[Text]:
    """Three lines about the host and about all extensions together."""
    host = stats.host
    every = list(stats.extensions.values())
    states = Text.assemble(
        (counted(len(every), "extension"), "bold"),
        *(part for state, count in count_states(every) for part in ("  ", (f"{count} {state}", _state_style(state)))),
    )
    states.append("   all: ")
    for key, said in (
        ("cpu", f"CPU {number_format.percent(sum(extension.cpu_percent for extension in every))}%"),
        ("rss", f"RSS {number_format.size(sum(extension.rss_bytes for extension in every))}"),
    ):
        states.append(said)
        if histories is not None:
            states.append(" " + histories.total.line(key, TOTAL_SPARK, ascii_only=ascii_only).strip(), "cyan")
        states.append("  ")
    sums = "  ".join(
        f"{number_format.number(sum(getattr(extension, name) for extension in every))} {name}"
        for name in ("calls", "errors", "timeouts", "blocks", "restarts")
    )
    rates = [sum(getattr(extension, name) for extension in every) for name in ("frames_in_per_s", "frames_out_per_s")]
    counters = Text(f"{sums}   frames/s in {number_format.rate(rates[0])} out {number_format.rate(rates[1])}")
    return [_cut(line, width) for line in (_host_line(host), states, counters)]


def _host_line(host: HostStats) -> Text:
    sampling = 100 * host.sampling_cpu_s / host.uptime_s if host.uptime_s > 0 else 0.0
    files = "-" if host.open_files is None else host.open_files
    return Text.assemble(
        (f"zot {host.kind} {host.pid}", "bold"),
        f"  up {number_format.duration(host.uptime_s)}  CPU {number_format.percent(host.cpu_percent)}%"
        f" ({sampling:.1f}% sampling)  RSS {number_format.size(host.rss_bytes)}  {files} fds  "
        f"{_runs(host)}{host.version}  ",
        (one_line(host.cwd, 4096), "dim"),
    )


def _runs(host: HostStats) -> str:
    """The runs that are attached, or the host that this run has attached to."""
    if host.attached_to is not None:
        return f"attached to host {host.attached_to}  "
    return f"{counted(host.attached_runs, 'run')}  " if host.attached_runs else ""


def table_rows(stats: Stats, view: TopView) -> list[TopRow]:
    """All rows of the table that pass the filter, in their order."""
    return rows_of(sort_names(stats.extensions, view), stats.extensions, view.unfolded)


def table(
    stats: Stats,
    rows: Sequence[TopRow],
    view: TopView,
    histories: Histories | None,
    width: int | None,
    *,
    ascii_only: bool,
) -> list[Text]:
    """The headings and a line for each of these rows. Without a width nothing is left out or cut off."""
    suffixes = {
        name: suffix(each, is_unfolded=name in view.unfolded, ascii_only=ascii_only)
        for name, each in stats.extensions.items()
    }
    longest = max((cell_len(_label(name) + suffixes[name]) for name in stats.extensions), default=0)
    columns = fit(width, with_history=histories is not None, longest_name=longest)
    lines = [_headings(columns, view)]
    for row in rows:
        extension = stats.extensions[row.extension]
        if row.session:
            line = _session_row(row, extension, columns, histories, stats.time)
        else:
            line = _row(row.extension, suffixes[row.extension], extension, columns, histories, ascii_only=ascii_only)
        if width is not None and row == (view.selected, view.session):
            line.pad_right(max(0, width - line.cell_len))
            line.style = "reverse"
        lines.append(line)
    return [_cut(line, width) for line in lines]


def _session_row(
    row: TopRow,
    extension: ExtensionStats,
    columns: list[tuple[TopColumn, int]],
    histories: Histories | None,
    now: float,
) -> Text:
    session = dict(sessions_of(extension))[row.session]
    percent = None if histories is None else histories.shares.percent(row)
    line = Text()
    for index, (column, width) in enumerate(columns):
        line.append(" " * GAP if index else "")
        if column is NAME:
            line.append(pad_or_cut(session_name(session), width))
        else:
            cell = session_cell(column.key, session, percent, now)
            line.append(set_cell_size(cell, width) if column.left else cell.rjust(width), "dim")
    return line


def _headings(columns: list[tuple[TopColumn, int]], view: TopView) -> Text:
    line = Text()
    for index, (column, width) in enumerate(columns):
        line.append(" " * GAP if index else "")
        heading = set_cell_size(column.heading, width) if column.left else column.heading.rjust(width)
        line.append(heading, "bold reverse" if column.key == view.sort else "bold")
    return line


def _row(
    name: str,
    after: str,
    extension: ExtensionStats,
    columns: list[tuple[TopColumn, int]],
    histories: Histories | None,
    *,
    ascii_only: bool,
) -> Text:
    line = Text()
    for index, (column, width) in enumerate(columns):
        line.append(" " * GAP if index else "")
        if column is NAME:
            line.append(pad_or_cut(_label(name), min(cell_len(_label(name)), max(1, width - len(after)))))
            line.append(after.ljust(max(0, width - line.cell_len)), "cyan")
        elif column.key == "state":
            if extension.alarms and not extension.failure:
                line.append(set_cell_size(f"{extension.state[: width - 2]} !", width), "bold yellow")
            else:
                line.append(set_cell_size(extension.state, width), _state_style(extension.state))
            if extension.failure:
                # The reason replaces the figures.
                line.append(" " * GAP)
                line.append(one_line(extension.failure, 1000), _state_style(extension.state))
                return line
        elif column.history:
            drawn = "" if histories is None else histories.of[name].line(column.history, width, ascii_only=ascii_only)
            # Reversed blocks would show the rest of their cells: an idle line would look full.
            line.append(drawn.rjust(width), "cyan not reverse")
        elif column.key == "rss" and _only_grows(name, extension, histories):
            sign = ASCII_GROWS if ascii_only else GROWS
            line.append(sign + column.show(extension).rjust(width - 1), "yellow")
        else:
            line.append(column.show(extension).rjust(width), _figure_style(column.key, extension))
    return line


def _only_grows(name: str, extension: ExtensionStats, histories: Histories | None) -> bool:
    """Whether the memory of an extension only grows: its host says so, or the samples that were shown here."""
    if any(alarm.kind == "memory_grows" for alarm in extension.alarms):
        return True
    return histories is not None and histories.of[name].track.grown is not None


def _figure_style(key: str, extension: ExtensionStats) -> str:
    if key in ("errors", "timeouts", "restarts", "blocks"):
        if not getattr(extension, key):
            return "dim"
        return "" if key == "blocks" else "yellow"
    return "yellow" if key == "cpu" and extension.cpu_percent >= 50 else ""


def footer(
    view: TopView, *, shown: int, rows: int, passing: int, total: int, width: int, keys: Sequence[str] = KEYS
) -> Text:
    """The line with the sort column, the filter and the keys. `passing` of `total` extensions pass the filter."""
    label = _label(view.selected)
    if view.mode is Mode.CONFIRM:
        name = pad_or_cut(label, min(cell_len(label), max(1, width - cell_len(QUESTION.format("")))))
        return _cut(Text(QUESTION.format(name), "bold yellow"), width)
    if view.mode in (Mode.DETAILS, Mode.LOGS):
        left = label + (f"  {view.lines_back} lines from the end" if view.lines_back else "")
        return _footer_of(left, (KEYS_OF_ONE,), width)
    if view.mode is Mode.FILTER:
        line = Text.assemble(("filter: ", "bold"), view.filter, ("▏", "blink"), "   Enter keeps it, Esc ends it")
        return _cut(line, width)
    filtered = f"  filter {view.filter!r}: {passing} of {total}" if view.filter else ""
    place = f"{view.first + 1}-{view.first + shown} of {rows}" if shown else "none"
    arrow = " reversed" if view.reverse else ""
    return _footer_of(f"{place}  by {view.sort}{arrow}{filtered}", keys, width)


def _footer_of(left: str, keys: Sequence[str], width: int) -> Text:
    """`left`, and on the right the first text of `keys` that fits, else the last."""
    hint = next((text for text in keys if cell_len(left) + 2 + cell_len(text) <= width), keys[-1])
    room = width - cell_len(left) - cell_len(hint)
    return _cut(Text.assemble(left, " " * max(2, room), (hint, "dim")), width)


def help_lines(width: int, height: int) -> list[Text]:
    lines = [
        Text("Keys", "bold"),
        *(Text(f"  {keys:<18}{what}") for keys, what in HELP),
        Text(),
        Text("Columns", "bold"),
    ]
    columns = [f"  {column.heading:<7}{column.meaning}" for column in COLUMNS if column.meaning and not column.history]
    half = max(width // 2, 20)
    rows = (len(columns) + 1) // 2
    for left, right in zip_longest(columns[:rows], columns[rows:], fillvalue=""):
        lines.append(Text(pad_or_cut(left, half - 1) + " " + right))
    return [_cut(line, width) for line in lines[:height]]


def screen(
    stats: Stats | None,
    view: TopView,
    histories: Histories,
    size: tuple[int, int],
    *,
    ascii_only: bool,
    waiting: str,
    about: SelectedExtension = NOTHING_KNOWN,
    said: str = "",
) -> list[Text]:
    """All lines of a screen; `size` is its columns and lines. The modes about one extension show `about`; `said`
    replaces the footer."""
    width, height = size
    if stats is None:
        return [_cut(Text(waiting), width)]
    lines = header(stats, histories, width, ascii_only=ascii_only)
    page = page_height(height)
    rows = table_rows(stats, view)
    view = view.within(rows, page)
    if (view.back if view.mode is Mode.CONFIRM else view.mode) in (Mode.DETAILS, Mode.LOGS):
        body = [*_about_lines(about, view, page + 4), *[Text()] * height][: height - 1]
        foot = footer(view, shown=0, rows=0, passing=0, total=0, width=width)
        return [_cut(line, width) for line in (*body, _text_or(said, foot))][:height]
    shown = rows[view.first : view.first + page]
    if view.mode is Mode.HELP:  # it needs all lines of a terminal with 24
        body = [*help_lines(width, height - 1), *[Text()] * height][: height - 1]
        return [*body, _cut(_text_or(said, Text("any key: back; q quits", "dim")), width)][:height]
    body = table(stats, shown, view, histories, width, ascii_only=ascii_only)
    body += [Text()] * (page + 1 - len(body))
    passing, total = sum(not row.session for row in rows), len(stats.extensions)
    keys = KEYS_WITH_RUNS if any(has_sessions(each) for each in stats.extensions.values()) else KEYS
    foot = footer(view, shown=len(shown), rows=len(rows), passing=passing, total=total, width=width, keys=keys)
    return [*lines, *body, _cut(_text_or(said, foot), width)][:height]


def _text_or(said: str, foot: Text) -> Text:
    return Text(one_line(said, 1000), "bold") if said else foot


def _about_lines(about: SelectedExtension, view: TopView, height: int) -> list[Text]:
    """The screen of the selected extension, in `height` lines without the footer."""
    if Mode.LOGS in (view.mode, view.back):
        end = len(about.log) - min(view.lines_back, max(0, len(about.log) - height))
        lines = list(about.log[max(0, end - height) : end]) or ["its log is empty" if about.facts else "waiting for it"]
    else:
        lines = with_log(about.facts or ["waiting for its status"], about.log, height)
    return [Text(printable(line).expandtabs()) for line in lines]


def page_height(height: int) -> int:
    """The rows of the table on a screen of `height` lines. Header, headings and footer take five lines."""
    return max(1, height - 5)


def _label(name: str) -> str:
    return one_line(name, 200)


def _state_style(state: str) -> str:
    return STATE_STYLES.get(state, "cyan")


def _cut(line: Text, width: int | None) -> Text:
    if width is not None and line.cell_len > width:
        line.truncate(width, overflow="ellipsis")
    return line
