"""The checks of `zot doctor` about running hosts: asks each host, run and MCP server for its troubles."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, NamedTuple

from cli.hosts.find import ask_all, close, shared_extensions, survey
from cli.hosts.status_lines import KINDS, alarm_text, next_step
from supervisor.cleanup.host_record import HostStatus, host_status, records_in
from supervisor.control.client import ControlError
from supervisor.harness.findings import FindingLevel
from supervisor.home.runtime_dir import is_alive, runtime_dirs, sockets_in
from wire import control

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from supervisor.discovery.discover import Discovery
    from wire.stats import Stats


class Check(NamedTuple):
    """The outcome of one check. `advice` says what to do; it may be empty."""

    name: str
    level: FindingLevel
    message: str
    advice: str = ""
    host: int | None = None
    """Pid of the checked host."""
    extension: str = ""
    """Name of the checked extension of that host."""
    kind: str = ""
    """The kind of its alarm, or `not_started`."""
    since: float | None = None
    """In seconds since the epoch; None if unknown."""


def examine_running(home: Path, here: Discovery) -> Iterator[Check]:
    """The checks of all hosts, without the faults in `here`, the current folder: other checks report these."""
    yield from _processes(home)
    found = survey()
    told = {os.path.realpath(each.folder) for each in here.skipped}
    infos = {host.client: host.info for host in found if host.client is not None and host.info is not None}
    answers = ask_all(infos, control.GetStats, control.StatsReply)
    close(infos)
    troubles = {host.pid: host.trouble for host in found if host.trouble}
    troubles |= {client.pid: str(answer) for client, answer in answers.items() if isinstance(answer, ControlError)}
    for pid, trouble in troubles.items():
        advice = f"kill -CONT {pid} if a signal has stopped it, else kill {pid}: its extensions end with it"
        yield Check("hosts", FindingLevel.FAIL, trouble, advice, pid)
    stats = [answer.stats for answer in answers.values() if not isinstance(answer, ControlError)]
    yield from _merge_alike((_group(each), check) for each in stats for check in _alarms(each))
    yield from _merge_alike((info.cwd, check) for info in infos.values() for check in _skipped(info, told))
    for line in shared_extensions({each.host.pid: each.extensions for each in stats if each.host.kind == "host"}):
        yield Check("hosts", FindingLevel.OK, line, "zot stop PID ends one, if one is enough")


def _processes(home: Path) -> Iterator[Check]:
    folders = runtime_dirs(home)
    records = [record for folder in folders for record in records_in(folder)]
    fates = {record: host_status(record) for record in records}
    living = {record.pid for record, fate in fates.items() if fate is HostStatus.LIVING}
    living |= {pid for folder in folders for pid, _ in sockets_in(folder) if is_alive(pid)}
    running = f"{len(living)} running" + (f": {', '.join(map(str, sorted(living)))}" if living else "")
    dead = sorted({record.pid for record, fate in fates.items() if fate is HostStatus.DEAD})
    if dead:
        advice = "the next zot with extensions ends what is left of them"
        message = f"{running}; killed, and not cleaned up after yet: {', '.join(map(str, dead))}"
        yield Check("hosts", FindingLevel.WARN, message, advice)
    else:
        yield Check("hosts", FindingLevel.OK, running)


def _alarms(stats: Stats) -> Iterator[Check]:
    pid = stats.host.pid
    where = f"{KINDS[stats.host.kind]} {pid}" + (f" (task {stats.host.task})" if stats.host.task else "")
    for name, extension in stats.extensions.items():
        for alarm in extension.alarms:
            level = FindingLevel.FAIL if alarm.kind == "failed" else FindingLevel.WARN
            message = f"{where}: {name}: {alarm_text(alarm)}"
            yield Check("hosts", level, message, next_step(alarm, name, pid), pid, name, alarm.kind, alarm.since)


def _skipped(info: control.HostInfoReply, told: set[str]) -> Iterator[Check]:
    for each in info.skipped:
        if "\0" not in each.place and os.path.realpath(each.place) in told:
            continue
        level = FindingLevel.WARN if each.is_waiting else FindingLevel.FAIL
        message = f"{KINDS[info.kind]} {info.pid}: {each.name} is not started: {each.reason}"
        first = (
            f"zot ext trust {shlex.quote(each.name)} --cwd {shlex.quote(info.cwd)}"
            if each.is_waiting
            else f"correct or remove {each.place}"
        )
        yield Check(
            "hosts",
            level,
            message,
            f"{first}; then zot ext reload --host {info.pid}",
            info.pid,
            each.name,
            "not_started",
        )


def _group(stats: Stats) -> str:
    """The group whose equal checks are merged: all runs of batches together, or one host."""
    return "batch" if stats.host.task else str(stats.host.pid)


def _merge_alike(checks: Iterable[tuple[str, Check]]) -> Iterator[Check]:
    """The first check for each place, extension and kind, with the number of the others: the runs of a batch have the
    same extensions."""
    alike: dict[tuple[str, str, str], list[Check]] = {}
    for place, check in checks:
        alike.setdefault((place, check.extension, check.kind), []).append(check)
    for first, *others in alike.values():
        yield first._replace(message=f"{first.message}; the same in {len(others)} more") if others else first
