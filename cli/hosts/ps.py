"""`zot ps`: lists the running hosts, and with -a the runs that have ended."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import msgspec

from cli import number_format
from cli.columns import align_columns, print_table
from cli.hosts.find import NONE_RUNS, ask_all, close, count_states, shared_extensions, survey
from cli.json_line import print_json
from cli.terminal import table_width
from supervisor.control.client import ControlError
from wire import control
from wire.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.hosts.find import SurveyedHost
    from wire.stats import HostStats, Stats

HEADINGS = ("PID", "KIND", "UP", "CPU%", "RSS", "EXTENSIONS", "FOLDER")
OUTCOME = "OUTCOME"
"""The heading of one more column, before the last, if runs that have ended are listed too."""
RUNNING = "running"


class EndedRun(NamedTuple):
    """A run that has ended."""

    cells: tuple[str, ...]
    """Its cells in all columns."""
    record: dict[str, Any]
    """Its members in JSON."""


def run_ps(*, as_json: bool, ended: Sequence[EndedRun] | None = None) -> int:
    """Prints a line for each host, and below them one for each run of `ended`; returns the exit status, 0 also if no
    host runs."""
    found = survey()
    clients = [surveyed.client for surveyed in found if surveyed.client is not None]
    answers = ask_all(clients, control.GetStats, control.StatsReply)
    rows: list[tuple[SurveyedHost, Stats | ControlError]] = []
    for surveyed in found:
        answer = ControlError(surveyed.trouble) if surveyed.client is None else answers[surveyed.client]
        rows.append((surveyed, answer if isinstance(answer, ControlError) else answer.stats))
    close(clients)
    if as_json:
        for surveyed, stats in rows:
            print_json(_record(surveyed, stats))
        for run in ended or ():
            print_json(run.record)
    elif rows or ended:
        _print_table(rows, ended)
        for line in shared_extensions({host.pid: stats.extensions for host, stats in rows if _is_host(stats)}):
            print(f"zot ps: {line}", file=sys.stderr)  # noqa: T201
    else:
        print(f"zot ps: {NONE_RUNS}", file=sys.stderr)  # noqa: T201
    return 0


def _is_host(stats: Stats | ControlError) -> TypeGuard[Stats]:
    """Whether this is a zot host: each run and each MCP server has extensions of its own anyway."""
    return not isinstance(stats, ControlError) and stats.host.kind == "host"


def _record(surveyed: SurveyedHost, stats: Stats | ControlError) -> dict[str, Any]:
    if isinstance(stats, ControlError):
        return {"pid": surveyed.pid, "error": str(stats), "socket": surveyed.socket}
    states = dict(count_states(stats.extensions.values()))
    host = msgspec.structs.asdict(stats.host)
    return {**host, "extensions": len(stats.extensions), "states": states, "socket": surveyed.socket}


def _print_table(rows: list[tuple[SurveyedHost, Stats | ControlError]], ended: Sequence[EndedRun] | None) -> None:
    width = table_width()
    table = [HEADINGS, *(_cells(host, stats) for host, stats in rows)]
    if ended is not None:
        table = [_with_outcome(cells, OUTCOME if cells is HEADINGS else RUNNING) for cells in table]
        table += [run.cells for run in ended]
    lines = align_columns(table, right=(0, 2, 3, 4))
    print_table([line if width is None or len(line) <= width else line[: width - 1] + "…" for line in lines])


def _with_outcome(cells: tuple[str, ...], outcome: str) -> tuple[str, ...]:
    """The cells with one more before the last; the row of a host that does not answer is short, and stays as it is."""
    return cells if len(cells) < len(HEADINGS) else (*cells[:-1], outcome, cells[-1])


def _runs(host: HostStats) -> str:
    """The runs that are attached to a host, or the host that a run has attached to."""
    if host.attached_to is not None:
        return f", attached to {host.attached_to}"
    return f", {counted(host.attached_runs, 'run')} attached" if host.attached_runs else ""


def _cells(surveyed: SurveyedHost, stats: Stats | ControlError) -> tuple[str, ...]:
    if isinstance(stats, ControlError):
        return (str(surveyed.pid), "?", one_line(str(stats), 200))
    host = stats.host
    states = ", ".join(f"{count} {state}" for state, count in count_states(stats.extensions.values()))
    return (
        str(host.pid),
        host.kind,
        number_format.duration(host.uptime_s),
        number_format.percent(host.cpu_percent),
        number_format.size(host.rss_bytes),
        (one_line(states, 200) or "none") + _runs(host),
        one_line(host.cwd, 4096) + (f" (task {one_line(host.task, 200)})" if host.task else ""),
    )
