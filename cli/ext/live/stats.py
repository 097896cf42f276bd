"""`zot ext stats` and `zot ext restart`: show or restart one extension of a running host."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

from cli import number_format
from cli.choices import CommandLineError
from cli.hosts.find import host_of
from cli.hosts.status_lines import run_lines, use_text
from cli.json_line import print_json
from wire import control
from wire.suggestions import no_such
from wire.text import counted, one_line, printable

if TYPE_CHECKING:
    from wire.stats import ExtensionStats

BAR_WIDTH = 40


def run_stats(name: str, pid: int | None, *, as_json: bool) -> int:
    """Prints the figures of an extension; returns the exit status. Raises `ControlError`, and `CommandLineError` for an
    unknown name."""
    client, name = host_of(name, pid)
    with client:
        found = client.ask(control.GetStats(client.next_id()), control.StatsReply).stats
    extension = found.extensions.get(name)
    if extension is None:
        raise CommandLineError(no_such("extension", name, found.extensions))
    if as_json:
        record = {"time": found.time, "host": found.host.pid, "name": name, **msgspec.structs.asdict(extension)}
        print_json(record)
    else:
        print("\n".join(_lines(name, found.host.pid, extension)))  # noqa: T201
    return 0


def run_restart(name: str, pid: int | None, *, as_json: bool) -> int:
    """Returns the exit status when the host has begun the restart. Raises `ControlError`, and `CommandLineError` for an
    unknown name."""
    client, name = host_of(name, pid)
    with client:
        client.ask(control.RestartExtension(client.next_id(), name), control.Ok)
        if as_json:
            print_json({"host": client.pid, "restarted": name})
        else:
            print(f"zot ext restart: host {client.pid} restarts {printable(name)}", file=sys.stderr)  # noqa: T201
    return 0


def _lines(name: str, host: int, stats: ExtensionStats) -> list[str]:
    """All figures, a line for each group."""
    pids = " ".join(map(str, stats.pids)) or "none"
    files = "-" if stats.open_files is None else str(stats.open_files)
    use = [
        f"processes   {stats.processes}, threads {stats.threads}, open files {files};"
        f" pids of its workers {pids}, {stats.workers} wanted",
        f"CPU         {number_format.percent(stats.cpu_percent)} % of a core now, {stats.cpu_s:.2f} s so far",
        f"memory      {number_format.size(stats.rss_bytes)} now, {number_format.size(stats.rss_peak_bytes)} at most",
    ]
    lines = [
        f"{one_line(name, 200)}, of host {host}",
        "",
        f"state       {stats.state}" + (f": {one_line(stats.failure, 2000)}" if stats.failure else ""),
        f"up          {number_format.duration(stats.uptime_s)}, {counted(stats.restarts, 'restart')},"
        f" {counted(stats.exits, 'exit')}" + (f", the last {stats.exit_status}" if stats.exit_status else ""),
        *([f"use         {use_text(stats)}"] if stats.in_client or stats.hosted is not None else use),
        *(f"{'' if index else 'runs':<12}{one_line(line, 2000)}" for index, line in enumerate(run_lines(stats))),
        f"frames      in {stats.frames_in} ({number_format.rate(stats.frames_in_per_s)}/s, "
        f"{number_format.size(stats.bytes_in)})"
        f"  out {stats.frames_out} ({number_format.rate(stats.frames_out_per_s)}/s, "
        f"{number_format.size(stats.bytes_out)})",
        f"calls       {stats.calls}, {stats.pending} pending, {counted(stats.errors, 'error')},"
        f" {counted(stats.timeouts, 'timeout')},"
        f" {counted(stats.blocks, 'block')}"
        + (f", {stats.calls_made} made through the host" if stats.calls_made else ""),
        *_waits(stats),
        f"left out    {counted(stats.events_dropped, 'event')}, {counted(stats.notes_dropped, 'note')},"
        f" {counted(stats.answers_dropped, 'late answer')}, {counted(stats.junk_lines, 'line')} of junk,"
        f" {counted(stats.limit_breaches, 'limit breach', 'limit breaches')}",
        *_definitions(stats),
        *_model_use(stats),
        f"latency     p50 {number_format.milliseconds(stats.p50_ms)} ms,"
        f" p99 {number_format.milliseconds(stats.p99_ms)} ms",
    ]
    return [*lines, *_latency(stats.latency_ms)]


def _waits(stats: ExtensionStats) -> list[str]:
    if not stats.start_waits:
        return []
    return [f"starts      waited {number_format.elapsed(stats.start_wait_s)} for {counted(stats.start_waits, 'start')}"]


def _definitions(stats: ExtensionStats) -> list[str]:
    if not stats.tools or stats.definition_tokens is None:
        return []
    return [f"definitions {number_format.definitions_text(stats.tools, stats.definition_tokens)}"]


def _model_use(stats: ExtensionStats) -> list[str]:
    if stats.model_tokens is None:
        return []
    tokens = number_format.plural(stats.model_tokens, "token")
    return [f"model       {tokens} of its definitions and results, {number_format.dollars(stats.model_usd)}"]


def _latency(buckets: tuple[tuple[float, int], ...]) -> list[str]:
    """A histogram: a bar for each doubling of the time."""
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
        lines.append(f"  under {upper + unit:>8}  {'#' * round(BAR_WIDTH * count / most):<{BAR_WIDTH}}  {count}")
    return lines
