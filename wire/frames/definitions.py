"""Every frame of the extension protocol, both directions.

A frame is one JSON object whose `type` names it. The definitions here are complete: the decoders validate against them
(unknown fields are ignored, a wrong type is an error that names the field), the encoders write them, and the JSON
Schemas in `wire/schemas` are generated from them.

`null` is accepted for every optional field: extensions written for zot send it, and zot's own decoder takes it.
The classes are also the neutral messages that other dialects translate into.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Raw

PROTOCOL_VERSION = 1
FEATURES = (
    "additional_context",
    "ask",
    "cancel",
    "error_event",
    "error_intercept",
    "idle_event",
    "log",
    "panels",
    "ping",
    "session_end_event",
    "session_end_intercept",
    "session_start_intercept",
    "tool_flags",
    "tool_progress",
    "tool_result_event",
    "tool_result_intercept",
    "tool_timeout",
    "unregister_tool",
    "user_prompt_event",
    "user_prompt_intercept",
)
"""Features beyond zot's protocol 1 that this host has, as its `hello_ack` says. Another host may have fewer; it ignores
frames that it does not know."""
SessionSource = Literal["startup", "resume", "new"]
"""How a session began. startup: with the program; resume: it is continued; new: in a program that had another one."""
SessionEnd = Literal["complete", "error", "abort", "timeout", "user_exit"]
"""Why a session ends. user_exit: its client is gone, or begins another session."""
ErrorContext = Literal["model_call", "tool_execution", "system", "user_input"]
"""Where an error comes from."""
ErrorHandling = Literal["retry", "skip", "abort"]
"""The handling of an error that a guard asks for, see `InterceptResponse`."""
BLOCKS_LIMIT = 10_000
"""Maximum number of content blocks in one tool result. The largest frame could hold a million."""


class Frame(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True):
    """Base of all frames; its `type` is the class's tag."""


# --- what an extension says ---------------------------------------------------------------------------------


class Hello(Frame, frozen=True, tag="hello"):
    """The first frame. The manifest's name is used; a different `name` here is reported."""

    name: str
    version: str | None = None
    capabilities: list[str] | None = None


class RegisterCommand(Frame, frozen=True, tag="register_command"):
    name: str
    description: str | None = None


class RegisterTool(Frame, frozen=True, tag="register_tool"):
    name: str
    description: str | None = None
    schema: Raw | msgspec.UnsetType = msgspec.UNSET
    """JSON Schema of the arguments object, as sent. The supervisor checks it, not the frame's decoder."""
    retry: bool | None = None
    """The old name of `idempotent`."""
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=86_400)] | None = None
    """Maximum seconds of a call of this tool; default: `timeouts.tool_call` of the manifest."""
    idempotent: bool | None = None
    """Whether a call may be repeated once after a crash, in another worker of the extension."""
    read_only: bool | None = None
    """Whether the tool changes nothing. Neighbouring calls of one turn that are all read-only may run at the same
    time."""


class UnregisterTool(Frame, frozen=True, tag="unregister_tool"):
    """Removes one of the extension's tools. From the next turn on, the model is not offered it."""

    name: str


class Subscribe(Frame, frozen=True, tag="subscribe"):
    """Adds to earlier subscriptions; may come at any time."""

    events: list[str] | None = None
    intercept: list[str] | None = None


class Ready(Frame, frozen=True, tag="ready"):
    """All first registrations have been sent."""


class ContentBlock(msgspec.Struct, frozen=True, omit_defaults=True):
    """`{"type":"text","text":…}` or `{"type":"image","mime_type":…,"data":<base64>}`; other types are shown by name."""

    type: str
    text: str | None = None
    mime_type: str | None = None
    data: str | None = None


class ToolResult(Frame, frozen=True, tag="tool_result"):
    id: str
    content: Annotated[list[ContentBlock], msgspec.Meta(max_length=BLOCKS_LIMIT)] | None = None
    is_error: bool | None = None


class Panel(msgspec.Struct, frozen=True, omit_defaults=True):
    id: str
    title: str | None = None
    lines: list[str] | None = None
    footer: str | None = None


class ToolProgress(Frame, frozen=True, tag="tool_progress"):
    """Progress of a running call, for the user. The model does not see it."""

    id: str
    """Id of the `tool_call`."""
    text: str


