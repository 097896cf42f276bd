"""The status of one extension as lines of text, for `zot ext status` and the details of `zot top`. Pure."""

from __future__ import annotations

import shlex
from datetime import datetime
from typing import TYPE_CHECKING

from cli import number_format
from wire.stats import IN_CLIENT
from wire.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wire.control import ExtensionStatus, PendingRequest, StatusReply
    from wire.events import HostedShare
    from wire.stats import Alarm, ExtensionStats, HostKind, SessionStats

KINDS: dict[HostKind, str] = {"host": "zot host", "mcp": "zot mcp serve", "run": "run", "batch": "zot batch"}
"""The kinds of hosts in words."""
USABLE = frozenset({"asleep", "waking", "spawned", "greeted", "ready", "reloading"})
"""The states in which an extension works, or soon will."""
PENDING_SHOWN = 3
SESSIONS_SHOWN = 5
LABEL = 12


def status_lines(reply: StatusReply, now: float, profile: str = "") -> list[str]:
    """The lines about an extension of a running host. `now` is in seconds since the epoch, `profile` the file of its
    newest profile."""
    status = reply.status
    who = f"{one_line(status.name, 200)} {one_line(status.version or '', 60)}".rstrip()
    up = number_format.duration(now - status.since)
    lines = [f"{who}: {status.state} for {up}, in {KINDS[reply.kind]} {reply.pid}"]
    for label, text in _facts(status, reply.pid):
        lines.append(f"{label:<{LABEL}}{one_line(text, 2000)}")
    return [*lines, *profile_lines(profile)]


def profile_lines(file: str) -> list[str]:
    """The line about the newest profile; none without one."""
    return [f"{'profile':<{LABEL}}{one_line(file, 4096)}"] if file else []


def _facts(status: ExtensionStatus, host: int) -> Iterator[tuple[str, str]]:
    stats = status.stats
    yield from _troubles(status, host if stats.hosted is None else stats.hosted.pid)
    yield "since", moment(status.since)
    if not stats.in_client and stats.hosted is None:
        last = f", the last {stats.exit_status}" if stats.exit_status else ""
        starts = f"{counted(stats.restarts, 'restart')}, {counted(stats.exits, 'exit')}{last}"
        yield "starts", f"{starts}; policy {status.restart_policy}{', required' if status.required else ''}"
    yield "use", use_text(stats)
    yield from (("" if index else "runs", line) for index, line in enumerate(run_lines(stats)))
    if status.limits:
        yield "limits", _limits(status)
    yield "calls", _calls(stats)
    if status.tools:
        yield "tools", ", ".join(status.tools)
    if stats.definition_tokens:
        yield "definitions", f"about {number_format.count_text(stats.definition_tokens)} tokens of each request"
    if status.commands:
        yield "commands", ", ".join(f"/{name}" for name in status.commands)
    if status.guards:
        yield "guards", f"{', '.join(status.guards)}; without a verdict: {status.on_failure}"
    yield from (("waits", _pending(request)) for request in status.pending_requests[:PENDING_SHOWN])
    if stats.pending > PENDING_SHOWN:
        yield "", f"and {stats.pending - PENDING_SHOWN} more"
    is_server = status.mcp_file is not None
    yield ("file", f"{status.mcp_file}, entry {status.mcp_entry}") if is_server else ("folder", status.folder)
    yield "log", status.log + (f" ({status.log_trouble})" if status.log_trouble else "")


def _troubles(status: ExtensionStatus, host: int) -> Iterator[tuple[str, str]]:
    """The alarms of now, and the next command about the worst of them."""
    alarms = status.stats.alarms
    if status.why:
        yield "why", status.why
    for alarm in alarms:
        if alarm.kind != "failed":  # `why` has its text
            yield "alarm", alarm_text(alarm)
    if alarms:
        yield "to do", next_step(alarms[0], status.name, host)
    elif status.state == "stopped":
        yield "to do", f"zot ext start {shlex.quote(status.name)} --host {host}"
    elif status.state not in USABLE and not status.stats.in_client:
        yield "to do", _look_and_restart(shlex.quote(status.name), host)


def alarm_text(alarm: Alarm) -> str:
    return alarm.text + ("" if alarm.since is None else f", since {moment(alarm.since)}")


def next_step(alarm: Alarm, name: str, host: int) -> str:
    """The next command about an extension with this alarm, for people."""
    name = shlex.quote(name)
    match alarm.kind:
        case "over_limit" | "near_limit":
            return f"fix it, or raise the limit: zot ext limit {name} --host {host}"
        case "memory_grows":
            return f"zot ext restart {name} --host {host} gives the memory back; it has to be fixed"
        case "restarting":
            return f"zot ext logs {name} -t"
        case _:
            return _look_and_restart(name, host)


