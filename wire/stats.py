"""Figures of a host and its extensions at one moment: the lines of `--stats FILE`, and the answer to `get_stats` on the
control socket. `zot top` and `zot report` show them. One JSON object per line.
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
    """Why it cannot be used now; empty while it can."""
    pids: tuple[int, ...]
    """Of its running workers."""
    workers: int
    """The number of workers that it should have."""
    uptime_s: float | None
    """Of the worker that has been up longest; null if none is up."""
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
    """Descriptors of all its processes; null if they were not counted."""
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
    """How many times `action` was taken because it was over a limit."""
    events_dropped: int
    notes_dropped: int
    junk_lines: int
    p50_ms: float | None
    p99_ms: float | None
    latency_ms: tuple[tuple[float, int], ...]
    """The histogram of answer times: the upper end of each bucket in milliseconds, ascending, and its number of
    answers. Empty buckets are left out."""


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
    """Passes of the loop so far."""
    samples: int
    sampling_cpu_s: float
    """The part of `cpu_s` that sampling the processes has used."""
    sampling_interval_s: float
    """The planned time between the last sample and the next."""


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
    """The number of a turn, the tool of a tool call, the event of an intercept; empty for other kinds."""
    extension: str
    """Empty for turns and built-in tools. For an intercept the extension that blocked, if one did."""
    duration_ms: float | None
    """null for a kind without a duration."""
    detail: str
    """One line: an error, a reason, an exit."""


StatsLine = Stats | Mark

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[StatsLine] = msgspec.json.Decoder(StatsLine)


class StatsError(ValueError):
    """The line does not belong in a stats file; the text says why."""


def encode(line: StatsLine) -> bytes:
    """The sample or mark as one line, LF included."""
    return _encoder.encode(line) + b"\n"


def decode(line: bytes) -> StatsLine:
    """Decodes one line. Raises `StatsError`, which names the wrong field."""
    try:
        return _decoder.decode(line)
    except UNREADABLE as error:
        raise StatsError(reason(error)) from None
