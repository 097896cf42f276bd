"""The messages on a host's control socket: one JSON object per line, both ways.

A client may send several requests at once; each answer has the id of its request. A request that fails is answered by
an `error` with its id. Tool calls, commands, verdicts and events use the frames of the extension protocol
(`wire.frames`): the client takes the part of the host there, and the host that of the extension.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import msgspec

from wire import events, frames
from wire.lenient_json import UNREADABLE, reason
from wire.stats import ExtensionStats, HostKind, Stats


class Message(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True):
    """Base of all messages; its `type` is the class's tag."""


# --- what a client says, besides `tool_call`, `command_invoked`, `event_intercept`, `event` and `cancel` --------


class Info(Message, frozen=True, tag="info"):
    """Asks who the host is. Answered by `host_info`."""

    id: str


class GetStats(Message, frozen=True, tag="get_stats"):
    """Answered by `stats_reply`, from a sample taken now if the last one is over a quarter of a second old."""

    id: str


class GetStatus(Message, frozen=True, tag="get_status"):
    """Asks for the state of an extension and its reason. Answered by `status_reply`."""

    id: str
    name: str


class Watch(Message, frozen=True, tag="watch"):
    """Asks for `stats` lines and `extension` records from now on. Answered by `ok`; a later `watch` replaces it."""

    id: str
    stats_s: float | None = None
    """Seconds between two `stats` lines, at least 0.1; absent or null: none are sent."""
    notices: bool = False
    """Whether `extension` records are sent."""
    shown: bool = False
    """Whether records of the output of extensions are sent: `ext_notify`, `clear_notes`, `panel_open`, `panel_render`
    and `panel_close`, and the `tool_progress` of the client's own calls."""
    registrations: bool = False
    """Whether `registrations_changed` is sent."""


class Registered(Message, frozen=True, tag="registered"):
    """Asks for the tools and commands. Answered by `registrations`."""

    id: str


class RestartExtension(Message, frozen=True, tag="restart"):
    """Ends the extension's processes and starts it again, even if it was given up. Answered by `ok` at once."""

    id: str
    name: str


class StopExtension(Message, frozen=True, tag="stop_extension"):
    """Stops an extension until it is started again, or the host ends. Its pending requests fail at once, its tools and
    commands are withdrawn, and its guards give no verdict. Answered by `switched` when no process of it is left, or by
    `consent_needed` if it is a guard or required."""

    id: str
    name: str
    consent: bool = False
    """Whether a person has agreed to what `consent_needed` says."""


class StartExtension(Message, frozen=True, tag="start_extension"):
    """Starts an extension that is stopped or has failed, or that waits for its restart. Answered by `switched` at
    once."""

    id: str
    name: str


class SetLimits(Message, frozen=True, tag="set_limits"):
    """Changes limits of an extension, at once and until the host ends. Answered by `limits_set`, or by
    `consent_needed` if a limit is below the present use."""

    id: str
    name: str
    limits: dict[str, int | float | str | None]
    """Values by the names of `limits` in the manifest. null: there is no such limit; `default`: the manifest counts
    again."""
    consent: bool = False
    """Whether a person has agreed to what `consent_needed` says."""
    only_check: bool = False
    """Whether nothing is changed: the answer is as it would be."""


class Reload(Message, frozen=True, tag="reload"):
    """Starts a new version of an extension from its folder, which takes over when it is ready. Without a name, does so
    for all extensions, starts new ones, and stops removed or disabled ones. Answered by `reloaded` when all of this is
    done, which takes as long as a start."""

    id: str
    name: str | None = None


class PanelKey(Message, frozen=True, tag="panel_key"):
    """A key for an open panel. Answered by `ok`."""

    id: str
    extension: str
    panel_id: str
    key: str
    """The key, as in the extension protocol: up, down, enter, rune …"""
    text: str | None = None


class PanelResize(Message, frozen=True, tag="panel_resize"):
    """Tells the size of an open panel, in characters. Answered by `ok`."""

    id: str
    extension: str
    panel_id: str
    width: int
    height: int


class PanelClose(Message, frozen=True, tag="panel_close"):
    """The user closes a panel. Answered by `ok`."""

    id: str
    extension: str
    panel_id: str


class StopHost(Message, frozen=True, tag="stop"):
    """Stops the host. Answered by `ok` before it stops."""

    id: str


Request = (
    Info
    | GetStats
    | GetStatus
    | Watch
    | Registered
    | RestartExtension
    | StopExtension
    | StartExtension
    | SetLimits
    | Reload
    | StopHost
    | PanelKey
    | PanelResize
    | PanelClose
    | frames.Cancel
    | frames.ToolCall
    | frames.CommandInvoked
    | frames.EventIntercept
    | frames.Event
)

# --- what the host says, besides `tool_result`, `command_response` and `event_intercept_response` ---------------