class CommandResponse(Frame, frozen=True, tag="command_response"):
    id: str
    action: str | None = None
    prompt: str | None = None
    insert: str | None = None
    display: str | None = None
    open_panel: Panel | None = None
    error: str | None = None


class ModifiedResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """A result that the model gets instead of the tool's."""

    content: Annotated[list[ContentBlock], msgspec.Meta(max_length=BLOCKS_LIMIT)]
    is_error: bool | None = None
    """Absent or null: as in the tool's result."""


class InterceptResponse(Frame, frozen=True, tag="event_intercept_response"):
    """A guard's verdict. Without any other field, the event is allowed unchanged."""

    id: str
    block: bool | None = None
    """Has no effect on `session_start`, `session_end` and `error`, which have already happened."""
    reason: str | None = None
    modified_args: Raw | msgspec.UnsetType = msgspec.UNSET
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


class Notify(Frame, frozen=True, tag="notify"):
    level: str | None = None
    """info, success, warn or error; anything else is shown as info."""
    message: str | None = None


class ClearNotes(Frame, frozen=True, tag="clear_notes"):
    """Removes the notes that this extension sent before."""


class Log(Frame, frozen=True, tag="log"):
    """A line for the extension's log file, with a level and fields. stderr goes to the same file."""

    message: str
    level: str | None = None
    """debug, info, warn or error; anything else is written as info."""
    fields: dict[str, Raw] | None = None


class PanelRender(Frame, frozen=True, tag="panel_render"):
    panel_id: str
    title: str | None = None
    lines: list[str] | None = None
    footer: str | None = None


class PanelClosed(Frame, frozen=True, tag="panel_close"):
    """Sent by either side: by the extension to close its panel, by the host after the user closed it."""

    panel_id: str


class ShutdownAck(Frame, frozen=True, tag="shutdown_ack"):
    """The extension is about to exit. The host still waits for the exit."""


class Pong(Frame, frozen=True, tag="pong"):
    """Answers a ping."""

    id: str


FromExtension = (
    Hello
    | RegisterCommand
    | RegisterTool
    | Subscribe
    | Ready
    | UnregisterTool
    | ToolResult
    | ToolProgress
    | CommandResponse
    | InterceptResponse
    | Notify
    | ClearNotes
    | Log
    | PanelRender
    | PanelClosed
    | ShutdownAck
    | Pong
)

# --- what the host says -------------------------------------------------------------------------------------


class HelloAck(Frame, frozen=True, tag="hello_ack", omit_defaults=False):
    protocol_version: int
    zot_version: str
    provider: str
    model: str
    cwd: str
    extension_dir: str | msgspec.UnsetType = msgspec.UNSET
    data_dir: str | msgspec.UnsetType = msgspec.UNSET
    """A folder for the extension's state. It exists, and updates of the extension do not change it."""
    features: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """The features of this host; names as in `FEATURES`."""


class CommandInvoked(Frame, frozen=True, tag="command_invoked"):
    id: str
    name: str
    args: str | None = None


class ToolCall(Frame, frozen=True, tag="tool_call"):
    id: str
    name: str
    args: Raw
    """The arguments as JSON: as the model wrote them, or as guards rewrote them."""


class Cancel(Frame, frozen=True, tag="cancel"):
    """The host no longer waits for the answer to this `tool_call` or `command_invoked`, and ignores a late one. Sent
    only if the hello has the capability `cancel`: an extension written for zot may take any frame as a request."""

    id: str
    reason: str | None = None


class Tokens(msgspec.Struct, frozen=True):
    """Tokens that one request to the model used."""

    input: int
    """Input tokens without those that the provider had cached."""
    output: int
    cache_read: int
    cache_write: int


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
    source: SessionSource | None = None
    """As in `event_intercept`, like the next three; only questions have this one and `recoverable`."""
    reason: SessionEnd | None = None
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
    """As in `event`, like `sender`."""
    sender: str | None = None


class PanelKey(Frame, frozen=True, tag="panel_key"):
    panel_id: str
    key: str
    """up, down, left, right, enter, esc, tab, backspace, delete, home, end, pageup, pagedown, rune or unknown."""
    text: str | None = None


class PanelResize(Frame, frozen=True, tag="panel_resize"):
    panel_id: str
    width: int
    height: int


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
    | Event
    | EventIntercept
    | PanelKey
    | PanelClosed
    | PanelResize
    | Shutdown
    | Ping
)
