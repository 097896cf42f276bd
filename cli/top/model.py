"""Decides the columns, rows and order of `zot top`, and what each key changes. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from enum import Enum
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from cli import number_format
from cli.hosts.find import WORST_FIRST
from cli.top.rows import SessionShares, TopRow
from supervisor.accounting.account import MemoryTrack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wire.stats import ExtensionStats, Stats

HISTORY = 120
"""Maximum number of samples in a history."""
LOG_LINES = 500
"""Maximum number of log lines that can be scrolled through."""
SPARK = 8
"""Width of a sparkline in the table, in columns of the terminal."""
NAME_WIDTHS = (16, 32)
GAP = 1
GROWS, ASCII_GROWS = "↑", "^"
"""Before the memory of an extension whose memory only grows."""
OF_PROCESSES = frozenset({"cpu_percent", "rss_bytes", "rss_peak_bytes", "processes"})
"""Figures that are shown as `-` for an extension in the client program of `zot rpc`, and for one that a run takes from
a host: they are the program's or the host's."""


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
    def shown(extension: ExtensionStats) -> str:
        is_elsewhere = extension.in_client or extension.hosted is not None
        return "-" if is_elsewhere and attribute in OF_PROCESSES else show(getattr(extension, attribute))

    return TopColumn(key, heading, width, shown, attrgetter(attribute), meaning, descending=down)


def _spark(key: str, meaning: str) -> TopColumn:
    return TopColumn(f"{key}-line", "", SPARK, lambda _one: "", lambda _one: 0, meaning, history=key)


def _number_or_dash(value: int | None) -> str:
    return "-" if value is None else number_format.number(value)


NAME = TopColumn("name", "NAME", NAME_WIDTHS[0], lambda _one: "", lambda _one: 0, "", descending=False, left=True)
COLUMNS = (
    NAME,
    TopColumn(
        "state",
        "STATE",
        8,
        lambda extension: extension.state,
        lambda extension: WORST_FIRST.index(extension.state) if extension.state in WORST_FIRST else -1,
        "worst first; !: Enter says why",
        descending=False,
        left=True,
    ),
    _column("cpu", "CPU%", 6, "cpu_percent", number_format.percent, "of one core, whole tree"),
    _spark("cpu", "CPU so far"),
    _column("rss", "RSS", 6, "rss_bytes", number_format.size, f"memory, whole tree; {GROWS}: only grows"),
    _spark("rss", "memory so far"),
    _column("peak", "PEAK", 6, "rss_peak_bytes", number_format.size, "largest memory"),
    _column("procs", "PROCS", 5, "processes", number_format.number, "processes"),
    _column("fds", "FDS", 5, "open_files", _number_or_dash, "open files"),
    _column("in", "IN/s", 5, "frames_in_per_s", number_format.rate, "frames that it sends"),
    _column("out", "OUT/s", 5, "frames_out_per_s", number_format.rate, "frames that it is sent"),
    _column("calls", "CALLS", 6, "calls", number_format.number, "calls and verdicts"),
    _column("errors", "ERRS", 5, "errors", number_format.number, "calls that failed"),
    _column("timeouts", "TIMEO", 5, "timeouts", number_format.number, "unanswered in time"),
    _column("blocks", "BLOCK", 5, "blocks", number_format.number, "verdicts that blocked"),
    _column("p50", "P50ms", 6, "p50_ms", number_format.milliseconds, "half answered within"),
    _column("p99", "P99ms", 6, "p99_ms", number_format.milliseconds, "99 % answered within"),
    _column("tokens", "TOKENS", 6, "definition_tokens", _number_or_dash, "definitions of its tools"),
    _column("restarts", "RST", 4, "restarts", number_format.number, "restarts"),
    _column("since", "SINCE", 6, "uptime_s", number_format.duration, "time since its start, newest first", down=False),
)
BY_KEY = {column.key: column for column in COLUMNS}
SORT_KEYS = tuple(column.key for column in COLUMNS if not column.history)
IMPORTANCE = (
    "name", "state", "cpu", "rss", "p99", "calls", "errors", "restarts", "cpu-line", "since", "timeouts", "in", "out",
    "peak", "procs", "blocks", "p50", "fds", "tokens", "rss-line",
)  # fmt: skip


def fit(width: int | None, *, with_history: bool, longest_name: int = 0) -> list[tuple[TopColumn, int]]:
    """The most important columns that fit in `width`, each with its width, in the order of `COLUMNS`. The name column
    takes the rest of the line, up to `longest_name`. Without a width all columns fit."""
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

    __slots__ = ("cpu", "pids", "rss", "track")

    def __init__(self) -> None:
        self.cpu: deque[float] = deque(maxlen=HISTORY)
        self.rss: deque[float] = deque(maxlen=HISTORY)
        self.track = MemoryTrack()
        """The memory of the present processes, by which the host judges whether it only grows."""
        self.pids: tuple[int, ...] = ()

    def add(self, cpu: float, rss: float) -> None:
        self.cpu.append(cpu)
        self.rss.append(rss)

    def follow(self, now: float, extension: ExtensionStats) -> None:
        """Takes the next sample of an extension. With other processes its memory begins anew."""
        self.add(extension.cpu_percent, extension.rss_bytes)
        if extension.pids != self.pids:
            self.track.clear()
            self.pids = extension.pids
        self.track.add(now, extension.rss_bytes)

    def line(self, which: str, width: int, *, ascii_only: bool = False) -> str:
        values = list(self.cpu if which == "cpu" else self.rss)
        floor = 5.0 if which == "cpu" else 0.05 * max(values, default=0.0)
        return number_format.sparkline(values, width, floor=floor, ascii_only=ascii_only)


class Histories:
    """The histories of each extension, by name, and of all together; and the shares of sessions."""

    def __init__(self) -> None:
        self.total = UseHistory()
        self.shares = SessionShares()
        self.of: dict[str, UseHistory] = {}

    def add(self, stats: Stats) -> None:
        for name in self.of.keys() - stats.extensions.keys():
            del self.of[name]
        for name, extension in stats.extensions.items():
            self.of.setdefault(name, UseHistory()).follow(stats.time, extension)
        self.shares.add(stats.extensions)
        every = stats.extensions.values()
        self.total.add(sum(each.cpu_percent for each in every), sum(each.rss_bytes for each in every))


# --- the view --------------------------------------------------------------------------------------------------


class Mode(Enum):
    TABLE = "table"
    FILTER = "filter"
    """Typed characters change the filter."""
    HELP = "help"
    CONFIRM = "confirm"
    """The next key says whether the selected extension is restarted."""
    DETAILS = "details"
    """The status of the selected extension."""
    LOGS = "logs"
    """The last lines of its log."""
    QUIT = "quit"


ABOUT_ONE = frozenset({Mode.CONFIRM, Mode.DETAILS, Mode.LOGS})
"""The modes that are about the selected extension."""


@dataclass(frozen=True)
class TopView:
    """The user's choices: the sort column, its direction, the filter, the rows and the mode."""

    sort: str = "cpu"
    reverse: bool = False
    filter: str = ""
    first: int = 0
    """The row at the top."""
    mode: Mode = Mode.TABLE
    selected: str = ""
    """The name of the extension that keys act on. It stays selected when the order changes."""
    session: str = ""
    """The session of it whose row is selected; empty for its own row."""
    unfolded: frozenset[str] = frozenset()
    """The extensions whose sessions have rows."""
    back: Mode = Mode.TABLE
    """The mode before `CONFIRM`."""
    lines_back: int = 0
    """Number of log lines below the screen."""
    restart: str = ""
    """The extension that the user has just confirmed to restart; the caller restarts it and clears the name."""
    profile: str = ""
    """The extension that the user wants profiled; the caller begins that and clears the name."""

    def within(self, rows: Sequence[TopRow], page: int) -> TopView:
        """The view with a row selected, if there is one, and scrolled so that the selected row is on the page and the
        page is full. If the selected session is gone, its extension is selected. If that is gone, a mode about it
        ends."""
        wanted = (TopRow(self.selected, self.session), TopRow(self.selected))
        chosen = next((each for each in wanted if each in rows), rows[0] if rows else TopRow(""))
        row = rows.index(chosen) if rows else 0
        first = max(min(self.first, row), row - page + 1)
        mode = Mode.TABLE if self.mode in ABOUT_ONE and chosen.extension != self.selected else self.mode
        first = max(0, min(first, len(rows) - page))
        return replace(self, selected=chosen.extension, session=chosen.session, first=first, mode=mode)

    def fold_or_unfold(self) -> TopView:
        """The view with the sessions of the selected extension, or without them if they are shown."""
        return replace(self, session="", unfolded=self.unfolded ^ {self.selected})