class SkippedExtension(msgspec.Struct, frozen=True):
    """An extension that the host found and did not start, although its user may count on it."""

    name: str
    place: str
    """Its folder; for an MCP server, its file followed by the server's name."""
    reason: str
    is_waiting: bool
    """Whether the only reason is that the user has not trusted it."""


class HostInfoReply(Message, frozen=True, tag="host_info", omit_defaults=False):
    id: str
    pid: int
    kind: HostKind
    version: str
    cwd: str
    started: float
    """Seconds since the epoch."""
    extensions: tuple[str, ...]
    """Names of the extensions, in the order in which guards are asked."""
    skipped: tuple[SkippedExtension, ...] = ()
    """Extensions that were skipped at the start, or at the last reload of all extensions."""


class StatsReply(Message, frozen=True, tag="stats_reply"):
    id: str
    stats: Stats


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


class StatusReply(Message, frozen=True, tag="status_reply", omit_defaults=False):
    id: str
    pid: int
    """Pid of the host."""
    kind: HostKind
    status: ExtensionStatus


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


class Registrations(Message, frozen=True, tag="registrations", omit_defaults=False):
    id: str
    tools: tuple[ToolInfo, ...]
    commands: tuple[CommandInfo, ...]
    is_complete: bool = True
    """Whether every extension is ready or has failed; false while one is still starting."""
    instructions: str = ""
    """Texts of the extensions that tell the model about their tools, each under a line with the extension's name."""


class RegistrationsChanged(Message, frozen=True, tag="registrations_changed"):
    """Tools, commands or `is_complete` may have changed since the last `registrations`, perhaps more than once."""


class Verdict(frames.InterceptResponse, frozen=True, tag="event_intercept_response"):
    """All verdicts folded into one, and who blocked the event."""

    blocked_by: str | None = None
    """The name of the guard, or `host`."""


class ReloadOutcome(msgspec.Struct, frozen=True):
    name: str
    outcome: Literal["reloaded", "started", "stopped", "kept", "skipped"]
    """reloaded: its new version has taken over; started: it did not run before; stopped: it is disabled or removed;
    kept: the old version runs on, since the new one did not start or must not; skipped: a folder that is not
    started."""
    reason: str = ""
    folder: str = ""
    """The folder from which the extension runs; empty if it does not run."""


class Reloaded(Message, frozen=True, tag="reloaded", omit_defaults=False):
    id: str
    outcomes: tuple[ReloadOutcome, ...]


class Switched(Message, frozen=True, tag="switched", omit_defaults=False):
    id: str
    changed: bool
    """False if it was so already."""
    state: str
    """The state of the extension now, as in the stats."""


class LimitsSet(Message, frozen=True, tag="limits_set", omit_defaults=False):
    id: str
    limits: tuple[LimitUse, ...]
    """All limits of the extension now."""
    later: tuple[str, ...]
    """The changed limits that hold, or that the kernel enforces, only from its next start."""


class ConsentNeeded(Message, frozen=True, tag="consent_needed", omit_defaults=False):
    """Nothing has changed: the request is carried out with `consent`."""

    id: str
    reasons: tuple[str, ...]
    """The reasons to ask a person first, a line each."""


class Ok(Message, frozen=True, tag="ok"):
    id: str


class ErrorReply(Message, frozen=True, tag="error"):
    """The request with this id failed; without an id, the line was not a request."""

    message: str
    id: str | None = None


Reply = (
    HostInfoReply
    | StatsReply
    | StatusReply
    | Registrations
    | Reloaded
    | Switched
    | LimitsSet
    | ConsentNeeded
    | RegistrationsChanged
    | Ok
    | ErrorReply
    | Stats
    | events.Extension
    | events.ExtNotify
    | events.ClearNotes
    | events.PanelOpen
    | events.PanelRender
    | events.PanelClose
    | frames.ToolProgress
    | frames.ToolResult
    | frames.CommandResponse
    | Verdict
)

AnyMessage = TypeVar("AnyMessage")
_encoder = msgspec.json.Encoder()
_requests: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
_replies: msgspec.json.Decoder[Reply] = msgspec.json.Decoder(Reply)


class ControlError(ValueError):
    """The protocol does not allow the line; the text says why."""


def encode(message: msgspec.Struct) -> bytes:
    """The message as one line, LF included."""
    return _encoder.encode(message) + b"\n"


def decode_request(line: bytes) -> Request:
    """Decodes one line of a client. Raises `ControlError`."""
    return decode_with(_requests, line)


def decode_reply(line: bytes) -> Reply:
    """Decodes one line of a host. Raises `ControlError`."""
    return decode_with(_replies, line)


def decode_with(decoder: msgspec.json.Decoder[AnyMessage], line: bytes) -> AnyMessage:
    """Raises `ControlError`."""
    try:
        return decoder.decode(line)
    except UNREADABLE as error:
        raise ControlError(reason(error)) from None
