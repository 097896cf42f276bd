"""The records of the agent's event stream.

Generated from the definitions of the wire by `python -m wire.rpc.python_classes`; not to be edited.
"""

from __future__ import annotations

from . import parts  # noqa: F401  (events are read with them)
from .record import Event, UnknownEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Literal

    from .parts import Content, Cost, ImageContent, SentPrompt, TextContent, Totals


class UserMessage(Event):
    _parts: ClassVar[dict[str, str]] = {"content": "content[]"}
    type: ClassVar[str] = "user_message"
    content: tuple[Content, ...]
    time: str
    extension: str | None = None
    """The extension that sent the prompt; absent if the user or a client did."""


class TurnStart(Event):
    type: ClassVar[str] = "turn_start"
    step: int
    """1 for the first turn of each prompt."""


class AssistantStart(Event):
    type: ClassVar[str] = "assistant_start"


class TextDelta(Event):
    type: ClassVar[str] = "text_delta"
    delta: str


class ToolUseStart(Event):
    type: ClassVar[str] = "tool_use_start"
    id: str
    name: str


class ToolUseArgs(Event):
    type: ClassVar[str] = "tool_use_args"
    id: str
    delta: str
    """A piece of the arguments' JSON text."""


class ToolUseEnd(Event):
    type: ClassVar[str] = "tool_use_end"
    id: str


class Usage(Event):
    """The use of one request to the model, sent after failed requests too."""

    _parts: ClassVar[dict[str, str]] = {"cumulative": "Totals"}
    type: ClassVar[str] = "usage"
    input: int
    output: int
    cache_read: int
    cache_write: int
    cumulative: Totals
    """Sums over this request and all before it; one request of unknown cost makes the cost unknown."""
    cost_usd: float | None = None
    """None if the model's prices are unknown: unknown is not zero."""
    is_partial: bool = False
    """As in `Totals`. `output` is then estimated from the text that arrived, and may be too low."""
    reasoning: int | None = None
    """The part of `output` that was thinking; null if the provider does not count it."""
    auxiliary: bool = False
    """Whether the request does not measure the conversation: here, one for a summary. Absent if false."""


class AssistantMessage(Event):
    _parts: ClassVar[dict[str, str]] = {"content": "content[]"}
    type: ClassVar[str] = "assistant_message"
    content: tuple[Content, ...]
    time: str


class ToolCall(Event):
    type: ClassVar[str] = "tool_call"
    id: str
    name: str
    args: Any
    extension: str | None = None
    """The extension of the tool; absent for a built-in tool and for a tool that does not exist."""
    origin_extension: str | None = None
    """The extension that makes the call by `call_tool`; absent for other calls."""
    origin: Literal["client"] | None = None
    """`client` for a `call_tool` of a client of rpc. No part of the conversation, and of no prompt."""


class TurnEnd(Event):
    type: ClassVar[str] = "turn_end"
    stop: Literal["end_turn", "tool_use", "length", "error", "aborted"]
    error: str | None = None


class ToolProgress(Event):
    """A piece of the output of a running call, for display: about twenty a second at most. For `bash` it is the
    command's output; a piece that begins with `... [N characters are not shown]` follows a gap."""

    type: ClassVar[str] = "tool_progress"
    id: str
    text: str


class ToolResult(Event):
    _parts: ClassVar[dict[str, str]] = {"content": "content[]"}
    type: ClassVar[str] = "tool_result"
    id: str
    is_error: bool
    content: tuple[TextContent | ImageContent, ...]
    extension: str | None = None
    origin_extension: str | None = None
    """Ours, like `extension`: as in the call's record."""
    structured_content: Any = None
    """The result as JSON, if the extension has given it. The model got `content`."""
    origin: Literal["client"] | None = None
    """As in the call's record."""


class CompactDone(Event):
    """A summary has replaced the older messages, in a prompt between two turns. In rpc, `done` follows `compact`."""

    type: ClassVar[str] = "compact_done"
    summary: str
    messages_before: int
    """Number of messages in the conversation before."""
    messages_after: int
    """Number of messages in it now, the summary included."""
    trigger: Literal["request", "window", "too_long"] = "request"
    """Request: `compact` of rpc; window: the next request would fill the window; too_long: one was too long."""


class Error(Event):
    type: ClassVar[str] = "error"
    message: str


class Done(Event):
    """The end of the prompt. No record follows."""

    type: ClassVar[str] = "done"


class Session(Event):
    """The session; always the first record."""

    _parts: ClassVar[dict[str, str]] = {"extensions": "plain[]"}
    type: ClassVar[str] = "session"
    schema_version: int
    zot_version: str
    id: str
    provider: str
    model: str
    cwd: str
    extensions: tuple[str, ...]
    """Names of the started extensions, in the order in which guards are asked."""
    time: str
    resumed: int | None = None
    """Number of messages that the conversation began with. Present only if the run continues a session."""
    reasoning: str | None = None
    """The level of reasoning that was set; absent if none was."""


class ExtensionNotice(Event):
    """A notice to the user: something happened to an extension."""

    type: ClassVar[str] = "extension"
    extension: str
    event: Literal[
        "started",
        "exited",
        "stopped",
        "restarted",
        "reloaded",
        "failed",
        "blocked",
        "no_verdict",
        "limit",
        "late",
        "warning",
        "remark",
        "asked",
        "context",
        "error_handling",
        "summary",
        "system_prompt",
    ]
    """exited: it ended, and the message says whether it is restarted; stopped: a user has stopped it; failed: it is
    given up; blocked: a guard refused or withheld something; no_verdict: a guard gave no readable answer; late: it
    joins late, or was waited for; remark: a guard gave a reason without a block; asked: a guard leaves the decision to
    a person, and the message says whether it was refused; context: a guard adds a text for the model; error_handling: a
    guard decides about an error; summary: a guard sums up the session; system_prompt: a guard has replaced it."""
    message: str
    """One line that a person can act on; for `blocked` and `asked` the whole reason. A cut message ends in ` …`."""


