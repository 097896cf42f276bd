"""What the methods of a runtime return.

Generated from the definitions of the wire by `python -m wire.rpc.python_classes`; not to be edited.
"""

from __future__ import annotations

from .record import Part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Literal

    from .parts import Totals


class SessionFile(Part):
    """The file that keeps the conversation."""

    id: str
    path: str
    """Absolute. The file is there from the first message on."""


class State(Part):
    """Data of `get_state`."""

    _parts: ClassVar[dict[str, str]] = {"usage": "Totals", "session": "SessionFile"}
    provider: str
    """`none` without a credential: then each prompt fails."""
    model: str
    cwd: str
    message_count: int
    busy: bool
    """Whether a prompt or a compaction runs or waits."""
    usage: Totals
    """Of all prompts and compactions together."""
    starting: bool
    """Whether extensions are still starting; prompts wait until they have."""
    session: SessionFile | None = None
    """Null if the conversation is kept in no file."""


class CommandOutcome(Part):
    """Data of `run_command`."""

    extension: str
    action: Literal["noop", "prompt", "insert", "display", "open_panel"]
    """What the extension wants to be done with `text`: nothing, send it as a prompt, offer it for the next prompt, or
    show it. With `insert` and `display` a record `ext_insert` or `ext_display` with the same text follows, with
    `open_panel` those of a panel. With `prompt` the client sends it, if it likes."""
    text: str


class SkillInfo(Part):
    _parts: ClassVar[dict[str, str]] = {"allowed_tools": "plain[]"}
    name: str
    description: str
    source: str
    """The path of its SKILL.md; `builtin` for one that comes with zot."""
    allowed_tools: tuple[str, ...] | None
    """The entries of `allowed-tools`: what may be called while it is active. null: it restricts nothing."""


class Resumed(Part):
    """Data of `resume`."""

    session: str
    """Its id."""
    path: str
    """Of its file."""
    message_count: int
    """Of the conversation, as in `get_state`: from the last compaction on."""
    model: str
    """That the session was with; the server asks its own."""
    title: str
    """As the user has named it, else how the first prompt begins; empty without a prompt."""
    repairs: int
    """Messages that were changed, added or left out, so that the model's API takes the rest: a call without a result
    gets one that says so."""


class Forked(Part):
    """Data of `fork`."""

    session: str
    """The id of the new session."""
    path: str
    """Of its file."""
    parent: str
    """The id of the session that it is a copy of; empty if that has none."""
    message_count: int
    """How many messages were copied."""


class SessionInfo(Part):
    """A session that is kept in a file."""

    _parts: ClassVar[dict[str, str]] = {"usage": "Totals"}
    id: str
    """A UUID; the file's name without its suffix where the file has none."""
    title: str
    """As the user has named it, else how the first prompt begins; empty without a prompt."""
    cwd: str
    """The working folder; empty where the file does not say."""
    provider: str
    model: str
    """That is asked next."""
    started: str
    """RFC 3339, as the file says; empty where it does not."""
    modified: str
    """When the file was last written to: RFC 3339, UTC."""
    usage: Totals
    """Of the whole session."""
    parent: str
    """The id of the session that this one is a fork of; empty if it is none."""
    fork_point: int
    """How many messages of the parent were copied."""
    path: str
    """Of the session file."""
    message_count: int
    """Messages in the file, those before a compaction included."""
    size_bytes: int
    in_use: bool
    """Whether a run writes to it."""


class ModelInfo(Part):
    id: str
    provider: str
    context_window: int
    """Tokens; 0 is unknown."""
    max_output: int
    """Tokens; 0 is unknown."""
    reasoning: bool


class ToolInfo(Part):
    name: str
    description: str
    schema: dict[str, Any]
    """JSON Schema of the arguments."""
    extension: str
    """Empty for a built-in tool."""


class CommandInfo(Part):
    name: str
    """Without the slash."""
    description: str
    extension: str


class Alarm(Part):
    """Something about an extension that a person should look at."""

    kind: Literal["failed", "over_limit", "restarting", "memory_grows", "near_limit"]
    """failed: it is not started again; over_limit: ended for its limits; restarting: ended again and again for another
    reason; memory_grows: its memory only grows; near_limit: it uses 90 % of what a limit allows, or more."""
    text: str
    """One line, with the figures."""
    since: float | None
    """In seconds since the epoch, whole; null if that is not known."""


class ExtensionStats(Part):
    """One extension: gauges of this moment, and counters since the host started."""

    _parts: ClassVar[dict[str, str]] = {"pids": "plain[]", "latency_ms": "plain[]", "alarms": "Alarm[]"}
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
