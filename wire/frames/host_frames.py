"""The frames of a host."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Raw

from wire.frames.parts import (
    ContentBlock,
    ErrorContext,
    EventSource,
    Frame,
    PanelClosed,
    SessionEnd,
    SessionSource,
    ToolOutcome,
)


class HelloAck(Frame, frozen=True, tag="hello_ack", omit_defaults=False):
    protocol_version: int
    zot_version: str
    provider: str
    model: str
    cwd: str
    extension_dir: str | msgspec.UnsetType = msgspec.UNSET
    data_dir: str | msgspec.UnsetType = msgspec.UNSET
    """A folder for the extension's state. It exists, and updates of the extension do not change it."""
    capabilities: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """`call_tool` if the host carries out such frames."""
    features: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """The features of this host; names as in `FEATURES`."""


class CommandInvoked(Frame, frozen=True, tag="command_invoked"):
    id: str
    name: str
    """As it was registered, in whatever case the user has typed it."""
    args: str | None = None
    session_id: str | None = None
    """The session that it is about, with an extension that several runs share."""
    cwd: str | None = None
    """The folder of that session: a relative path in the arguments starts there."""


class ToolCall(Frame, frozen=True, tag="tool_call"):
    id: str
    name: str
    args: Raw
    """The arguments as JSON: as the model wrote them, or as guards rewrote them."""
    session_id: str | None = None
    """The session that the call is for, with an extension that several runs share."""
    cwd: str | None = None
    """The folder of that session: a relative path in the arguments starts there."""
    traceparent: str | None = None
    """The span of the call, by W3C Trace Context; only with `--otel`."""
    tracestate: str | None = None


class Cancel(Frame, frozen=True, tag="cancel"):
    """The host no longer waits for the answer to this `tool_call` or `command_invoked`, and ignores a late one. Sent
    only if the hello has the capability `cancel`: an extension written for zot may take any frame as a request."""

    id: str
    reason: str | None = None


class ToolCancel(Frame, frozen=True, tag="tool_cancel"):
    """The host no longer waits for the answer to this `tool_call`. Sent only if the hello has the capability
    `tool_cancel`, and not also `cancel`."""

    id: str


class CalledToolResult(Frame, frozen=True, tag="tool_result"):
    """Answers a `call_tool`."""

    id: str
    name: str
    content: list[ContentBlock] | None = None
    is_error: bool | None = None
    """Whether the tool has failed, or the call was refused; the text says why."""
    truncated: bool | None = None
    """Whether a part of the content is left out: it is 256 KiB at most."""


class EventResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of a tool call for observers: at most 256 KiB and 128 blocks."""

    content: list[ContentBlock]
    is_error: bool | None = None
    truncated: bool | None = None
    """Whether a part of the content is left out."""


class Tokens(msgspec.Struct, frozen=True):
    """Tokens that one request to the model used."""

    input: int
    """Input tokens without those that the provider had cached."""
    output: int
    cache_read: int
    cache_write: int
    reasoning: int | None = None
    """The part of `output` that was thinking; null if the provider does not count it."""


class Event(Frame, frozen=True, tag="event"):
    """Something happened. There is no answer. Only the fields of the event in question are present."""

    event: str
    step: int | None = None
    stop: str | None = None
    error: str | None = None
    tool_id: str | None = None
    tool_name: str | None = None
    tool_args: Raw | msgspec.UnsetType = msgspec.UNSET
    text: str | None = None
    """`assistant_message` and `user_prompt`: the text; in a question about `session_start` the first prompt, about
    `session_end` the last message."""
    is_error: bool | None = None
    content: list[ContentBlock] | None = None
    source: EventSource | None = None
    """`permission_decision`: who has decided. In a question, see `event_intercept`; the same holds for the next
    three. Only questions have `recoverable`."""
    reason: str | None = None
    """`session_end`: shutdown, session_switch or cwd_change; in a question, see `event_intercept`.
    `permission_decision`: why."""
    error_context: ErrorContext | None = None
    recoverable: bool | None = None
    files: list[str] | None = None
    """`user_prompt`: the paths of the files that were sent with it, as the user wrote them."""
    sender: str | None = None
    """`user_prompt`: the extension that sent it; null if the user did."""
    model: str | None = None
    """`usage`, which only extensions of other dialects observe: the model of the request."""
    tokens: Tokens | None = None
    """`usage`: the tokens of the request."""
    session_id: str | None = None
    """Id of the conversation; without one, of this host."""
    cwd: str | None = None
    sequence: int | None = None
    """Number of this event among all events of the host's life, from 1. There may be gaps."""
    queued: bool | None = None
    """`user_prompt_submit`: whether another prompt runs first."""
    image_count: int | None = None
    """`user_prompt_submit`: number of images that go with the prompt."""
    tool_args_raw: str | None = None
    """In place of `tool_args` if the model's text is not JSON."""
    status: ToolOutcome | None = None
    """`tool_result` and `post_compact`."""
    executed: bool | None = None
    """`tool_result`: whether the tool has begun."""
    result: EventResult | None = None
    """`tool_result`: the outcome; the same as `content` and `is_error`, cut."""
    decision: Literal["approved", "denied", "cancelled"] | None = None
    """`permission_decision`."""
    stage: Literal["pre_execution", "tool_execution"] | None = None
    """`permission_decision`."""
    compaction_id: str | None = None
    """The same in `pre_compact` and `post_compact`."""
    message_count: int | None = None
    """`pre_compact` and `post_compact`: number of messages of the conversation."""
    token_estimate: int | None = None
    """`pre_compact` and `post_compact`: bytes of all texts, divided by four."""
    origin_extension: str | None = None
    """`tool_call`, `tool_result` and `permission_decision`: the extension that has called the tool by `call_tool`; null
    if the model has."""
    agent_run_id: str | None = None
    """`before_agent_start`: id of this round of questions, the same for all guards."""
    provider: str | None = None
    """`before_agent_start`; it also has the `model`."""
    system_prompt: str | None = None
    """`before_agent_start`: the whole system prompt, as the guards before have left it."""


