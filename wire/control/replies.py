"""The replies of a host, besides `tool_result`, `command_response` and `event_intercept_response`."""

from __future__ import annotations

from wire import events, frames
from wire.control.parts import (
    CommandInfo,
    ExtensionStatus,
    LimitUse,
    ReloadOutcome,
    SkippedExtension,
    ToolInfo,
)
from wire.control.requests import Message
from wire.stats import HostKind, Stats


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


class StatusReply(Message, frozen=True, tag="status_reply", omit_defaults=False):
    id: str
    pid: int
    """Pid of the host."""
    kind: HostKind
    status: ExtensionStatus


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
