"""The agent's event stream, which `--json` prints and rpc clients receive: one JSON object per line.

Fields and order are zot's, so its readers work unchanged. They can ignore the types that are ours: `session` (always
first), `extension`, `retry`, `compact_start`, commands, notes and panels of extensions, and `result` (`done` follows).
Every field of zot is present, except `turn_end.error`, and `cost_usd` if a price is unknown.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Raw

from wire.events.parts import Content, Cost, ImageContent, SentPrompt, TextContent, Totals

SCHEMA_VERSION = 1
"""Increased when a field is removed or changes its meaning, but not for new fields and new record types."""


class Record(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=False):
    """Base of all records; its `type` is the class's tag."""


# --- zot's records ------------------------------------------------------------------------------------------


class UserMessage(Record, frozen=True, tag="user_message"):
    content: tuple[Content, ...]
    time: str
    extension: str | msgspec.UnsetType = msgspec.UNSET
    """The extension that sent the prompt; absent if the user or a client did."""


class TurnStart(Record, frozen=True, tag="turn_start"):
    step: int
    """1 for the first turn of each prompt."""


class AssistantStart(Record, frozen=True, tag="assistant_start"):
    pass


class TextDelta(Record, frozen=True, tag="text_delta"):
    delta: str


class ToolUseStart(Record, frozen=True, tag="tool_use_start"):
    id: str
    name: str


class ToolUseArgs(Record, frozen=True, tag="tool_use_args"):
    id: str
    delta: str
    """A piece of the arguments' JSON text."""


class ToolUseEnd(Record, frozen=True, tag="tool_use_end"):
    id: str


class Usage(Record, frozen=True, tag="usage", kw_only=True, omit_defaults=True):
    """The use of one request to the model, sent after failed requests too."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    cost_usd: float | None = None
    """Absent if the model's prices are unknown: unknown is not zero."""
    cumulative: Totals
    """Sums over this request and all before it; one request of unknown cost makes the cost unknown."""
    is_partial: bool = False
    """Ours: as in `Totals`. `output` is then estimated from the text that arrived, and may be too low."""
    reasoning: int | None = msgspec.field(default_factory=lambda: None)
    """The part of `output` that was thinking; null if the provider does not count it."""
    auxiliary: bool = False
    """Whether the request does not measure the conversation: here, one for a summary. Absent if false."""


class AssistantMessage(Record, frozen=True, tag="assistant_message"):
    content: tuple[Content, ...]
    time: str


class ToolCall(Record, frozen=True, tag="tool_call"):
    id: str
    name: str
    args: Raw
    extension: str | msgspec.UnsetType = msgspec.UNSET
    """Ours: the extension of the tool; absent for a built-in tool and for a tool that does not exist."""
    origin_extension: str | msgspec.UnsetType = msgspec.UNSET
    """Ours: the extension that makes the call by `call_tool`; absent for other calls."""
    origin: Literal["client"] | msgspec.UnsetType = msgspec.UNSET
    """Ours: `client` for a `call_tool` of a client of rpc. No part of the conversation, and of no prompt."""


class TurnEnd(Record, frozen=True, tag="turn_end"):
    stop: Literal["end_turn", "tool_use", "length", "error", "aborted"]
    error: str | msgspec.UnsetType = msgspec.UNSET


class ToolProgress(Record, frozen=True, tag="tool_progress"):
    """A piece of the output of a running call, for display: about twenty a second at most. For `bash` it is the
    command's output; a piece that begins with `... [N characters are not shown]` follows a gap."""

    id: str
    text: str


class ToolResult(Record, frozen=True, tag="tool_result"):
    id: str
    is_error: bool
    content: tuple[TextContent | ImageContent, ...]
    extension: str | msgspec.UnsetType = msgspec.UNSET
    origin_extension: str | msgspec.UnsetType = msgspec.UNSET
    """Ours, like `extension`: as in the call's record."""
    structured_content: Raw | msgspec.UnsetType = msgspec.UNSET
    """Ours: the result as JSON, if the extension has given it. The model got `content`."""
    origin: Literal["client"] | msgspec.UnsetType = msgspec.UNSET
    """Ours: as in the call's record."""