class EventIntercept(Frame, frozen=True, tag="event_intercept"):
    """Asks for a verdict; answered by `event_intercept_response` with the same id."""

    id: str
    event: str
    tool_id: str | None = None
    tool_name: str | None = None
    tool_args: Raw | msgspec.UnsetType = msgspec.UNSET
    """`tool_call`, and a `tool_result` of a call that ran: then as guards left them."""
    step: int | None = None
    error: str | None = None
    """`error`, and `session_end` after an error: the error's text."""
    text: str | None = None
    """`session_start`: the first prompt; `session_end`: the last message that readers saw."""
    is_error: bool | None = None
    content: list[ContentBlock] | None = None
    source: SessionSource | None = None
    """`session_start`: how the session began."""
    reason: SessionEnd | None = None
    """`session_end`: why the session ends."""
    error_context: ErrorContext | None = None
    """`error`: where it comes from. With `tool_execution`, `tool_name` names the tool."""
    recoverable: bool | None = None
    """`error`: whether it can be retried."""
    files: list[str] | None = None
    """As in `event`, like all that follow."""
    sender: str | None = None
    session_id: str | None = None
    cwd: str | None = None
    origin_extension: str | None = None
    agent_run_id: str | None = None
    provider: str | None = None
    model: str | None = None
    system_prompt: str | None = None


class LeaseBegin(Frame, frozen=True, tag="lease_begin"):
    """From now on the extension serves this session alone. Answered by `lease_ready` within 2 seconds. Sent only if the
    hello has the feature `leases`."""

    id: str
    session_id: str
    cwd: str


class LeaseEnd(Frame, frozen=True, tag="lease_end"):
    """The session of the lease with this id is over: the extension forgets all about it. There is no answer."""

    id: str
    session_id: str


class PanelKey(Frame, frozen=True, tag="panel_key"):
    panel_id: str
    key: str
    """up, down, left, right, enter, esc, tab, backspace, delete, home, end, pageup, pagedown, rune or unknown."""
    text: str | None = None
    session_id: str | None = None
    """The session of the panel, with an extension that several runs share."""


class PanelResize(Frame, frozen=True, tag="panel_resize"):
    panel_id: str
    width: int
    height: int
    session_id: str | None = None
    """The session of the panel, with an extension that several runs share."""


class Shutdown(Frame, frozen=True, tag="shutdown"):
    """Answer with `shutdown_ack` and exit."""


class Ping(Frame, frozen=True, tag="ping"):
    """Checks that the extension still answers. Sent only if its hello has the capability `ping`; answered by `pong`."""

    id: str


FromHost = (
    HelloAck
    | CommandInvoked
    | ToolCall
    | Cancel
    | ToolCancel
    | CalledToolResult
    | Event
    | EventIntercept
    | LeaseBegin
    | LeaseEnd
    | PanelKey
    | PanelClosed
    | PanelResize
    | Shutdown
    | Ping
)
