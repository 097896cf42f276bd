"""The messages on a host's control socket: one JSON object per line, both ways.

A client may send several requests at once; each answer has the id of its request. A request that fails is answered by
an `error` with its id. Tool calls, commands, verdicts and events use the frames of the extension protocol
(`wire.frames`): the client takes the part of the host there, and the host that of the extension.
"""

from __future__ import annotations

import msgspec

from wire import frames


class Message(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True):
    """Base of all messages; its `type` is the class's tag."""


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
    kept: bool = False
    """Whether config.json has them now: their origin is then `kept`."""


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
