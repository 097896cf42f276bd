"""The rows of `zot top`: extensions, and below an unfolded one the sessions of the runs that use it. Pure."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from cli import number_format
from cli.hosts.status_lines import has_sessions
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from wire.stats import ExtensionStats, SessionStats

OTHERS = "others"
"""In place of a session: all that have no row of their own, together. Ids of sessions are longer."""
SIGNS = ("▸", "▾")
"""Behind the name of an extension that runs use: folded, unfolded."""
ASCII_SIGNS = ("+", "-")
SHARE = "~"
"""Marks a figure that is a share of the extension's, and not measured."""


class TopRow(NamedTuple):
    """An extension, or one of its sessions."""

    extension: str
    session: str = ""
    """The id of the session; empty for the extension."""


def rows_of(names: Iterable[str], extensions: Mapping[str, ExtensionStats], unfolded: Collection[str]) -> list[TopRow]:
    """A row for each name, and below each unfolded extension a row for each of its sessions, the busiest first."""
    rows = []
    for name in names:
        rows.append(TopRow(name))
        if name in unfolded:
            rows += [TopRow(name, session) for session, _ in sessions_of(extensions[name])]
    return rows


def sessions_of(extension: ExtensionStats) -> Iterator[tuple[str, SessionStats]]:
    """The sessions of an extension by their ids, and under `OTHERS` those that are added up."""
    yield from ((each.session_id, each) for each in extension.sessions)
    if extension.other_sessions is not None:
        yield OTHERS, extension.other_sessions


def suffix(extension: ExtensionStats, *, is_unfolded: bool, ascii_only: bool) -> str:
    """Follows the name of an extension: the number of runs that use it now, or the host that it is taken from."""
    if extension.hosted is not None:
        return f" @{extension.hosted.pid}"
    if not has_sessions(extension):
        return ""
    return f" {(ASCII_SIGNS if ascii_only else SIGNS)[is_unfolded]}{extension.attached}"


class SessionShares:
    """The shares of sessions in the CPU of an extension between the last two samples, in percent of one core."""

    def __init__(self) -> None:
        self._busy_s: dict[str, dict[str, float]] = {}
        self._percents: dict[str, dict[str, float]] = {}

    def add(self, extensions: Mapping[str, ExtensionStats]) -> None:
        """Takes the next sample. A session that has ended is among the others from then on."""
        before = self._busy_s
        self._busy_s = {
            name: {session: each.busy_s for session, each in sessions_of(extension)}
            for name, extension in extensions.items()
            if has_sessions(extension)
        }
        self._percents = {
            name: _divide(before.get(name, {}), busy_s, extensions[name].cpu_percent)
            for name, busy_s in self._busy_s.items()
        }

    def percent(self, row: TopRow) -> float | None:
        """None before the second sample."""
        return self._percents.get(row.extension, {}).get(row.session)


def _divide(before: Mapping[str, float], now: Mapping[str, float], percent: float) -> dict[str, float]:
    if not before:
        return {}
    passed = {session: busy_s - before.get(session, 0.0) for session, busy_s in now.items() if session != OTHERS}
    total = sum(now.values()) - sum(before.values())
    if OTHERS in now:
        passed[OTHERS] = total - sum(passed.values())
    if total <= 0:
        return dict.fromkeys(passed, 0.0)
    return {session: percent * max(0.0, part) / total for session, part in passed.items()}


_CELLS: dict[str, Callable[[SessionStats], str]] = {
    "state": lambda session: "" if session.pid is None else "busy" if session.pending else "idle",
    "calls": lambda session: number_format.number(session.calls),
    "errors": lambda session: number_format.number(session.errors),
    "timeouts": lambda session: number_format.number(session.timeouts),
}


def session_name(session: SessionStats) -> str:
    """The first cell of a session: the pid of its run, and the last part of its folder."""
    if session.pid is None:
        return f"  {session.count} other{'' if session.count == 1 else 's'}"
    return f"  {session.pid} {one_line(PurePath(session.cwd).name, 100)}"


def session_cell(key: str, session: SessionStats, percent: float | None, now: float) -> str:
    """A cell of a session, empty where the figure is only known of the whole extension. `percent`: its share of the
    CPU; `now`: the time of the sample, in seconds since the epoch."""
    if key == "cpu":
        return "" if percent is None else SHARE + number_format.percent(percent)
    if key == "since":
        return "" if session.since is None else number_format.duration(now - session.since)
    return _CELLS[key](session) if key in _CELLS else ""