class CompactDone(Record, frozen=True, tag="compact_done"):
    """A summary has replaced the older messages, in a prompt between two turns. In rpc, `done` follows `compact`."""

    summary: str
    messages_before: int
    """Ours: number of messages in the conversation before."""
    messages_after: int
    """Ours: number of messages in it now, the summary included."""
    trigger: Literal["request", "window", "too_long"] = "request"
    """Ours: request: `compact` of rpc; window: the next request would fill the window; too_long: one was too long."""


class Error(Record, frozen=True, tag="error"):
    message: str


class Done(Record, frozen=True, tag="done"):
    """The end of the prompt. No record follows."""


# --- ours ---------------------------------------------------------------------------------------------------


class Session(Record, frozen=True, tag="session"):
    """The session; always the first record."""

    schema_version: int
    zot_version: str
    id: str
    provider: str
    model: str
    cwd: str
    extensions: tuple[str, ...]
    """Names of the started extensions, in the order in which guards are asked."""
    time: str
    resumed: int | msgspec.UnsetType = msgspec.UNSET
    """Number of messages that the conversation began with. Present only if the run continues a session."""
    reasoning: str | msgspec.UnsetType = msgspec.UNSET
    """The level of reasoning that was set; absent if none was."""


class Extension(Record, frozen=True, tag="extension"):
    """A notice to the user: something happened to an extension."""

    extension: str
    event: Literal[
        "started", "exited", "stopped", "restarted", "reloaded", "failed", "blocked", "no_verdict", "limit", "late",
        "warning", "remark", "asked", "context", "error_handling", "summary", "system_prompt",
    ]  # fmt: skip
    """exited: it ended, and the message says whether it is restarted; stopped: a user has stopped it; failed: it is
    given up; blocked: a guard refused or withheld something; no_verdict: a guard gave no readable answer; late: it
    joins late, or was waited for; remark: a guard gave a reason without a block; asked: a guard leaves the decision to
    a person, and the message says whether it was refused; context: a guard adds a text for the model; error_handling: a
    guard decides about an error; summary: a guard sums up the session; system_prompt: a guard has replaced it."""
    message: str
    """One line that a person can act on; for `blocked` and `asked` the whole reason. A cut message ends in ` …`."""


class PermissionAsked(Record, frozen=True, tag="permission_asked"):
    """A guard leaves the decision about an event to the client, which answers with `allow` or `deny`. The event waits,
    without a deadline. Only in rpc, for a client whose `hello` has `permissions`."""

    id: str
    """The id for the answer, its member `permission`."""
    extension: str
    """The guard that asks."""
    event: Literal["tool_call", "tool_result", "user_prompt", "turn_start", "assistant_message"]
    reason: str
    """The guard's reason; empty without one."""
    tool_id: str | msgspec.UnsetType = msgspec.UNSET
    tool_name: str | msgspec.UnsetType = msgspec.UNSET
    args: Raw | msgspec.UnsetType = msgspec.UNSET
    """The arguments of the call, as guards have rewritten them so far."""
    text: str | msgspec.UnsetType = msgspec.UNSET
    """The prompt, the message, or the text of the result, as guards have rewritten it so far."""
    origin_extension: str | msgspec.UnsetType = msgspec.UNSET
    """The extension that makes the call by `call_tool`; absent for a call of the model."""


class PermissionAnswered(Record, frozen=True, tag="permission_answered"):
    """The question with this id is answered, or cancelled."""

    id: str
    decision: Literal["allowed", "denied", "cancelled"]
    """cancelled: by an abort, by the end of the call that it is about, or as the client is going."""
    reason: str
    """The client's reason, or why it was cancelled; empty without one."""


class Retry(Record, frozen=True, tag="retry"):
    """A request to the model failed and is repeated after a pause. Comes at the start of the pause, before
    `assistant_start`; a request is not repeated once readers have seen a part of its reply."""

    attempt: int
    """Number of the attempt that follows the pause; 2 is the first repetition."""
    of: int
    """Maximum number of attempts."""
    wait_s: float
    """Length of the pause in seconds: as the server asks, else longer with each attempt."""
    reason: str
    """The failure, such as `rate limited`, `overloaded`, `server error`, `no connection`, `no answer in time`."""
    status: int | None
    """The HTTP status; null if there was no answer."""


