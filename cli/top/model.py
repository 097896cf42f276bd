"""Decides the columns, rows and order of `zot top`, and what each key changes. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from cli import number_format
from cli.hosts.find import WORST_FIRST

if TYPE_CHECKING:
    from collections.abc import Callable

    from wire.stats import ExtensionStats, Stats

HISTORY = 120
"""The most samples that a history keeps."""
SPARK = 8
"""Columns of a sparkline in the table."""
NAME_WIDTHS = (16, 32)
GAP = 1


@dataclass(frozen=True)
class TopColumn:
    """A column of `zot top`. `width` is in columns of the terminal; `meaning` is its text in the help."""

    key: str
    heading: str
    width: int
    show: Callable[[ExtensionStats], str]
    value: Callable[[ExtensionStats], Any]
    """The sort key; None comes last in both directions."""
    meaning: str
    descending: bool = True
    left: bool = False
    history: str = ""
    """The attribute of `UseHistory` that a sparkline draws; empty for other columns."""


def _column(
    key: str, heading: str, width: int, attribute: str, show: Callable[[Any], str], meaning: str, *, down: bool = True
) -> TopColumn:
    return TopColumn(
        key,
        heading,
        width,
        lambda extension: show(getattr(extension, attribute)),
        lambda extension: getattr(extension, attribute),
        meaning,
        descending=down,
    )


def _spark(key: str, meaning: str) -> TopColumn:
    return TopColumn(f"{key}-line", "", SPARK, lambda _one: "", lambda _one: 0, meaning, history=key)


NAME = TopColumn("name", "NAME", NAME_WIDTHS[0], lambda _one: "", lambda _one: 0, "", descending=False, left=True)
COLUMNS = (
    NAME,
    TopColumn(
        "state",
        "STATE",
        8,
        lambda extension: extension.state,
        lambda extension: WORST_FIRST.index(extension.state) if extension.state in WORST_FIRST else -1,
        "worst first",
        descending=False,
        left=True,
    ),
    _column("cpu", "CPU%", 6, "cpu_percent", number_format.percent, "of one core, whole tree"),
    _spark("cpu", "CPU so far"),
    _column("rss", "RSS", 6, "rss_bytes", number_format.size, "memory, whole tree"),
    _spark("rss", "memory so far"),
    _column("peak", "PEAK", 6, "rss_peak_bytes", number_format.size, "largest memory"),
    _column("procs", "PROCS", 5, "processes", number_format.number, "processes"),
    TopColumn(
        "fds",
        "FDS",
        5,
        lambda extension: "-" if extension.open_files is None else number_format.number(extension.open_files),
        lambda extension: extension.open_files,
        "open files",
    ),
    _column("in", "IN/s", 5, "frames_in_per_s", number_format.rate, "frames that it sends"),
    _column("out", "OUT/s", 5, "frames_out_per_s", number_format.rate, "frames that it is sent"),
    _column("calls", "CALLS", 6, "calls", number_format.number, "calls and verdicts"),
    _column("errors", "ERRS", 5, "errors", number_format.number, "calls that failed"),
    _column("timeouts", "TIMEO", 5, "timeouts", number_format.number, "unanswered in time"),
    _column("blocks", "BLOCK", 5, "blocks", number_format.number, "verdicts that blocked"),
    _column("p50", "P50ms", 6, "p50_ms", number_format.milliseconds, "half answered within"),
    _column("p99", "P99ms", 6, "p99_ms", number_format.milliseconds, "99 % answered within"),
    _column("restarts", "RST", 4, "restarts", number_format.number, "restarts"),
    _column("since", "SINCE", 6, "uptime_s", number_format.duration, "up for so long, newest first", down=False),
)
BY_KEY = {column.key: column for column in COLUMNS}
SORT_KEYS = tuple(column.key for column in COLUMNS if not column.history)
IMPORTANCE = (
    "name", "state", "cpu", "rss", "p99", "calls", "errors", "restarts", "cpu-line", "since", "timeouts", "in", "out",
    "peak", "procs", "blocks", "p50", "fds", "rss-line",
)  # fmt: skip


def fit(width: int | None, *, with_history: bool, longest_name: int = 0) -> list[tuple[TopColumn, int]]:
    """The most important columns that fit in a line of this width, each with its own width, in the order of `COLUMNS`.
    The name column grows into the rest, up to the longest name. Without a width all columns fit."""
    offered = [BY_KEY[key] for key in IMPORTANCE if with_history or not BY_KEY[key].history]
    chosen: set[str] = set()
    used = -GAP
    for column in offered:
        if width is not None and used + GAP + column.width > width and chosen:
            break
        used += GAP + column.width
        chosen.add(column.key)
    low, high = NAME_WIDTHS
    spare = high if width is None else max(0, width - used)
    name = max(longest_name, low) if width is None else min(low + spare, max(low, min(longest_name, high)))
    return [(column, name if column is NAME else column.width) for column in COLUMNS if column.key in chosen]


# --- the histories ---------------------------------------------------------------------------------------------


class UseHistory:
    """CPU and memory of one extension, or of all together, in the last `HISTORY` samples."""

    __slots__ = ("cpu", "rss")

    def __init__(self) -> None:
        self.cpu: deque[float] = deque(maxlen=HISTORY)
        self.rss: deque[float] = deque(maxlen=HISTORY)

    def add(self, cpu: float, rss: float) -> None:
        self.cpu.append(cpu)
        self.rss.append(rss)

    def line(self, which: str, width: int, *, ascii_only: bool = False) -> str:
        values = list(self.cpu if which == "cpu" else self.rss)
        floor = 5.0 if which == "cpu" else 0.05 * max(values, default=0.0)
        return number_format.sparkline(values, width, floor=floor, ascii_only=ascii_only)


class Histories:
    """The histories of each extension, by name, and of all together."""

    def __init__(self) -> None:
        self.total = UseHistory()
        self.of: dict[str, UseHistory] = {}

    def add(self, stats: Stats) -> None:
        for name in self.of.keys() - stats.extensions.keys():
            del self.of[name]
        for name, extension in stats.extensions.items():
            self.of.setdefault(name, UseHistory()).add(extension.cpu_percent, extension.rss_bytes)
        every = stats.extensions.values()
        self.total.add(
            sum(extension.cpu_percent for extension in every), sum(extension.rss_bytes for extension in every)
        )


# --- the view --------------------------------------------------------------------------------------------------


class Mode(Enum):
    TABLE = "table"
    FILTER = "filter"
    """Typed characters change the filter."""
    HELP = "help"
    QUIT = "quit"


@dataclass(frozen=True)
class View:
    """What the user has chosen: the sort column, its direction, the filter, the first row and the mode."""

    sort: str = "cpu"
    reverse: bool = False
    filter: str = ""
    first: int = 0
    """The row at the top."""
    mode: Mode = Mode.TABLE

    def within(self, rows: int, page: int) -> View:
        """The view with its first row moved so that the page is full, if there are enough rows."""
        return replace(self, first=max(0, min(self.first, rows - page)))


def arrange(extensions: dict[str, ExtensionStats], view: View) -> list[str]:
    """Names of the extensions that pass the filter, sorted by the view's column, then by name."""
    wanted = view.filter.casefold()
    names = sorted(
        name for name, extension in extensions.items() if wanted in name.casefold() or wanted in extension.state
    )
    column = BY_KEY[view.sort]
    descending = column.descending != view.reverse
    if column is NAME:
        return names[::-1] if descending else names
    unknown = [name for name in names if column.value(extensions[name]) is None]
    known = [name for name in names if column.value(extensions[name]) is not None]
    known.sort(key=lambda name: column.value(extensions[name]), reverse=descending)
    return known + unknown


