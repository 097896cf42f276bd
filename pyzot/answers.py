"""Classes that the methods of a runtime return.

Generated from the definitions of the wire by `python -m wire.rpc.python_classes`; not to be edited.
"""

from __future__ import annotations

from .record import Part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Literal

    from .parts import HostedShare, ImageContent, TextContent, Totals


class SessionFile(Part):
    """The file that keeps the conversation."""

    id: str
    path: str
    """Absolute path. The file exists from the first message on."""


class State(Part):
    """Data of `get_state`."""

    _parts: ClassVar[dict[str, str]] = {"usage": "Totals", "session": "SessionFile"}
    provider: str
    """Name of the provider; `none` without a credential: then each prompt fails."""
    model: str
    cwd: str
    message_count: int
    busy: bool
    """Whether a prompt or a compaction runs or waits."""
    usage: Totals
    """The use of all prompts and compactions together."""
    starting: bool
    """Whether extensions are still starting; prompts wait for them."""
    session: SessionFile | None = None
    """The file of the conversation; null without one."""
    reasoning: str | None = None
    """The level of reasoning of the next prompt as it was set; null if none was: then it is the model's own
    default."""


class CommandOutcome(Part):
    """Data of `run_command`."""

    extension: str
    action: Literal["noop", "prompt", "insert", "display", "open_panel"]
    """The use of `text` that the extension asks for: none, send it as a prompt, offer it for the next prompt, show it,
    or show a panel. For `insert` and `display`, a record `ext_insert` or `ext_display` with the same text follows, for
    `open_panel` the records of the panel. For `prompt`, the client decides whether to send it."""
    text: str


class ToolOutcome(Part):
    """Data of `call_tool`."""

    _parts: ClassVar[dict[str, str]] = {"content": "content[]"}
    is_error: bool
    """Whether the call failed, a guard refused it or withheld its result, or it was aborted: `content` says why."""
    content: tuple[TextContent | ImageContent, ...]
    """As in its `tool_result` record: images by their size."""


class SkillInfo(Part):
    _parts: ClassVar[dict[str, str]] = {"allowed_tools": "plain[]"}
    name: str
    description: str
    source: str
    """The path of its SKILL.md; `builtin` for one that comes with zot."""
    allowed_tools: tuple[str, ...] | None
    """The entries of `allowed-tools`: the tools that may be called while it is active; null without a restriction."""


class ReloadError(Part):
    name: str
    reason: str


class Reloaded(Part):
    """Data of `reload_ext`: names of extensions, in the order in which guards are asked."""

    _parts: ClassVar[dict[str, str]] = {
        "stopped": "plain[]",
        "loaded": "plain[]",
        "ready": "plain[]",
        "errors": "ReloadError[]",
    }
    stopped: tuple[str, ...]
    """Extensions whose running version was stopped: a new one took over, or the extension is disabled or removed."""
    loaded: tuple[str, ...]
    """Extensions whose version from the folder runs now."""
    ready: tuple[str, ...]
    """Extensions that serve now; if `errors` names one, too, its earlier version serves."""
    errors: tuple[ReloadError, ...]
    """Extensions whose version from the folder was not loaded, and why."""


class Resumed(Part):
    """Data of `resume`."""

    session: str
    """Id of the session."""
    path: str
    """Path of its file."""
    message_count: int
    """Number of messages of the conversation, as in `get_state`: from the last compaction on."""
    model: str
    """The session's last model; the server uses its own model."""
    title: str
    """The name that the user gave it, else the beginning of the first prompt; empty without a prompt."""
    repairs: int
    """Number of messages that were changed, added or left out so that the model's API accepts the rest: a call without
    a result gets one that says so."""


class Forked(Part):
    """Data of `fork`."""

    session: str
    """The id of the new session."""
    path: str
    """Path of its file."""
    parent: str
    """The id of the copied session; empty if it has none."""
    message_count: int
    """Number of copied messages."""


class SessionInfo(Part):
    """A session that is kept in a file."""

    _parts: ClassVar[dict[str, str]] = {"usage": "Totals"}
    id: str
    """A UUID; if the file has none, its name without the suffix."""
    title: str
    """The name that the user gave it, else the beginning of the first prompt; empty without a prompt."""
    cwd: str
    """The working folder; empty if the file does not name it."""
    provider: str
    model: str
    """The model of the next request."""
    started: str
    """Time of its start in RFC 3339, as in the file; empty if the file has none."""
    modified: str
    """Time of the last write to the file, RFC 3339 in UTC."""
    usage: Totals
    """The use of the whole session."""
    parent: str
    """The id of the session that it was forked from; empty if it is not a fork."""
    fork_point: int
    """Number of messages that were copied from the parent."""
    path: str
    """Path of the session file."""
    message_count: int
    """Number of messages in the file, those before a compaction included."""
    size_bytes: int
    in_use: bool
    """Whether a run writes to it."""


class ModelInfo(Part):
    id: str
    provider: str
    context_window: int
    """Tokens; 0 if unknown."""
    max_output: int
    """Tokens; 0 if unknown."""
    reasoning: bool


class ToolInfo(Part):
    name: str
    description: str
    schema: dict[str, Any]
    """JSON Schema of the arguments."""
    extension: str
    """Name of the extension; empty for a built-in tool."""


class CommandInfo(Part):
    name: str
    """Name without the slash."""
    description: str
    extension: str


class Alarm(Part):
    """A problem of an extension that a person should look at."""

    kind: Literal["failed", "over_limit", "restarting", "memory_grows", "near_limit"]
    """failed: it is not restarted; over_limit: ended for its limits; restarting: ended again and again for another
    reason; memory_grows: its memory only grows; near_limit: it uses at least 90 % of a limit."""
    text: str
    """One line, with the figures."""
    since: float | None
    """Time of its start in whole seconds since the epoch; null if unknown."""


class SessionStats(Part):
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


class ExtensionStats(Part):
    """One extension: gauges of this moment, and counters since the host started."""

    _parts: ClassVar[dict[str, str]] = {
        "pids": "plain[]",
        "latency_ms": "plain[]",
        "alarms": "Alarm[]",
        "sessions": "SessionStats[]",
        "other_sessions": "SessionStats",
        "hosted": "HostedShare",
    }
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
