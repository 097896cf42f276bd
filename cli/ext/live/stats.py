"""`zot ext stats` and `zot ext restart`: one extension of a running host."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

from cli import number_format
from cli.choices import CommandLineError
from cli.hosts.find import NONE_RUNS, connect, only_host_with
from cli.json_line import print_json
from supervisor.control.client import HostError
from wire import control
from wire.suggest import no_such
from wire.text import one_line, printable

if TYPE_CHECKING:
    from supervisor.control.client import ControlClient
    from wire.stats import ExtensionStats

BAR = 40
LATENCY_ROWS = 12


def run_stats(name: str, pid: int | None, *, as_json: bool) -> int:
    """Returns the exit status. Raises `HostError`, and `CommandLineError` for a name that is none."""
    with host_of(name, pid) as client:
        found = client.ask(control.GetStats(client.next_id()), control.StatsReply).stats
    one = found.extensions.get(name)
    if one is None:
        raise CommandLineError(no_such("extension", name, found.extensions))
    if as_json:
        record = {"time": found.time, "host": found.host.pid, "name": name, **msgspec.structs.asdict(one)}
        print_json(record)
    else:
        print("\n".join(_lines(name, found.host.pid, one)))  # noqa: T201
    return 0


def run_restart(name: str, pid: int | None, *, as_json: bool) -> int:
    """Returns the exit status once the host has begun. Raises `HostError`."""
    with host_of(name, pid) as client:
        client.ask(control.RestartExtension(client.next_id(), name), control.Ok)
        if as_json:
            print_json({"host": client.pid, "restarted": name})
        else:
            print(f"zot ext restart: host {client.pid} restarts {printable(name)}", file=sys.stderr)  # noqa: T201
    return 0


def host_of(name: str, pid: int | None) -> ControlClient:
    """The host with this pid; without one the only one that has such an extension. Raises as `connect` does."""
    if pid is not None:
        return _having(connect(pid), name)
    chosen, found = only_host_with(name)
    if chosen is not None:
        return chosen
    if not found:
        raise HostError(NONE_RUNS)
    known = sorted({one for host in found if host.info is not None for one in host.info.extensions})
    raise CommandLineError(no_such("extension", name, known))


def _having(client: ControlClient, name: str) -> ControlClient:
    info = client.ask(control.Info(client.next_id()), control.HostInfoReply)
    if name not in info.extensions:
        client.close()
        raise CommandLineError(no_such("extension", name, sorted(info.extensions)))
    return client


def _lines(name: str, host: int, one: ExtensionStats) -> list[str]:
    """What is known, a line for each kind of thing."""
    pids = " ".join(map(str, one.pids)) or "none"
    files = "-" if one.open_files is None else str(one.open_files)
    lines = [
        f"{one_line(name, 200)}, of host {host}",
        "",
        f"state       {one.state}" + (f": {one_line(one.failure, 2000)}" if one.failure else ""),
        f"up          {number_format.duration(one.uptime_s)}, {one.restarts} restarts, {one.exits} exits"
        + (f", the last {one.exit_status}" if one.exit_status else ""),
        f"processes   {one.processes}, threads {one.threads}, open files {files};"
        f" pids of its workers {pids}, {one.workers} wanted",
        f"CPU         {number_format.percent(one.cpu_percent)} % of a core now, {one.cpu_s:.2f} s so far",
        f"memory      {number_format.size(one.rss_bytes)} now, {number_format.size(one.rss_peak_bytes)} at most",
        f"frames      in {one.frames_in} ({number_format.rate(one.frames_in_per_s)}/s, "
        f"{number_format.size(one.bytes_in)})"
        f"  out {one.frames_out} ({number_format.rate(one.frames_out_per_s)}/s, {number_format.size(one.bytes_out)})",
        f"calls       {one.calls}, {one.pending} pending, {one.errors} errors, {one.timeouts} timeouts,"
        f" {one.blocks} blocks",
        f"left out    {one.events_dropped} events, {one.notes_dropped} notes, {one.junk_lines} lines of junk,"
        f" {one.limit_breaches} limit breaches",
        f"latency     p50 {number_format.milliseconds(one.p50_ms)} ms, p99 {number_format.milliseconds(one.p99_ms)} ms",
    ]
    return [*lines, *_latency(one.latency_ms)]


def _latency(buckets: tuple[tuple[float, int], ...]) -> list[str]:
    """A bar for each doubling of the time."""
    merged: dict[int, int] = {}
    for end_ms, count in buckets:
        doubling = max(0, int(end_ms * 1000)).bit_length()
        merged[doubling] = merged.get(doubling, 0) + count
    most = max(merged.values(), default=0)
    lines = []
    for doubling in range(min(merged, default=0), max(merged, default=-1) + 1):
        count = merged.get(doubling, 0)
        upper = f"{number_format.milliseconds(2**doubling / 1000)}"
        unit = "" if upper.endswith("s") else "ms"
        lines.append(f"  under {upper + unit:>8}  {'#' * round(BAR * count / most):<{BAR}}  {count}")
    return lines
