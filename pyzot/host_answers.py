"""Classes that the methods of a host return.

Generated from the definitions of the wire by `python -m wire.rpc.python_classes`; not to be edited.
"""

from __future__ import annotations

from .record import Part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Literal

    from .answers import ExtensionStats


class HostStats(Part):
    pid: int
    kind: str
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


class Stats(Part):
    _parts: ClassVar[dict[str, str]] = {"host": "HostStats", "extensions": "ExtensionStats{}"}
    time: float
    """Seconds since the epoch."""
    host: HostStats
    extensions: dict[str, ExtensionStats]


class HostInfo(Part):
    _parts: ClassVar[dict[str, str]] = {"extensions": "plain[]", "skipped": "SkippedExtension[]"}
    pid: int
    kind: str
    version: str
    cwd: str
    started: float
    """Seconds since the epoch."""
    extensions: tuple[str, ...]
    """Names of the extensions, in the order in which guards are asked."""
    skipped: tuple[SkippedExtension, ...] = ()
    """Extensions that were skipped at the start, or at the last reload of all extensions."""


class SkippedExtension(Part):
    """An extension that the host found and did not start, although its user may count on it."""

    name: str
    place: str
    """Its folder; for an MCP server, its file followed by the server's name."""
    reason: str
    is_waiting: bool
    """Whether the only reason is that the user has not trusted it."""


class LimitUse(Part):
    """One limit, and the use of the worker that is nearest to it."""

    limit: str
    """A name from `limits` in the manifest."""
    allowed: float
    used: float | None
    """The use at the last sample, in the unit of the limit; null if it was not measured."""
    origin: Literal["command", "kept", "manifest", "config", ""] = ""
    """Its origin: `zot ext limit` in this host, `extension_limits` of config.json, the manifest, or `limits` of
    config.json; empty from an older host."""


class PendingRequest(Part):
    """A request to the extension that waits for its answer."""

    kind: Literal["tool", "command", "verdict"]
    name: str
    """Name of the tool or the command; empty for a verdict."""
    pid: int | None
    """Pid of the worker that was asked."""
    age_s: float


class ExtensionStatus(Part):
    """The state of one extension: the figures of `zot ext status`."""

    _parts: ClassVar[dict[str, str]] = {
        "stats": "ExtensionStats",
        "limits": "LimitUse[]",
        "pending_requests": "PendingRequest[]",
        "tools": "plain[]",
        "commands": "plain[]",
        "guards": "plain[]",
        "observes": "plain[]",
    }
    name: str
    version: str | None
    state: str
    """As in the stats: asleep, waking, spawned, greeted, ready, reloading, backoff, stopping, exited, failed or
    stopped."""
    why: str
    """Why it cannot be used now; empty while it can be."""
    since: float
    """When it entered this state, in seconds since the epoch."""
    restart_policy: str
    on_failure: Literal["allow", "deny"]
    """The meaning of a missing verdict of its guards."""
    required: bool
    stats: ExtensionStats
    limits: tuple[LimitUse, ...]
    """The limits that are set, in the manifest or in the config."""
    limit_action: Literal["restart", "stop"]
    pending_requests: tuple[PendingRequest, ...]
    """Oldest first, a hundred at most; `stats.pending` counts all."""
    tools: tuple[str, ...]
    commands: tuple[str, ...]
    guards: tuple[str, ...]
    """The events that it guards."""
    observes: tuple[str, ...]
    """The events that it observes."""
    folder: str
    """Its folder; for an MCP server, the path of its file followed by the server's name, which no file has."""
    log: str
    """The path of its log file."""
    log_trouble: str
    """Why the log cannot be written; empty if it can."""
    mcp_file: str | None = None
    """The file that configures the MCP server; null for other extensions."""
    mcp_entry: str | None = None
    """The key of its entry in that file."""


class ReloadOutcome(Part):
    name: str
    outcome: Literal["reloaded", "started", "stopped", "kept", "skipped"]
    """reloaded: its new version has taken over; started: it did not run before; stopped: it is disabled or removed;
    kept: the old version runs on, since the new one did not start or must not; skipped: a folder that is not
    started."""
    reason: str = ""
    folder: str = ""
    """The folder from which the extension runs; empty if it does not run."""


class ContentBlock(Part):
    """`{"type":"text","text":…}` or `{"type":"image","mime_type":…,"data":<base64>}`; other types are shown by name."""

    type: str
    text: str | None = None
    mime_type: str | None = None
    data: str | None = None
    format: str | None = None
    """`markdown`: how a screen may show the text. The model gets the text as it is."""


class Panel(Part):
    _parts: ClassVar[dict[str, str]] = {"lines": "plain[]"}
    id: str
    title: str | None = None
    lines: tuple[str, ...] | None = None
    footer: str | None = None


class ModifiedResult(Part):
    """A result that the model gets instead of the tool's."""

    _parts: ClassVar[dict[str, str]] = {"content": "ContentBlock[]"}
    content: tuple[ContentBlock, ...]
    is_error: bool | None = None
    """None or null: as in the tool's result."""


class ToolAnswer(Part):
    _parts: ClassVar[dict[str, str]] = {"content": "ContentBlock[]", "activate_tools": "plain[]"}
    content: tuple[ContentBlock, ...] | None = None
    is_error: bool | None = None
    activate_tools: tuple[str, ...] | None = None
    """Deferred tools of this extension that the model is offered from the next request on."""
    structured_content: Any = None
    """The result as JSON, for programs. The model gets `content`."""
    session_id: str | None = None
    """The session that it is about, from an extension that several runs share."""


class CommandAnswer(Part):
    _parts: ClassVar[dict[str, str]] = {"open_panel": "Panel"}
    action: str | None = None
    prompt: str | None = None
    insert: str | None = None
    display: str | None = None
    open_panel: Panel | None = None
    error: str | None = None
    tool_name: str | None = None
    """With the action `tool_prompt`: the tool whose result goes with the prompt."""
    tool_args: Any = None
    session_id: str | None = None
    """The session that it is about, from an extension that several runs share."""


class Verdict(Part):
    """A guard's verdict. Without any other field, the event is allowed unchanged."""

    _parts: ClassVar[dict[str, str]] = {"modified_result": "ModifiedResult"}
    block: bool | None = None
    """Has no effect on `session_start`, `session_end` and `error`, which have already happened."""
    reason: str | None = None
    modified_args: Any = None
    """For `tool_call`: a JSON object; null means unchanged."""
    replace_text: str | None = None
    """For `assistant_message` and `user_prompt`; empty means unchanged."""
    modified_result: ModifiedResult | None = None
    """For `tool_result`."""
    ask: bool | None = None
    """A person has to decide; allowed wherever `block` is. If no person can be asked, the event is refused, unless the
    user lets all such events pass."""
    additional_context: str | None = None
    """A text for the model. For `session_start` and `user_prompt` it follows the prompt, for `tool_call` and
    `tool_result` it follows the result."""
    error_handling: Literal["retry", "skip", "abort"] | None = None
    """For `error`. retry: repeat the step; skip: go on without it; abort: end the prompt."""
    retry_count: int | None = None
    """With `retry`: maximum number of repetitions; default 1, at most 3."""
    notification: str | None = None
    """For `error`: a note for the user."""
    session_summary: str | None = None
    """For `session_end`: a text that is kept with the session."""
    system_prompt: str | None = None
    """For `before_agent_start`: the whole new system prompt; "" removes it, null leaves it unchanged."""
    session_id: str | None = None
    """The session that it is about, from an extension that several runs share."""