# --- keys ------------------------------------------------------------------------------------------------------


def press(view: View, key: str, *, rows: int, page: int) -> View:
    """The view after a key. `key` is a character, or a name such as `up`; `page` is the number of rows that fit."""
    if view.mode is Mode.FILTER:
        return _type(view, key).within(rows, page)
    if view.mode is Mode.HELP:
        return replace(view, mode=Mode.QUIT if key == "q" else Mode.TABLE)
    if key in _SCROLL:
        distance = _SCROLL[key](rows, page)
        return replace(view, first=view.within(rows, page).first + distance).within(rows, page)
    return _COMMANDS[key](view) if key in _COMMANDS else view


_SCROLL: dict[str, Callable[[int, int], int]] = {
    "up": lambda _rows, _page: -1,
    "k": lambda _rows, _page: -1,
    "down": lambda _rows, _page: 1,
    "j": lambda _rows, _page: 1,
    "pageup": lambda _rows, page: -page,
    "pagedown": lambda _rows, page: page,
    " ": lambda _rows, page: page,
    "home": lambda rows, _page: -rows,
    "g": lambda rows, _page: -rows,
    "end": lambda rows, _page: rows,
    "G": lambda rows, _page: rows,
}


_COMMANDS: dict[str, Callable[[View], View]] = {
    "q": lambda view: replace(view, mode=Mode.QUIT),
    "?": lambda view: replace(view, mode=Mode.HELP),
    "h": lambda view: replace(view, mode=Mode.HELP),
    "/": lambda view: replace(view, mode=Mode.FILTER),
    "escape": lambda view: replace(view, filter="", first=0),
    "r": lambda view: replace(view, reverse=not view.reverse, first=0),
    "s": lambda view: _sorted_by_next(view, 1),
    "right": lambda view: _sorted_by_next(view, 1),
    "S": lambda view: _sorted_by_next(view, -1),
    "left": lambda view: _sorted_by_next(view, -1),
}


def _type(view: View, key: str) -> View:
    match key:
        case "enter":
            return replace(view, mode=Mode.TABLE)
        case "escape":
            return replace(view, mode=Mode.TABLE, filter="", first=0)
        case "backspace":
            return replace(view, filter=view.filter[:-1], first=0)
        case "erase":
            return replace(view, filter="", first=0)
    return replace(view, filter=view.filter + key, first=0) if len(key) == 1 and key.isprintable() else view


def _sorted_by_next(view: View, step: int) -> View:
    key = SORT_KEYS[(SORT_KEYS.index(view.sort) + step) % len(SORT_KEYS)]
    return replace(view, sort=key, reverse=False, first=0)
