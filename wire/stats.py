"""Figures of a host and its extensions at one moment: the lines of `--stats FILE`, and the answer to `get_stats` on the
control socket. `zot top` and `zot report` show them. One JSON object per line.

A file begins with a `stats` line, which has all figures; another one follows every half an hour, and at the end.
Between them, `change` lines have only what differs from the line before.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from wire.lenient_json import UNREADABLE, reason

IN_CLIENT = "in the client program: its CPU time and memory are the program's own"
"""Stands in the place of the figures of an extension that has no process."""

HostKind = Literal["run", "host", "mcp"]
"""The host of an agent's run, or `zot host`."""


class Alarm(msgspec.Struct, frozen=True):
    """Something about an extension that a person should look at."""

    kind: Literal["failed", "over_limit", "restarting", "memory_grows", "near_limit"]
    """failed: it is not started again; over_limit: ended for its limits; restarting: ended again and again for another
    reason; memory_grows: its memory only grows; near_limit: it uses 90 % of what a limit allows, or more."""
    text: str
    """One line, with the figures."""
    since: float | None
    """In seconds since the epoch, whole; null if that is not known."""


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
    """Processes of it that have ended, for whatever reason: crashes, and stops in good order."""
    exit_status: str | None
    """Of the worker that ended last: `exit 1`, `signal SIGKILL`; null if none has ended."""
    cpu_percent: float
    """Of one core, between the last two samples. What was used between two lines is the difference of their `cpu_s`."""
    cpu_s: float
    """CPU seconds of all its processes so far, those that have ended included."""
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
    latency_sum_ms: float | None = None
    """Milliseconds of all answers together; null in files of older versions."""
    unexpected_exits: int | None = None
    """Of `exits`, those that nobody had asked for: crashes, ends by itself, hangs and limits; null in files of older
    versions."""
    in_client: bool = False
    """It lives in the client program of `zot rpc`: it has no processes, and its CPU time and memory are the program's
    own."""
    tools: int | None = None
    """The number of tools that it has registered; null in files of older versions."""
    definition_tokens: int | None = None
    """About so many tokens of each request to the model are the definitions of its tools; null in files of older
    versions."""

    exits_by_host: int | None = None
    """Of `unexpected_exits`, those that the host decided on: it was over a limit, hung, or broke its protocol; null in
    files of older versions."""
    alarms: tuple[Alarm, ...] = ()
    """The worst first; empty while all is well."""


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
    task: str = ""
    """The id of the task of a batch that the run carries out; empty outside of batches."""


class Stats(msgspec.Struct, frozen=True, tag_field="type", tag="stats"):
    time: float
    """Seconds since the epoch."""
    host: HostStats
    extensions: dict[str, ExtensionStats]


class Change(msgspec.Struct, frozen=True, tag_field="type", tag="change"):
    """What differs from the `stats` or `change` line before. There is none while no extension changes."""

    time: float
    """Seconds since the epoch."""
    over_s: float
    """The changes happened in so many seconds before `time`. Until then all was as in the line before."""
    host: dict[str, Any]
    """The members of the host that changed; `uptime_s` always."""
    extensions: dict[str, dict[str, Any]]
    """The members that changed, for each extension with changes; all members of a new one. `uptime_s` is left out while
    it goes on with the time. `latency_ms` has only the buckets that changed."""
    gone: tuple[str, ...] = ()
    """The extensions that are there no more."""


class Run(msgspec.Struct, frozen=True, tag_field="type", tag="run"):
    """What the agent of a run has used so far: at the start, after each request to the model, and at the end. The last
    line counts. A host without an agent writes none."""

    time: float
    """Seconds since the epoch."""
    session: str
    provider: str
    model: str
    steps: int
    """Turns so far."""
    input: int
    """Tokens, as are the next three."""
    output: int
    cache_read: int
    cache_write: int
    cost_usd: float | None
    """null when the prices of the model are not known."""
    status: str = ""
    """How the run ended, as in the `result` record; empty while it goes on, or if it was cut off."""
    exit_code: int | None = None
    """null while the run goes on."""
    reason: str = ""
    """Why, if it did not end well."""


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


StatsLine = Stats | Change | Run | Mark

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


def find_change(before: Stats, after: Stats, over_s: float) -> Change | None:
    """What differs between two moments that are `over_s` seconds apart; None if no extension has changed."""
    extensions: dict[str, dict[str, Any]] = {}
    for name, now in after.extensions.items():
        known = before.extensions.get(name)
        if known is None:
            extensions[name] = msgspec.structs.asdict(now)
        elif known is not now and (members := _changed_members(known, now)):
            extensions[name] = members
    gone = tuple(name for name in before.extensions if name not in after.extensions)
    if not extensions and not gone:
        return None
    host = _differing(before.host, after.host)
    return Change(after.time, round(over_s, 3), host | {"uptime_s": after.host.uptime_s}, extensions, gone)


def _changed_members(before: ExtensionStats, after: ExtensionStats) -> dict[str, Any]:
    members = _differing(before, after)
    if before.uptime_s is not None and after.uptime_s is not None and before.pids == after.pids:
        members.pop("uptime_s", None)  # the same processes: it goes on with the time
    if "latency_ms" in members:
        known = dict(before.latency_ms)
        members["latency_ms"] = [bucket for bucket in after.latency_ms if known.get(bucket[0]) != bucket[1]]
    return members


def _differing(before: msgspec.Struct, after: msgspec.Struct) -> dict[str, Any]:
    return {name: value for name in after.__struct_fields__ if (value := getattr(after, name)) != getattr(before, name)}


def apply_change(before: Stats, line: Change) -> Stats:
    """All figures after a change. Raises `StatsError` for a line that does not follow `before`."""
    try:
        host = msgspec.convert(msgspec.structs.asdict(before.host) | line.host, HostStats)
        elapsed = host.uptime_s - before.host.uptime_s
        extensions = {
            name: _with_members(known, line.extensions.get(name, {}), elapsed)
            for name, known in before.extensions.items()
            if name not in line.gone
        }
        new = {name: members for name, members in line.extensions.items() if name not in before.extensions}
        extensions |= {name: msgspec.convert(members, ExtensionStats) for name, members in new.items()}
    except msgspec.ValidationError as error:
        raise StatsError(reason(error)) from None
    return Stats(line.time, host, extensions)


def _with_members(known: ExtensionStats, members: dict[str, Any], elapsed: float) -> ExtensionStats:
    held = msgspec.structs.asdict(known)
    if known.uptime_s is not None:
        held["uptime_s"] = round(known.uptime_s + elapsed, 3)
    if "latency_ms" in members:
        buckets = dict(known.latency_ms) | dict(msgspec.convert(members["latency_ms"], tuple[tuple[float, int], ...]))
        members = members | {"latency_ms": sorted(buckets.items())}
    return msgspec.convert(held | members, ExtensionStats)
