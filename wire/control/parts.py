"""Parts of the replies of a host."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from wire.stats import ExtensionStats


class SkippedExtension(msgspec.Struct, frozen=True):
    """An extension that the host found and did not start, although its user may count on it."""

    name: str
    place: str
    """Its folder; for an MCP server, its file followed by the server's name."""
    reason: str
    is_waiting: bool
    """Whether the only reason is that the user has not trusted it."""


class LimitUse(msgspec.Struct, frozen=True):
    """One limit, and the use of the worker that is nearest to it."""

    limit: str
    """A name from `limits` in the manifest."""
    allowed: float
    used: float | None
    """The use at the last sample, in the unit of the limit; null if it was not measured."""
    origin: Literal["command", "kept", "manifest", "config", ""] = ""
    """Its origin: `zot ext limit` in this host, `extension_limits` of config.json, the manifest, or `limits` of
    config.json; empty from an older host."""


class PendingRequest(msgspec.Struct, frozen=True):
    """A request to the extension that waits for its answer."""

    kind: Literal["tool", "command", "verdict"]
    name: str
    """Name of the tool or the command; empty for a verdict."""
    pid: int | None
    """Pid of the worker that was asked."""
    age_s: float


class ExtensionStatus(msgspec.Struct, frozen=True):
    """The state of one extension: the figures of `zot ext status`."""

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


class ToolInfo(msgspec.Struct, frozen=True):
    name: str
    description: str
    schema: dict[str, Any]
    extension: str
    read_only: bool = False
    """Whether the tool changes nothing."""
    idempotent: bool = False
    """Whether a call may be repeated."""
    deferred: bool = False
    """Whether models are not offered it now: a result of its extension may activate it."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema of `structured_content` in its results; null if unknown."""


class CommandInfo(msgspec.Struct, frozen=True):
    name: str
    """Name without the slash."""
    description: str
    extension: str


class ReloadOutcome(msgspec.Struct, frozen=True):
    name: str
    outcome: Literal["reloaded", "started", "stopped", "kept", "skipped"]
    """reloaded: its new version has taken over; started: it did not run before; stopped: it is disabled or removed;
    kept: the old version runs on, since the new one did not start or must not; skipped: a folder that is not
    started."""
    reason: str = ""
    folder: str = ""
    """The folder from which the extension runs; empty if it does not run."""
