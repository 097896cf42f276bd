"""Figures of a host and its extensions at one moment: the lines of `--stats FILE` and of the traces of runs, and the
answer to `get_stats` on the control socket. `zot top` and `zot report` show them. One JSON object per line.

A file begins with a `stats` line, which has all figures; another one follows every half an hour, and at the end.
Between them, `change` lines have only the differences from the line before.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from wire.events.parts import HostedShare  # noqa: TC001  (msgspec reads the annotations)
from wire.lenient_json import UNREADABLE, reason

IN_CLIENT = "in the client program: its CPU time and memory are the program's own"
"""Shown instead of the figures of an extension that has no process."""

HostKind = Literal["run", "host", "mcp", "batch"]
"""The kind of host: an agent's run, `zot host` or `zot mcp serve`."""


class Alarm(msgspec.Struct, frozen=True):
    """A problem of an extension that a person should look at."""

    kind: Literal["failed", "over_limit", "restarting", "memory_grows", "near_limit"]
    """failed: it is not restarted; over_limit: ended for its limits; restarting: ended again and again for another
    reason; memory_grows: its memory only grows; near_limit: it uses at least 90 % of a limit."""
    text: str
    """One line, with the figures."""
    since: float | None
    """Time of its start in whole seconds since the epoch; null if unknown."""


class SessionStats(msgspec.Struct, frozen=True):
    """The use of a shared or leased extension by one session, or by several together."""

    calls: int
    errors: int
    timeouts: int
    pending: int
    """Number of its requests that wait for an answer."""
    frames_in: int
    """Frames of the extension for it."""
    frames_out: int
    busy_s: float
    """Seconds in which the extension had its requests; while there were others' too, its part."""
    cpu_share_s: float
    """CPU seconds of the extension by its part of the busy time: a share, not a measurement."""
    session_id: str = ""
    """Empty for several sessions."""
    pid: int | None = None
    """Pid of its run; null for several sessions."""
    cwd: str = ""
    """The folder of its run; empty for several sessions."""
    since: float | None = None
    """The time at which its run took the extension, in seconds since the epoch; null for several sessions."""
    count: int = 1
    """Number of sessions whose figures are added up here."""


