"""The families of metrics: name, kind, unit, help, and the value by the stats of a host or an extension. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wire.stats import ExtensionStats, HostStats

LADDER_S = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
"""Upper ends of the published buckets in seconds, the same for all extensions, so that buckets can be added up. The
account's own buckets are finer: their ends differ by at most a tenth."""


class Family(NamedTuple):
    """The head of a family of series."""

    name: str
    kind: str
    """gauge, counter or histogram."""
    unit: str
    """The unit at the end of the name; empty without one."""
    help: str


class OfExtension(NamedTuple):
    family: Family
    value: Callable[[ExtensionStats], float | None]


class OfHost(NamedTuple):
    family: Family
    value: Callable[[HostStats], float | None]


class OfEach(NamedTuple):
    """A family with one more label, which has several values for one extension."""

    family: Family
    label: str
    values: Callable[[ExtensionStats], Mapping[str, float]]


def _extension(
    name: str, kind: str, unit: str, help_: str, value: Callable[[ExtensionStats], float | None]
) -> OfExtension:
    return OfExtension(Family(f"zot_extension_{name}", kind, unit, help_), value)


def _host(name: str, kind: str, unit: str, help_: str, value: Callable[[HostStats], float | None]) -> OfHost:
    return OfHost(Family(f"zot_host_{name}", kind, unit, help_), value)


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


HOST = (
    _host("uptime_seconds", "gauge", "seconds", "Since the host started.", lambda host: host.uptime_s),
    _host("start_time_seconds", "gauge", "seconds", "Since the epoch.", lambda host: host.started),
    _host("cpu_seconds", "counter", "seconds", "Processor time of the host itself.", lambda host: host.cpu_s),
    _host(
        "sampling_cpu_seconds",
        "counter",
        "seconds",
        "Processor time for sampling processes.",
        lambda host: host.sampling_cpu_s,
    ),
    _host("resident_memory_bytes", "gauge", "bytes", "Of the host itself.", lambda host: host.rss_bytes),
    _host("open_files", "gauge", "", "Descriptors of the host itself.", lambda host: host.open_files),
    _host("wakeups", "counter", "", "Turns of the host's loop.", lambda host: host.wakeups),
    _host("attached_runs", "gauge", "", "Runs that are attached to the host.", lambda host: host.attached_runs),
)
EXTENSION = (
    _extension(
        "up",
        "gauge",
        "",
        "1 if it accepts requests.",
        lambda ext: ext.state in ("ready", "greeted", "reloading", "asleep", "waking"),
    ),
    _extension("cpu_seconds", "counter", "seconds", "Of all its processes so far.", lambda ext: ext.cpu_s),
    _extension("resident_memory_bytes", "gauge", "bytes", "Of its process trees.", lambda ext: ext.rss_bytes),
    _extension(
        "resident_memory_peak_bytes", "gauge", "bytes", "The highest seen so far.", lambda ext: ext.rss_peak_bytes
    ),
    _extension("processes", "gauge", "", "In its trees.", lambda ext: ext.processes),
    _extension("threads", "gauge", "", "In its trees.", lambda ext: ext.threads),
    _extension("open_files", "gauge", "", "Descriptors in its trees.", lambda ext: ext.open_files),
    _extension("tools", "gauge", "", "Tools that it has registered.", lambda ext: ext.tools or 0),
    _extension(
        "definition_tokens",
        "gauge",
        "",
        "About the tokens of their definitions, in each request to the model.",
        lambda ext: ext.definition_tokens or 0,
    ),
    _extension("pending_calls", "gauge", "", "Requests that wait for an answer.", lambda ext: ext.pending),
    _extension("received_frames", "counter", "", "Frames that it sent.", lambda ext: ext.frames_in),
    _extension("sent_frames", "counter", "", "Frames sent to it.", lambda ext: ext.frames_out),
    _extension("received_bytes", "counter", "bytes", "Bytes that it sent.", lambda ext: ext.bytes_in),
    _extension("sent_bytes", "counter", "bytes", "Bytes sent to it.", lambda ext: ext.bytes_out),
    _extension("calls", "counter", "", "Requests for an answer.", lambda ext: ext.calls),
    _extension("calls_made", "counter", "", "Calls of tools made through the host.", lambda ext: ext.calls_made),
    _extension("errors", "counter", "", "Requests that failed.", lambda ext: ext.errors),
    _extension("timeouts", "counter", "", "Requests without an answer in time.", lambda ext: ext.timeouts),
    _extension("blocks", "counter", "", "Verdicts by which it blocked something.", lambda ext: ext.blocks),
    _extension(
        "missing_verdicts", "counter", "", "Verdicts that it owed and did not give.", lambda ext: ext.no_verdicts
    ),
    _extension("exits", "counter", "", "Processes of it that have ended.", lambda ext: ext.exits),
    _extension(
        "unexpected_exits",
        "counter",
        "",
        "Of these, exits that the host had not asked for.",
        lambda ext: ext.unexpected_exits,
    ),
    _extension("restarts", "counter", "", "Times that it was restarted.", lambda ext: ext.restarts),
    _extension("limit_breaches", "counter", "", "Times that a limit was enforced.", lambda ext: ext.limit_breaches),
    _extension("dropped_events", "counter", "", "Events that it missed.", lambda ext: ext.events_dropped),
    _extension("dropped_notes", "counter", "", "Notes that were not shown.", lambda ext: ext.notes_dropped),
    _extension("dropped_answers", "counter", "", "Answers that came too late.", lambda ext: ext.answers_dropped),
    _extension(
        "attached_sessions",
        "gauge",
        "",
        "Sessions of runs that use it now.",
        lambda ext: None if ext.mode is None else ext.attached,
    ),
    _extension(
        "share_cpu_seconds",
        "counter",
        "seconds",
        "This run's share of a host's process, by busy time.",
        lambda ext: None if ext.hosted is None else _seconds(ext.hosted.cpu_share_ms),
    ),
    _extension("junk_lines", "counter", "", "Lines that were no frames.", lambda ext: ext.junk_lines),
)
LATENCY = Family("zot_extension_answer_seconds", "histogram", "seconds", "Time to answer.")
OF_EACH = (
    OfEach(
        Family("zot_extension_state", "gauge", "", "1 for the state that it is in."),
        "state",
        lambda ext: {ext.state: 1},
    ),
    OfEach(
        Family("zot_extension_alarm", "gauge", "", "1 for each alarm of now: a person should look at it."),
        "kind",
        lambda ext: dict.fromkeys((alarm.kind for alarm in ext.alarms), 1),
    ),
    OfEach(
        Family("zot_extension_limit", "gauge", "", "The limits of each worker, in the units of the manifest."),
        "limit",
        lambda ext: ext.limits,
    ),
)
HOST_UP = Family("zot_host_up", "gauge", "", "1 if the host has answered this scrape in time.")
HOST_INFO = Family("zot_host_info", "gauge", "", "1; its labels describe the host.")
SCRAPE = Family("zot_scrape_duration_seconds", "gauge", "seconds", "Time in which the hosts were asked.")
