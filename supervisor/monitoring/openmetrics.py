"""Renders stats as OpenMetrics text, which node_exporter's textfile collector reads as well. Pure.

That collector refuses a file with other kinds than gauges, counters and histograms, so only these kinds are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wire.stats import ExtensionStats, HostStats, Stats

LADDER_S = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
"""Upper ends of the published buckets in seconds. They are the same for all extensions, so that buckets can be added
up. The account's own buckets are finer: they are off by a tenth at most."""


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
    _host("uptime_seconds", "gauge", "seconds", "Since the host started.", lambda host: host.uptime_s),
    _host("start_time_seconds", "gauge", "seconds", "Since the epoch.", lambda host: host.started),
    _host("cpu_seconds", "counter", "seconds", "Processor time of the host itself.", lambda host: host.cpu_s),
    _host(
        "sampling_cpu_seconds",
        "counter",
        "seconds",
        "Of it, spent on looking at processes.",
        lambda host: host.sampling_cpu_s,
    ),
    _host("resident_memory_bytes", "gauge", "bytes", "Of the host itself.", lambda host: host.rss_bytes),
    _host("open_files", "gauge", "", "Descriptors of the host itself.", lambda host: host.open_files),
    _host("wakeups", "counter", "", "Turns of the host's loop.", lambda host: host.wakeups),
)
EXTENSION = (
    _extension(
        "up", "gauge", "", "1 if it can be asked things.", lambda ext: ext.state in ("ready", "greeted", "reloading")
    ),
    _extension("cpu_seconds", "counter", "seconds", "Of all its processes so far.", lambda ext: ext.cpu_s),
    _extension("resident_memory_bytes", "gauge", "bytes", "Of its process trees.", lambda ext: ext.rss_bytes),
    _extension(
        "resident_memory_peak_bytes", "gauge", "bytes", "The highest seen so far.", lambda ext: ext.rss_peak_bytes
    ),
    _extension("processes", "gauge", "", "In its trees.", lambda ext: ext.processes),
    _extension("threads", "gauge", "", "In its trees.", lambda ext: ext.threads),
    _extension("open_files", "gauge", "", "Descriptors in its trees.", lambda ext: ext.open_files),
    _extension("pending_calls", "gauge", "", "Requests that wait for an answer.", lambda ext: ext.pending),
    _extension("received_frames", "counter", "", "Frames that it sent.", lambda ext: ext.frames_in),
    _extension("sent_frames", "counter", "", "Frames sent to it.", lambda ext: ext.frames_out),
    _extension("received_bytes", "counter", "bytes", "Bytes that it sent.", lambda ext: ext.bytes_in),
    _extension("sent_bytes", "counter", "bytes", "Bytes sent to it.", lambda ext: ext.bytes_out),
    _extension("calls", "counter", "", "Requests for an answer.", lambda ext: ext.calls),
    _extension("errors", "counter", "", "Requests that failed.", lambda ext: ext.errors),
    _extension("timeouts", "counter", "", "Requests without an answer in time.", lambda ext: ext.timeouts),
    _extension("blocks", "counter", "", "Verdicts by which it blocked something.", lambda ext: ext.blocks),
    _extension("exits", "counter", "", "Processes of it that have ended.", lambda ext: ext.exits),
    _extension("restarts", "counter", "", "Times that it was started again.", lambda ext: ext.restarts),
    _extension("limit_breaches", "counter", "", "Times that a limit was enforced.", lambda ext: ext.limit_breaches),
    _extension("dropped_events", "counter", "", "Events that it missed.", lambda ext: ext.events_dropped),
    _extension("dropped_notes", "counter", "", "Notes that were not shown.", lambda ext: ext.notes_dropped),
    _extension("junk_lines", "counter", "", "Lines that were no frames.", lambda ext: ext.junk_lines),
)
LATENCY = _Family("zot_extension_answer_seconds", "histogram", "seconds", "Time to answer.")
STATE = _Family("zot_extension_state", "gauge", "", "1 for the state that it is in.")


def render(stats: Stats) -> str:
    """Returns the text of the whole file. Each series has the host's pid as a label, so that the files of two hosts can
    be collected together."""
    host = f'pid="{stats.host.pid}",kind="{_escaped(stats.host.kind)}"'
    lines: list[str] = []
    for of_host in HOST:
        lines += _head(of_host.family)
        lines += _sample(of_host.family, host, of_host.value(stats.host))
    labels = {name: f'extension="{_escaped(name)}",pid="{stats.host.pid}"' for name in stats.extensions}
    for of_extension in EXTENSION:
        lines += _head(of_extension.family)
        for name, extension in stats.extensions.items():
            lines += _sample(of_extension.family, labels[name], of_extension.value(extension))
    lines += _head(STATE)
    for name, extension in stats.extensions.items():
        lines.append(f'{STATE.name}{{{labels[name]},state="{_escaped(extension.state)}"}} 1')
    lines += _head(LATENCY)
    for name, extension in stats.extensions.items():
        lines += _histogram(labels[name], extension)
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


def _histogram(labels: str, extension: ExtensionStats) -> Iterator[str]:
    left = list(extension.latency_ms)
    below = 0
    for end in LADDER_S:
        while left and left[0][0] <= end * 1000:
            below += left.pop(0)[1]
        yield f'{LATENCY.name}_bucket{{{labels},le="{_number(end)}"}} {below}'
    count = sum(number for _, number in extension.latency_ms)
    yield f'{LATENCY.name}_bucket{{{labels},le="+Inf"}} {count}'
    yield f"{LATENCY.name}_count{{{labels}}} {count}"


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