class ExtensionStats(msgspec.Struct, frozen=True):
    """One extension: gauges of this moment, and counters since the host started."""

    state: str
    """asleep, waking, spawned, greeted, ready, backoff, stopping, exited, failed or stopped; the best of its workers.
    asleep: its process starts when it is needed; waking: it is being started for that; stopped: by `zot ext stop`."""
    failure: str
    """Why it cannot be used now; empty while it can be."""
    pids: tuple[int, ...]
    """Pids of its running workers."""
    workers: int
    """The number of workers that it should have."""
    uptime_s: float | None
    """Seconds since the start of its oldest running worker; null if none runs."""
    restarts: int
    """Number of times that it became ready again after an end; starts that fail are not counted."""
    exits: int
    """Number of its processes that ended for any reason: crashes, and stops in good order, but for `idle_stop_s`."""
    exit_status: str | None
    """How its last worker ended: `exit 1`, `signal SIGKILL`; null if none has ended."""
    cpu_percent: float
    """CPU time between the last two samples, in percent of one core. The difference of two lines' `cpu_s` is the use
    between them."""
    cpu_s: float
    """CPU seconds of all its processes so far, ended ones included."""
    rss_bytes: int
    """In a stats file, the line that follows an exit has the memory just before it, by the last sample or the kernel's
    new peak."""
    rss_peak_bytes: int
    processes: int
    threads: int
    open_files: int | None
    """Number of open descriptors of all its processes; null if they were not counted."""
    pending: int
    """Number of requests that wait for an answer."""
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
    """Number of times that `action` was taken because it was over a limit."""
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
    """Unexpected `exits`: crashes, ends by itself, hangs and limits; null in files of older versions."""
    in_client: bool = False
    """Whether it lives in the client program of `zot rpc`: then it has no processes, and its CPU time and memory are
    the program's own."""
    tools: int | None = None
    """The number of tools that it has registered; null in files of older versions."""
    definition_tokens: int | None = None
    """Estimated tokens of its tools' definitions in each request to the model; null in files of older versions."""

    exits_by_host: int | None = None
    """`unexpected_exits` caused by the host for a limit, a hang or a broken protocol; null in older files."""
    calls_made: int = 0
    """Number of calls of tools that it has made through its host."""
    start_waits: int = 0
    """Number of starts that requests waited for, since the extension starts when needed."""
    start_wait_s: float = 0.0
    """Seconds of these waits together, each from the first request until its process was ready."""
    alarms: tuple[Alarm, ...] = ()
    """The worst first; empty without problems."""
    answers_dropped: int = 0
    """Number of answers that no request waited for: late or repeated ones, or for another session."""
    mode: Literal["private", "leased", "shared"] | None = None
    """How runs that attach to the host may use it; null if no run can attach to this host."""
    attached: int = 0
    """Number of sessions that use it now."""
    sessions: tuple[SessionStats, ...] = ()
    """Sessions that use it now, the busiest first: 100 at most."""
    other_sessions: SessionStats | None = None
    """All its other sessions together: those that have ended, and those that `sessions` has no room for. null without
    any."""
    hosted: HostedShare | None = None
    """In a run, the share of an extension that it takes from a host; null for a process of its own. One with a share
    has no process in the run."""
    model_tokens: int | None = None
    """Tokens of its tools' definitions and of their results, in all requests of the run to the model together, by their
    share of each; null without such a request."""
    model_usd: float | None = None
    """US dollars of `model_tokens`; null if they or a price are unknown."""
    no_verdicts: int = 0
    """Number of verdicts that its guards owed and did not give; while a user has stopped it they owe none."""
    limits: dict[str, float] = {}
    """The limits that are set, by their names in the manifest and in its units: each holds for one worker with all its
    processes."""


class HostStats(msgspec.Struct, frozen=True):
    pid: int
    kind: HostKind
    """The kind of host: an agent's run, `zot host` or `zot mcp serve`."""
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
    """Number of passes of the loop so far."""
    samples: int
    sampling_cpu_s: float
    """CPU seconds of `cpu_s` that sampling the processes used."""
    sampling_interval_s: float
    """The planned seconds between the last sample and the next."""
    task: str = ""
    """The id of the batch task of the run; empty outside of batches."""
    attached_runs: int = 0
    """Number of runs that are attached to it."""
    attached_to: int | None = None
    """Pid of the host that this run has attached to; null without one."""


class Stats(msgspec.Struct, frozen=True, tag_field="type", tag="stats"):
    time: float
    """Seconds since the epoch."""
    host: HostStats
    extensions: dict[str, ExtensionStats]


class Change(msgspec.Struct, frozen=True, tag_field="type", tag="change"):
    """The differences from the `stats` or `change` line before. None is written while no extension changes."""

    time: float
    """Seconds since the epoch."""
    over_s: float
    """Seconds before `time` in which the changes happened. Until then, all figures were as in the line before."""
    host: dict[str, Any]
    """The changed members of the host; always with `uptime_s`."""
    extensions: dict[str, dict[str, Any]]
    """The changed members of each changed extension; all members of a new extension. `uptime_s` is left out while it
    grows with the time. `latency_ms` has only the changed buckets."""
    gone: tuple[str, ...] = ()
    """Names of the extensions that no longer exist."""


class Run(msgspec.Struct, frozen=True, tag_field="type", tag="run"):
    """The use of a run's agent so far: written at the start, after each request to the model, and at the end. The last
    line counts. A host without an agent writes none."""

    time: float
    """Seconds since the epoch."""
    session: str
    provider: str
    model: str
    steps: int
    """Number of turns so far."""
    input: int
    """Input tokens. The next three are tokens, too."""
    output: int
    cache_read: int
    cache_write: int
    cost_usd: float | None
    """US dollars; null if the model's prices are unknown."""
    status: str = ""
    """Status of the run, as in the `result` record; empty while it goes on, or if it was cut off."""
    exit_code: int | None = None
    """Exit status; null while the run goes on."""
    reason: str = ""
    """Why the run did not end well; empty otherwise."""


