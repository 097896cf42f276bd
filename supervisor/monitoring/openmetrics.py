"""Stats as metrics: OpenMetrics text, made so that node_exporter's textfile collector reads it as well. Pure.

Only gauges, counters and histograms are used: the collector refuses a file with any other kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wire.stats import ExtensionStats, HostStats, Stats

LADDER_S = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
"""Upper ends of the published buckets. They are the same for all, so that they can be added up; the finer ones of the
account are off by a tenth at most."""


class _Family(NamedTuple):
    name: str
    kind: str
    unit: str
    help: str


class _OfExtension(NamedTuple):
    family: _Family
    value: Callable[[ExtensionStats], float | None]


class _OfHost(NamedTuple):
    family: _Family
    value: Callable[[HostStats], float | None]


def _extension(
    name: str, kind: str, unit: str, help_: str, value: Callable[[ExtensionStats], float | None]
) -> _OfExtension:
    return _OfExtension(_Family(f"zot_extension_{name}", kind, unit, help_), value)


def _host(name: str, kind: str, unit: str, help_: str, value: Callable[[HostStats], float | None]) -> _OfHost:
    return _OfHost(_Family(f"zot_host_{name}", kind, unit, help_), value)


HOST = (
    _host("uptime_seconds", "gauge", "seconds", "Since the host started.", lambda one: one.uptime_s),
    _host("start_time_seconds", "gauge", "seconds", "Since the epoch.", lambda one: one.started),
    _host("cpu_seconds", "counter", "seconds", "Processor time of the host itself.", lambda one: one.cpu_s),
    _host(
        "sampling_cpu_seconds",
        "counter",
        "seconds",
        "Of it, spent on looking at processes.",
        lambda one: one.sampling_cpu_s,
    ),
    _host("resident_memory_bytes", "gauge", "bytes", "Of the host itself.", lambda one: one.rss_bytes),
    _host("open_files", "gauge", "", "Descriptors of the host itself.", lambda one: one.open_files),
    _host("wakeups", "counter", "", "Turns of the host's loop.", lambda one: one.wakeups),
)
EXTENSION = (
    _extension(
        "up", "gauge", "", "1 if it can be asked things.", lambda one: one.state in ("ready", "greeted", "reloading")
    ),
    _extension("cpu_seconds", "counter", "seconds", "Of all its processes so far.", lambda one: one.cpu_s),
    _extension("resident_memory_bytes", "gauge", "bytes", "Of its process trees.", lambda one: one.rss_bytes),
    _extension(
        "resident_memory_peak_bytes", "gauge", "bytes", "The highest seen so far.", lambda one: one.rss_peak_bytes
    ),
    _extension("processes", "gauge", "", "In its trees.", lambda one: one.processes),
    _extension("threads", "gauge", "", "In its trees.", lambda one: one.threads),
    _extension("open_files", "gauge", "", "Descriptors in its trees.", lambda one: one.open_files),
    _extension("pending_calls", "gauge", "", "Requests that wait for an answer.", lambda one: one.pending),
    _extension("received_frames", "counter", "", "Frames that it sent.", lambda one: one.frames_in),
    _extension("sent_frames", "counter", "", "Frames sent to it.", lambda one: one.frames_out),
    _extension("received_bytes", "counter", "bytes", "Bytes that it sent.", lambda one: one.bytes_in),
    _extension("sent_bytes", "counter", "bytes", "Bytes sent to it.", lambda one: one.bytes_out),
    _extension("calls", "counter", "", "Requests for an answer.", lambda one: one.calls),
    _extension("errors", "counter", "", "Requests that failed.", lambda one: one.errors),
    _extension("timeouts", "counter", "", "Requests without an answer in time.", lambda one: one.timeouts),
    _extension("blocks", "counter", "", "Verdicts by which it blocked something.", lambda one: one.blocks),
    _extension("exits", "counter", "", "Processes of it that have ended.", lambda one: one.exits),
    _extension("restarts", "counter", "", "Times that it was started again.", lambda one: one.restarts),
    _extension("limit_breaches", "counter", "", "Times that a limit was enforced.", lambda one: one.limit_breaches),
    _extension("dropped_events", "counter", "", "Events that it missed.", lambda one: one.events_dropped),
    _extension("dropped_notes", "counter", "", "Notes that were not shown.", lambda one: one.notes_dropped),
    _extension("junk_lines", "counter", "", "Lines that were no frames.", lambda one: one.junk_lines),
)
LATENCY = _Family("zot_extension_answer_seconds", "histogram", "seconds", "Time to answer.")
STATE = _Family("zot_extension_state", "gauge", "", "1 for the state that it is in.")


def render(stats: Stats) -> str:
    """The whole file. Every series carries the host's pid, so that two hosts' files go together."""
    host = f'pid="{stats.host.pid}",kind="{_escaped(stats.host.kind)}"'
    lines: list[str] = []
    for of_host in HOST:
        lines += _head(of_host.family)
        lines += _sample(of_host.family, host, of_host.value(stats.host))
    labels = {name: f'extension="{_escaped(name)}",pid="{stats.host.pid}"' for name in stats.extensions}
    for of_extension in EXTENSION:
        lines += _head(of_extension.family)
        for name, one in stats.extensions.items():
            lines += _sample(of_extension.family, labels[name], of_extension.value(one))
    lines += _head(STATE)
    for name, one in stats.extensions.items():
        lines.append(f'{STATE.name}{{{labels[name]},state="{_escaped(one.state)}"}} 1')
    lines += _head(LATENCY)
    for name, one in stats.extensions.items():
        lines += _histogram(labels[name], one)
    return "\n".join([*lines, "# EOF", ""])


def _head(family: _Family) -> Iterator[str]:
    yield f"# TYPE {family.name} {family.kind}"
    if family.unit:
        yield f"# UNIT {family.name} {family.unit}"
    yield f"# HELP {family.name} {family.help}"


def _sample(family: _Family, labels: str, value: float | None) -> Iterator[str]:
    if value is not None:
        suffix = "_total" if family.kind == "counter" else ""
        yield f"{family.name}{suffix}{{{labels}}} {_number(value)}"


def _histogram(labels: str, one: ExtensionStats) -> Iterator[str]:
    left = list(one.latency_ms)
    below = 0
    for end in LADDER_S:
        while left and left[0][0] <= end * 1000:
            below += left.pop(0)[1]
        yield f'{LATENCY.name}_bucket{{{labels},le="{_number(end)}"}} {below}'
    count = sum(number for _, number in one.latency_ms)
    yield f'{LATENCY.name}_bucket{{{labels},le="+Inf"}} {count}'
    yield f"{LATENCY.name}_count{{{labels}}} {count}"


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
