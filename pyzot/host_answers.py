"""What the methods of a host return.

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


class Stats(Part):
    _parts: ClassVar[dict[str, str]] = {"host": "HostStats", "extensions": "ExtensionStats{}"}
    time: float
    """Seconds since the epoch."""
    host: HostStats
    extensions: dict[str, ExtensionStats]


class SkippedExtension(Part):
    """An extension that the host has found and has not started, though its user may count on it."""

    name: str
    place: str
    """Its folder; of an MCP server its file, with the server's name behind it."""
    reason: str
    is_waiting: bool
    """Whether the reason is only that the user has not trusted it."""


class HostInfo(Part):
    _parts: ClassVar[dict[str, str]] = {"extensions": "plain[]", "skipped": "SkippedExtension[]"}
    pid: int
    kind: str
    version: str
    cwd: str
    started: float
    """Seconds since the epoch."""
    extensions: tuple[str, ...]
    """Their names, in the order in which guards are asked."""
    skipped: tuple[SkippedExtension, ...] = ()
    """At its start, or at the last reload of all extensions."""


class LimitUse(Part):
    """One limit, and the use of the worker that is nearest to it."""

    limit: str
    """A name from `limits` in the manifest."""
    allowed: float
    used: float | None
    """In the unit of the limit, at the last sample; null if it was not measured."""


class PendingRequest(Part):
    """A request to the extension that waits for its answer."""

    kind: Literal["tool", "command", "verdict"]
    name: str
    """Of the tool or the command; empty for a verdict."""
    pid: int | None
    """Of the worker that was asked."""
    age_s: float


class ExtensionStatus(Part):
    """All that one screen tells of an extension."""

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
    """As in the stats: spawned, greeted, ready, reloading, backoff, stopping, exited or failed."""
    why: str
    """Why it cannot be used now; empty while it can."""
    since: float
    """When it came into this state, in seconds since the epoch."""
    restart_policy: str
    on_failure: Literal["allow", "deny"]
    """What a missing verdict of its guards means."""
    required: bool
    stats: ExtensionStats
    limits: tuple[LimitUse, ...]
    """Those that are set, in the manifest or in the config."""
    limit_action: Literal["restart", "stop"]
    pending_requests: tuple[PendingRequest, ...]
    """The oldest first, a hundred at most; `stats.pending` counts all."""
    tools: tuple[str, ...]
    commands: tuple[str, ...]
    guards: tuple[str, ...]
    """The events that it judges."""
    observes: tuple[str, ...]
    """The events that it is told of."""
    folder: str
    """Of an MCP server the path of its file, with the server's name behind it, where no file is."""
    log: str
    """The path of its log file."""
    log_trouble: str
    """Why the log is not written; empty if it is."""
    mcp_file: str | None = None
    """The file that an MCP server is written in; null for others."""
    mcp_entry: str | None = None
    """The key of its entry there."""


class ReloadOutcome(Part):
    name: str
    outcome: Literal["reloaded", "started", "stopped", "kept", "skipped"]
    """reloaded: its new version has taken over; started: it did not run before; stopped: it is disabled or gone; kept:
    the old version runs on, since the new one did not start or may not; skipped: a folder that is not started."""
    reason: str = ""
    folder: str = ""
    """From which the extension runs; empty if it does not run."""


class ContentBlock(Part):
    """`{"type":"text","text":…}` or `{"type":"image","mime_type":…,"data":<base64>}`; other types are shown by name."""

    type: str
    text: str | None = None
    mime_type: str | None = None
    data: str | None = None


class ToolAnswer(Part):
    _parts: ClassVar[dict[str, str]] = {"content": "ContentBlock[]"}
    content: tuple[ContentBlock, ...] | None = None
    is_error: bool | None = None


class Panel(Part):
    _parts: ClassVar[dict[str, str]] = {"lines": "plain[]"}
    id: str
    title: str | None = None
    lines: tuple[str, ...] | None = None
    footer: str | None = None


class CommandAnswer(Part):
    _parts: ClassVar[dict[str, str]] = {"open_panel": "Panel"}
    action: str | None = None
    prompt: str | None = None
    insert: str | None = None
    display: str | None = None
    open_panel: Panel | None = None
    error: str | None = None


class ModifiedResult(Part):
    """A result that the model gets in place of the tool's."""

    _parts: ClassVar[dict[str, str]] = {"content": "ContentBlock[]"}
    content: tuple[ContentBlock, ...]
    is_error: bool | None = None
    """null: as in the tool's result."""


class Verdict(Part):
    """A guard's verdict. Without any other field: allow, unchanged."""

    _parts: ClassVar[dict[str, str]] = {"modified_result": "ModifiedResult"}
    block: bool | None = None
    """Not for `session_start`, `session_end` and `error`, which have happened."""
    reason: str | None = None
    modified_args: Any = None
    """For `tool_call`: a JSON object; null means unchanged."""
    replace_text: str | None = None
    """For `assistant_message` and `user_prompt`; empty means unchanged."""
    modified_result: ModifiedResult | None = None
    """For `tool_result`."""
    ask: bool | None = None
    """A person has to decide, wherever `block` could stand. Where none can be asked it is refused, unless the user lets
    all of these pass."""
    additional_context: str | None = None
    """A text for the model. For `session_start` and `user_prompt` it follows the prompt, for `tool_call` and
    `tool_result` it follows the result."""
    error_handling: Literal["retry", "skip", "abort"] | None = None
    """For `error`. retry: the same once more; skip: go on without it; abort: the prompt ends."""
    retry_count: int | None = None
    """With `retry`: how often at most; default 1, the most is 3."""
    notification: str | None = None
    """For `error`: a note for the user."""
    session_summary: str | None = None
    """For `session_end`: it is kept with the session."""
