"""What a host knows of itself and its extensions at one moment: the lines of `--stats FILE`, the answer to `get_stats`
on the control socket, what `zot top` shows and `zot report` draws. One JSON object per line.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from wire.lenient_json import UNREADABLE, reason

HostKind = Literal["run", "host"]
"""The host of an agent's run, or `zot host`."""


class ExtensionStats(msgspec.Struct, frozen=True):
    """One extension: gauges of this moment, and counters since the host started."""

    state: str
    """spawned, greeted, ready, backoff, stopping, exited or failed; the best of its workers."""
    failure: str
    """Why it is of no use now; empty while it is."""
    pids: tuple[int, ...]
    """Of its workers that run."""
    workers: int
    """How many it should have."""
    uptime_s: float | None
    """Of the worker that is up longest; null if none is."""
    restarts: int
    exits: int
    exit_status: str | None
    cpu_percent: float
    """Of one core, between the last two samples."""
    cpu_s: float
    rss_bytes: int
    rss_peak_bytes: int
    processes: int
    threads: int
    open_files: int | None
    """Descriptors of all its processes; null where nobody looked."""
    pending: int
    """Requests that wait for an answer."""
    frames_in: int
    frames_out: int
    frames_in_per_s: float
    frames_out_per_s: float
    bytes_in: int
    bytes_out: int
    calls: int
    errors: int
    timeouts: int
    blocks: int
    limit_breaches: int
    """Times that something was done because it was over a limit."""
    events_dropped: int
    notes_dropped: int
    junk_lines: int
    p50_ms: float | None
    p99_ms: float | None
    latency_ms: tuple[tuple[float, int], ...]
    """Upper ends of the histogram's buckets in milliseconds, with how many answers fell into each; only those with
    any, ascending."""


class HostStats(msgspec.Struct, frozen=True):
    pid: int
    kind: HostKind
    """An agent's run, or `zot host`."""
    version: str
    cwd: str
    started: float
    """Seconds since the epoch."""
    uptime_s: float
    cpu_percent: float
    cpu_s: float
    rss_bytes: int
    open_files: int | None
    wakeups: int
    """Turns of the loop so far."""
    samples: int
    sampling_cpu_s: float
    """Processor time that looking at the processes has cost, of `cpu_s`."""
    sampling_interval_s: float
    """Until the next sample, as planned at the last one."""


class Stats(msgspec.Struct, frozen=True, tag_field="type", tag="stats"):
    time: float
    """Seconds since the epoch."""
    host: HostStats
    extensions: dict[str, ExtensionStats]


class Mark(msgspec.Struct, frozen=True, tag_field="type", tag="mark"):
    """Something that happened, for a timeline."""

    time: float
    """When it began, in seconds since the epoch."""
    kind: Literal[
        "turn",
        "tool_call",
        "intercept",
        "started",
        "exited",
        "restarted",
        "reloaded",
        "failed",
        "limit",
        "no_verdict",
        "warning",
    ]
    name: str
    """Of a turn its number, of a tool call the tool, of an intercept the event; of all others empty."""
    extension: str
    """Empty for turns and for built-in tools. Of an intercept the one that blocked, if one did."""
    duration_ms: float | None
    """null for what has no duration."""
    detail: str
    """One line: an error, a reason, an exit."""


StatsLine = Stats | Mark

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[StatsLine] = msgspec.json.Decoder(StatsLine)


class StatsError(ValueError):
    """A line that is no line of a stats file; the text says why."""


def encode(line: StatsLine) -> bytes:
    """One line, LF included."""
    return _encoder.encode(line) + b"\n"


def decode(line: bytes) -> StatsLine:
    """Raises `StatsError`, naming the field that is wrong."""
    try:
        return _decoder.decode(line)
    except UNREADABLE as error:
        raise StatsError(reason(error)) from None
