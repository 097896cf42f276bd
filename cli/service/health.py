"""`zot host health`: whether hosts answer and their extensions run, for programs that watch a service."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from cli import number_format
from cli.columns import align_columns
from cli.hosts.find import NONE_RUNS, ask_all, close, survey
from cli.hosts.status_lines import KINDS
from cli.json_line import print_json
from supervisor.control.client import ControlError
from supervisor.home.runtime_dir import ATTACH_SUFFIX, SUFFIX
from wire import control
from wire.exit_codes import Status
from wire.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cli.hosts.find import SurveyedHost
    from wire.stats import ExtensionStats, Stats

WITHIN_S = 2.0
"""Maximum wait for the answers of all hosts together, in seconds."""
STATS_S = 1.0
"""Maximum wait for the figures of hosts that have just answered, in seconds."""
UNHEALTHY = frozenset({"failed", "over_limit", "restarting"})
"""The alarms with which an extension fails. The others are warnings: it works."""
LINE_LENGTH = 1000


class HealthLine(NamedTuple):
    """One line: a host, or one of its extensions."""

    is_ok: bool
    host: int
    kind: str
    """The kind of the host; empty if it does not answer."""
    extension: str
    """Empty for the host itself."""
    state: str
    message: str


def run_health(pid: int | None, *, as_json: bool) -> int:
    """Prints the lines about the host `pid`, or on every zot host; returns the exit status, 1 if one fails. Raises
    `ControlError` if there is no such host."""
    found = survey(WITHIN_S, only=pid)
    asked = [host for host in found if pid is not None or _is_zot_host(host)]
    close(host.client for host in found if host not in asked)
    if not asked:
        raise ControlError(NONE_RUNS if pid is None else f"there is no host {pid}; see zot ps")
    clients = [host.client for host in asked if host.client is not None]
    answers = ask_all(clients, control.GetStats, control.StatsReply, STATS_S)
    close(clients)
    lines: list[HealthLine] = []
    for host in asked:
        answer = ControlError(host.trouble) if host.client is None else answers[host.client]
        lines += _silent(host, str(answer)) if isinstance(answer, ControlError) else _of_host(host, answer.stats)
    if as_json:
        for line in lines:
            print_json(_record(line))
    else:
        for text in align_columns([_cells(line) for line in lines]):
            print(text)  # noqa: T201
    return 0 if all(line.is_ok for line in lines) else Status.ERROR.exit_code


def _is_zot_host(host: SurveyedHost) -> bool:
    """A host that does not answer has a socket for runs beside its own, which runs and MCP servers have not."""
    if host.info is not None:
        return host.info.kind == "host"
    return os.path.exists(host.socket.removesuffix(SUFFIX) + ATTACH_SUFFIX)


def _silent(host: SurveyedHost, trouble: str) -> Iterator[HealthLine]:
    yield HealthLine(False, host.pid, "", "", "silent", f"{trouble}; kill -CONT {host.pid} if a signal has stopped it")


def _of_host(host: SurveyedHost, stats: Stats) -> Iterator[HealthLine]:
    kind = stats.host.kind
    total = counted(len(stats.extensions), "extension")
    up = number_format.duration(stats.host.uptime_s)
    yield HealthLine(True, host.pid, kind, "", "running", f"{KINDS[kind]} with {total}, for {up}")
    for name, extension in stats.extensions.items():
        yield _of_extension(host.pid, kind, name, extension)
    for skipped in () if host.info is None else host.info.skipped:
        state = "untrusted" if skipped.is_waiting else "skipped"
        yield HealthLine(skipped.is_waiting, host.pid, kind, skipped.name, state, f"not started: {skipped.reason}")


def _of_extension(pid: int, kind: str, name: str, extension: ExtensionStats) -> HealthLine:
    bad = [alarm.text for alarm in extension.alarms if alarm.kind in UNHEALTHY]
    warnings = [alarm.text for alarm in extension.alarms if alarm.kind not in UNHEALTHY]
    message = "; ".join(bad or warnings) or extension.failure
    return HealthLine(not bad, pid, kind, name, extension.state, message)


def _record(line: HealthLine) -> dict[str, Any]:
    said = line._asdict()
    return {"status": "ok" if said.pop("is_ok") else "fail", **said}


def _cells(line: HealthLine) -> tuple[str, ...]:
    said = f"{line.state}: {line.message}" if line.message and line.extension else line.message
    name = line.extension or "-"
    return (
        "ok" if line.is_ok else "fail",
        str(line.host),
        one_line(name, 200),
        one_line(said or line.state, LINE_LENGTH),
    )