class Mark(msgspec.Struct, frozen=True, tag_field="type", tag="mark"):
    """An incident, for a timeline."""

    time: float
    """Time of its beginning, in seconds since the epoch."""
    kind: Literal[
        "turn",
        "tool_call",
        "intercept",
        "started",
        "exited",
        "stopped",
        "restarted",
        "reloaded",
        "failed",
        "limit",
        "no_verdict",
        "warning",
    ]
    name: str
    """The number of a turn, the tool of a tool call, the event of an intercept; in a trace, the kind of a fall; empty
    for other kinds."""
    extension: str
    """The extension; empty for turns and built-in tools. For an intercept, the extension that blocked, if any."""
    duration_ms: float | None
    """Duration in milliseconds; null for a kind without one. Of `started`, in a trace: from the start of the process
    until it was ready; without an extension, from the start of the run until it could begin."""
    detail: str
    """One line: an error, a reason, an exit."""


TRACE_FORMAT = 1


class Trace(msgspec.Struct, frozen=True, tag_field="type", tag="trace", kw_only=True):
    """The first line of the trace of a run, `$ZOT_HOME/runs/ID.jsonl`. Marks follow as they happen; their `detail` has
    no text of an extension, and `name` the kind of a fall, such as `crashed`. The last two lines are a `run` and a
    `stats`: without them the run goes on, or was killed. Prompts, arguments and contents are never in it."""

    id: str
    """The name of its file: the start in UTC and the pid, `20261128-191102-4711`."""
    pid: int
    """The process that runs it holds a lock on the file while it lives."""
    time: float
    """The start of the run, in seconds since the epoch."""
    kind: HostKind
    version: str
    """The version of zot."""
    cwd: str
    flags: dict[str, Any] = {}
    """The fields of the request that were set, each with its value; keys and texts for the model are left out."""
    session: str = ""
    provider: str = ""
    model: str = ""
    folder: str = ""
    """The folder of a batch."""
    format: int = TRACE_FORMAT
    """The version of this format."""


StatsLine = Trace | Stats | Change | Run | Mark

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[StatsLine] = msgspec.json.Decoder(StatsLine)


class StatsError(ValueError):
    """The line does not belong in a stats file; the text says why."""


def encode(line: StatsLine) -> bytes:
    """Encodes a line, LF included."""
    return _encoder.encode(line) + b"\n"


def decode(line: bytes) -> StatsLine:
    """Decodes one line. Raises `StatsError`, which names the wrong field."""
    try:
        return _decoder.decode(line)
    except UNREADABLE as error:
        raise StatsError(reason(error)) from None


def find_change(before: Stats, after: Stats, over_s: float) -> Change | None:
    """Returns the differences between two moments that are `over_s` seconds apart; None if no extension changed."""
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
    host = _find_differences(before.host, after.host)
    return Change(after.time, round(over_s, 3), host | {"uptime_s": after.host.uptime_s}, extensions, gone)


def _changed_members(before: ExtensionStats, after: ExtensionStats) -> dict[str, Any]:
    members = _find_differences(before, after)
    if before.uptime_s is not None and after.uptime_s is not None and before.pids == after.pids:
        members.pop("uptime_s", None)  # the same processes: it grows with the time
    if "latency_ms" in members:
        known = dict(before.latency_ms)
        members["latency_ms"] = [bucket for bucket in after.latency_ms if known.get(bucket[0]) != bucket[1]]
    return members


def _find_differences(before: msgspec.Struct, after: msgspec.Struct) -> dict[str, Any]:
    return {name: value for name in after.__struct_fields__ if (value := getattr(after, name)) != getattr(before, name)}


def apply_change(before: Stats, line: Change) -> Stats:
    """Returns all figures after a change. Raises `StatsError` for a line that does not follow `before`."""
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