class PermissionAsked(Event):
    """A guard leaves the decision about an event to the client, which answers with `allow` or `deny`. The event waits,
    without a deadline. Only in rpc, for a client whose `hello` has `permissions`."""

    type: ClassVar[str] = "permission_asked"
    id: str
    """The id for the answer, its member `permission`."""
    extension: str
    """The guard that asks."""
    event: Literal["tool_call", "tool_result", "user_prompt", "turn_start", "assistant_message"]
    reason: str
    """The guard's reason; empty without one."""
    tool_id: str | None = None
    tool_name: str | None = None
    args: Any = None
    """The arguments of the call, as guards have rewritten them so far."""
    text: str | None = None
    """The prompt, the message, or the text of the result, as guards have rewritten it so far."""
    origin_extension: str | None = None
    """The extension that makes the call by `call_tool`; absent for a call of the model."""


class PermissionAnswered(Event):
    """The question with this id is answered, or cancelled."""

    type: ClassVar[str] = "permission_answered"
    id: str
    decision: Literal["allowed", "denied", "cancelled"]
    """cancelled: by an abort, by the end of the call that it is about, or as the client is going."""
    reason: str
    """The client's reason, or why it was cancelled; empty without one."""


class Retry(Event):
    """A request to the model failed and is repeated after a pause. Comes at the start of the pause, before
    `assistant_start`; a request is not repeated once readers have seen a part of its reply."""

    type: ClassVar[str] = "retry"
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


class CompactStart(Event):
    """The conversation is too long, and the model is asked to summarise its older messages. `usage` and `compact_done`
    follow; if a `turn_start` or the end of the prompt follows instead, the messages stay as they were."""

    type: ClassVar[str] = "compact_start"
    trigger: Literal["window", "too_long"]
    """As in `compact_done`. A compaction on request has no `compact_start`."""
    tokens: int
    """Estimated tokens of the next request, or of the request that was too long."""
    window: int | None
    """Tokens that the model can read; null if unknown."""


class Command(Event):
    """The prompt is a slash command, and the command starts. The records of its answer follow."""

    type: ClassVar[str] = "command"
    extension: str
    name: str
    """Name without the slash."""
    args: str


class ExtNotify(Event):
    """A note of an extension for the user. It is shown until the next prompt, or until its sender takes it back."""

    type: ClassVar[str] = "ext_notify"
    extension: str
    level: Literal["info", "success", "warn", "error"]
    message: str


class ClearNotes(Event):
    """This extension takes back its notes; notes of other extensions stay."""

    type: ClassVar[str] = "clear_notes"
    extension: str


class ExtDisplay(Event):
    """A text that a command shows once. Neither the model nor a transcript gets it."""

    type: ClassVar[str] = "ext_display"
    extension: str
    text: str


class ExtInsert(Event):
    """A text that a command offers for the user's next prompt, to be edited before it is sent."""

    type: ClassVar[str] = "ext_insert"
    extension: str
    text: str


class PanelOpen(Event):
    """An extension opens a panel. Its id is unique among those of the extension."""

    _parts: ClassVar[dict[str, str]] = {"lines": "plain[]"}
    type: ClassVar[str] = "panel_open"
    extension: str
    panel_id: str
    title: str
    lines: tuple[str, ...]
    footer: str


class PanelRender(Event):
    """The complete new content of an open panel."""

    _parts: ClassVar[dict[str, str]] = {"lines": "plain[]"}
    type: ClassVar[str] = "panel_render"
    extension: str
    panel_id: str
    title: str
    lines: tuple[str, ...]
    footer: str


class PanelClose(Event):
    """An open panel is gone: its extension closed it, or has ended."""

    type: ClassVar[str] = "panel_close"
    extension: str
    panel_id: str


class Result(Event):
    """How the prompt ended; the record before `done`."""

    _parts: ClassVar[dict[str, str]] = {"usage": "Totals", "extensions": "Cost{}", "sent": "SentPrompt[]"}
    type: ClassVar[str] = "result"
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
    answer: Any = None
    """None without `--output-schema`, and if the final text does not fit it. Otherwise the JSON of that text."""
    sent: tuple[SentPrompt, ...] | None = None
    """The prompts of extensions that ran after the user's, in order; absent without any. They count in `steps`, `usage`
    and `cost_usd` of the result, and in no other field. In rpc, each has its own `result`."""
    error_kind: str | None = None
    """The kind of failure of the request that ended the prompt; absent if none did: `authentication`, `rate_limit`,
    `overloaded`, `server`, `invalid_request`, `too_long`, `too_large`, `connection`, `dropped`, `timeout`, `protocol`,
    `worker`, `cassette`."""


AnyEvent = (
    UserMessage | TurnStart | AssistantStart | TextDelta | ToolUseStart | ToolUseArgs | ToolUseEnd | Usage |
    AssistantMessage | ToolCall | TurnEnd | ToolProgress | ToolResult | CompactDone | Error | Done | Session |
    ExtensionNotice | PermissionAsked | PermissionAnswered | Retry | CompactStart | Command | ExtNotify | ClearNotes |
    ExtDisplay | ExtInsert | PanelOpen | PanelRender | PanelClose | Result | UnknownEvent
)  # fmt: skip
"""Every event, for a `match` that a type checker accepts as complete."""
EVENTS: dict[str, type[Event]] = {each.type: each for each in Event.__subclasses__() if each.type}
"""By the `type` of a record."""