def _look_and_restart(name: str, host: int) -> str:
    return f"zot ext logs {name} -t; then zot ext restart {name} --host {host}"


def use_text(stats: ExtensionStats) -> str:
    """The processor time and the memory of an extension, in one line."""
    if stats.in_client:
        return IN_CLIENT
    if stats.hosted is not None:
        return hosted_text(stats.hosted)
    files = "" if stats.open_files is None else f", {counted(stats.open_files, 'open file')}"
    return (
        f"CPU {number_format.percent(stats.cpu_percent)} % ({stats.cpu_s:.2f} s so far),"
        f" memory {number_format.size(stats.rss_bytes)} (at most {number_format.size(stats.rss_peak_bytes)}),"
        f" {counted(stats.processes, 'process', 'processes')}{files}"
    )


def hosted_text(hosted: HostedShare) -> str:
    """The use of an extension that a run takes from a host."""
    where = f"{hosted.mode}, in host {hosted.pid}"
    if hosted.busy_ms is None or hosted.cpu_share_ms is None or hosted.rss_peak_bytes is None:
        return f"{where}; its share is unknown"
    return (
        f"{where}: ~{hosted.cpu_share_ms / 1000:.2f} s CPU (a share), busy {hosted.busy_ms / 1000:.2f} s for this run;"
        f" memory at most {number_format.size(hosted.rss_peak_bytes)}, once for all runs"
    )


def has_sessions(extension: ExtensionStats) -> bool:
    """Whether a run uses it, or has used it."""
    return extension.attached > 0 or extension.other_sessions is not None


def run_lines(stats: ExtensionStats) -> Iterator[str]:
    """The runs that use an extension, the busiest first; empty for one that no run can use."""
    if stats.mode in (None, "private") and not has_sessions(stats):
        return
    late = f"; {counted(stats.answers_dropped, 'answer')} too late" if stats.answers_dropped else ""
    yield f"{stats.mode}, {counted(stats.attached, 'run')} now{late}"
    for session in stats.sessions[:SESSIONS_SHOWN]:
        yield f"{session.pid} in {session.cwd}: {_session(session)}"
    if stats.attached > SESSIONS_SHOWN:
        yield f"and {stats.attached - SESSIONS_SHOWN} more"
    if stats.other_sessions is not None:
        yield f"{counted(stats.other_sessions.count, 'other')}, ended ones included: {_session(stats.other_sessions)}"


def _session(session: SessionStats) -> str:
    return (
        f"{counted(session.calls, 'call')}, {session.pending} in flight, {counted(session.errors, 'error')},"
        f" {counted(session.timeouts, 'timeout')}, busy {session.busy_s:.2f} s, ~{session.cpu_share_s:.2f} s CPU"
    )


def _limits(status: ExtensionStatus) -> str:
    used = (
        f"{use.limit} {'-' if use.used is None else number_format.number(use.used)} of {use.allowed:g}"
        for use in status.limits
    )
    return f"{', '.join(used)}; over them: {status.limit_action}"


def _calls(stats: ExtensionStats) -> str:
    answers = "" if stats.p50_ms is None else (
        f"; half answered in {_milliseconds(stats.p50_ms)}, 99 % in {_milliseconds(stats.p99_ms)}"
    )  # fmt: skip
    return (
        f"{stats.calls}, {stats.pending} in flight, {counted(stats.errors, 'error')},"
        f" {counted(stats.timeouts, 'timeout')}, {counted(stats.blocks, 'block')}{answers}"
    )


def _pending(request: PendingRequest) -> str:
    named = f"/{request.name}" if request.kind == "command" else request.name or "a verdict"
    return f"{named}, asked {request.age_s:.1f} s ago, process {request.pid or '-'}"


def _milliseconds(value: float | None) -> str:
    text = number_format.milliseconds(value)
    return text if text.endswith("s") else f"{text} ms"


def moment(seconds: float) -> str:
    """A time in this machine's time zone, with its offset: `2026-11-22T10:00:00+09:00`; `?` for none of this era."""
    try:
        return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return "?"


def with_log(facts: Sequence[str], log: Sequence[str], height: int | None) -> list[str]:
    """The facts and below them as many of the last lines of the log as fit on a screen of `height` lines; without a
    height all."""
    room = len(log) if height is None else max(0, height - len(facts) - 1)
    shown = list(log)[len(log) - min(room, len(log)) :]
    return [*facts, *(["", *shown] if shown else [])]