class CompactStart(Record, frozen=True, tag="compact_start"):
    """The conversation is too long, and the model is asked to summarise its older messages. `usage` and `compact_done`
    follow; if a `turn_start` or the end of the prompt follows instead, the messages stay as they were."""

    trigger: Literal["window", "too_long"]
    """As in `compact_done`. A compaction on request has no `compact_start`."""
    tokens: int
    """Estimated tokens of the next request, or of the request that was too long."""
    window: int | None
    """Tokens that the model can read; null if unknown."""


class Command(Record, frozen=True, tag="command"):
    """The prompt is a slash command, and the command starts. The records of its answer follow."""

    extension: str
    name: str
    """Name without the slash."""
    args: str


class ExtNotify(Record, frozen=True, tag="ext_notify"):
    """A note of an extension for the user. It is shown until the next prompt, or until its sender takes it back."""

    extension: str
    level: Literal["info", "success", "warn", "error"]
    message: str


class ClearNotes(Record, frozen=True, tag="clear_notes"):
    """This extension takes back its notes; notes of other extensions stay."""

    extension: str


class ExtDisplay(Record, frozen=True, tag="ext_display"):
    """A text that a command shows once. Neither the model nor a transcript gets it."""

    extension: str
    text: str


class ExtInsert(Record, frozen=True, tag="ext_insert"):
    """A text that a command offers for the user's next prompt, to be edited before it is sent."""

    extension: str
    text: str


class PanelOpen(Record, frozen=True, tag="panel_open"):
    """An extension opens a panel. Its id is unique among those of the extension."""

    extension: str
    panel_id: str
    title: str
    lines: tuple[str, ...]
    footer: str


class PanelRender(Record, frozen=True, tag="panel_render"):
    """The complete new content of an open panel."""

    extension: str
    panel_id: str
    title: str
    lines: tuple[str, ...]
    footer: str


class PanelClose(Record, frozen=True, tag="panel_close"):
    """An open panel is gone: its extension closed it, or has ended."""

    extension: str
    panel_id: str


class Result(Record, frozen=True, tag="result"):
    """How the prompt ended; the record before `done`."""

    status: str
    exit_code: int
    reason: str
    """Why it ended in this way; empty when the status is `ok`."""
    text: str
    """The last assistant message that a reader may see. With `answer`, only its JSON, without a fence around it."""
    steps: int
    usage: Totals
    cost_usd: float | None
    """US dollars, as in `usage`; null if unknown."""
    duration_ms: int
    session: str
    extensions: dict[str, Cost]
    answer: Raw | msgspec.UnsetType = msgspec.UNSET
    """Absent without `--output-schema`, and if the final text does not fit it. Otherwise the JSON of that text."""
    sent: tuple[SentPrompt, ...] | msgspec.UnsetType = msgspec.UNSET
    """The prompts of extensions that ran after the user's, in order; absent without any. They count in `steps`, `usage`
    and `cost_usd` of the result, and in no other field. In rpc, each has its own `result`."""
    error_kind: str | msgspec.UnsetType = msgspec.UNSET
    """The kind of failure of the request that ended the prompt; absent if none did: `authentication`, `rate_limit`,
    `overloaded`, `server`, `invalid_request`, `too_long`, `too_large`, `connection`, `dropped`, `timeout`, `protocol`,
    `worker`, `cassette`."""


AnyRecord = (
    UserMessage | TurnStart | AssistantStart | TextDelta | ToolUseStart | ToolUseArgs | ToolUseEnd | Usage
    | AssistantMessage | ToolCall | TurnEnd | ToolProgress | ToolResult | CompactDone | Error | Done | Session
    | Extension | PermissionAsked | PermissionAnswered | Retry | CompactStart | Command | ExtNotify | ClearNotes
    | ExtDisplay | ExtInsert | PanelOpen | PanelRender | PanelClose | Result
)  # fmt: skip