def sort_names(extensions: dict[str, ExtensionStats], view: TopView) -> list[str]:
    """Names of the extensions that pass the filter, sorted by the view's column, then by name."""
    wanted = view.filter.casefold()
    names = sorted(name for name, each in extensions.items() if wanted in name.casefold() or wanted in each.state)
    column = BY_KEY[view.sort]
    descending = column.descending != view.reverse
    if column is NAME:
        return names[::-1] if descending else names
    unknown = [name for name in names if column.value(extensions[name]) is None]
    known = [name for name in names if column.value(extensions[name]) is not None]
    known.sort(key=lambda name: column.value(extensions[name]), reverse=descending)
    return known + unknown


# --- keys ------------------------------------------------------------------------------------------------------


def press(view: TopView, key: str, *, rows: Sequence[TopRow], page: int) -> TopView:
    """The view after a key. `key` is a character, or a name such as `up`; `rows` are in the order of the table, and
    `page` is the number of rows that fit."""
    view = view.within(rows, page)
    match view.mode:
        case Mode.FILTER:
            return _type(view, key)
        case Mode.HELP:
            return replace(view, mode=Mode.QUIT if key == "q" else Mode.TABLE)
        case Mode.CONFIRM:
            wanted = view.selected if key in ("y", "Y") else ""
            return replace(view, mode=view.back, back=Mode.TABLE, restart=wanted)
        case Mode.DETAILS | Mode.LOGS if key in _ELSEWHERE:
            return _ELSEWHERE[key](view)
        case Mode.LOGS if key in _SCROLL:
            return replace(view, lines_back=max(0, view.lines_back - _SCROLL[key](LOG_LINES, page)))
        case Mode.DETAILS | Mode.LOGS:
            return view
    if key in _SCROLL and rows:
        row = rows.index(TopRow(view.selected, view.session)) + _SCROLL[key](len(rows), page)
        chosen = rows[max(0, min(row, len(rows) - 1))]
        return replace(view, selected=chosen.extension, session=chosen.session).within(rows, page)
    if key == "u":
        return view.fold_or_unfold() if view.selected else view
    if key in _OF_ONE:
        return _OF_ONE[key](view) if view.selected else view
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
_OF_ONE: dict[str, Callable[[TopView], TopView]] = {
    "r": lambda view: replace(view, mode=Mode.CONFIRM, back=view.mode),
    "l": lambda view: replace(view, mode=Mode.LOGS, lines_back=0),
    "enter": lambda view: replace(view, mode=Mode.DETAILS),
    "P": lambda view: replace(view, profile=view.selected),
}
_ELSEWHERE: dict[str, Callable[[TopView], TopView]] = {
    **_OF_ONE,
    "?": lambda view: replace(view, mode=Mode.HELP),
    **dict.fromkeys(("escape", "q", "backspace", "left"), lambda view: replace(view, mode=Mode.TABLE)),
}
"""The keys of the screens about one extension."""

_COMMANDS: dict[str, Callable[[TopView], TopView]] = {
    "q": lambda view: replace(view, mode=Mode.QUIT),
    "?": lambda view: replace(view, mode=Mode.HELP),
    "h": lambda view: replace(view, mode=Mode.HELP),
    "/": lambda view: replace(view, mode=Mode.FILTER),
    "escape": lambda view: replace(view, filter="", first=0),
    "R": lambda view: replace(view, reverse=not view.reverse, first=0),
    "s": lambda view: _sorted_by_next(view, 1),
    "right": lambda view: _sorted_by_next(view, 1),
    "S": lambda view: _sorted_by_next(view, -1),
    "left": lambda view: _sorted_by_next(view, -1),
}


def _type(view: TopView, key: str) -> TopView:
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


def _sorted_by_next(view: TopView, step: int) -> TopView:
    key = SORT_KEYS[(SORT_KEYS.index(view.sort) + step) % len(SORT_KEYS)]
    return replace(view, sort=key, reverse=False, first=0)
