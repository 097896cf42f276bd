"""The frames of an extension, in the order in which an extension uses them."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Raw

from wire.frames.parts import BLOCKS_LIMIT, ContentBlock, Frame, ModifiedResult, Panel, PanelClosed


class Hello(Frame, frozen=True, tag="hello"):
    """The first frame. The manifest's name is used; a different `name` here is reported."""

    name: str
    version: str | None = None
    capabilities: list[str] | None = None
    features: list[str] | None = None
    """`leases`: it takes `lease_begin` and `lease_end`."""


class RegisterCommand(Frame, frozen=True, tag="register_command"):
    name: str
    """A user may type it in any case. Of two names that differ only by case the first counts."""
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
    deferred: bool | None = None
    """Whether the model is offered the tool only once a result has named it in `activate_tools`."""
    exposure: str | None = None
    """direct, deferred, codemode or model-only; counts before `deferred`."""
    output_schema: Raw | msgspec.UnsetType = msgspec.UNSET
    """JSON Schema of `structured_content` in the tool's results."""
    interactive: bool | None = None
    """Whether a call waits for a person, without a time limit."""
    namespace: str | None = None
    namespace_description: str | None = None
    namespace_instructions: str | None = None
    replay: str | None = None
    """never, safe, idempotent or reconcile: what a call may do that a crash has interrupted."""


class UnregisterTool(Frame, frozen=True, tag="unregister_tool"):
    """Removes one of the extension's tools. From the next turn on, the model is not offered it."""

    name: str


class Subscribe(Frame, frozen=True, tag="subscribe"):
    """Adds to earlier subscriptions; may come at any time."""

    events: list[str] | None = None
    intercept: list[str] | None = None


class Ready(Frame, frozen=True, tag="ready"):
    """All first registrations have been sent."""


class ToolResult(Frame, frozen=True, tag="tool_result"):
    id: str
    content: Annotated[list[ContentBlock], msgspec.Meta(max_length=BLOCKS_LIMIT)] | None = None
    is_error: bool | None = None
    activate_tools: list[str] | None = None
    """Deferred tools of this extension that the model is offered from the next request on."""
    structured_content: Raw | msgspec.UnsetType = msgspec.UNSET
    """The result as JSON, for programs. The model gets `content`."""
    session_id: str | None = None
    """The session that it is about, from an extension that several runs share."""


class ToolProgress(Frame, frozen=True, tag="tool_progress"):
    """Progress of a running call, for the user. The model does not see it."""

    id: str
    """Id of the `tool_call`."""
    text: str
    session_id: str | None = None
    """The session that it is about, from an extension that several runs share."""


class CommandResponse(Frame, frozen=True, tag="command_response"):
    id: str
    action: str | None = None
    prompt: str | None = None
    insert: str | None = None
    display: str | None = None
    open_panel: Panel | None = None
    error: str | None = None
    tool_name: str | None = None
    """With the action `tool_prompt`: the tool whose result goes with the prompt."""
    tool_args: Raw | msgspec.UnsetType = msgspec.UNSET
    session_id: str | None = None
    """The session that it is about, from an extension that several runs share."""


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
    system_prompt: str | None = None
    """For `before_agent_start`: the whole new system prompt; "" removes it, null leaves it unchanged."""
    session_id: str | None = None
    """The session that it is about, from an extension that several runs share."""


class Notify(Frame, frozen=True, tag="notify"):
    level: str | None = None
    """info, success, warn or error; anything else is shown as info."""
    message: str | None = None
    session_id: str | None = None
    """The session that it is about, from an extension that several runs share."""


class ClearNotes(Frame, frozen=True, tag="clear_notes"):
    """Removes the notes that this extension sent before."""

    session_id: str | None = None
    """The session that it is about, from an extension that several runs share."""


class Log(Frame, frozen=True, tag="log"):
    """A line for the extension's log file, with a level and fields. stderr goes to the same file."""

    message: str
    level: str | None = None
    """debug, info, warn or error; anything else is written as info."""
    fields: dict[str, Raw] | None = None


class Submit(Frame, frozen=True, tag="submit"):
    """A prompt for the agent, at any time. It runs after the prompts that wait. Blank text is ignored."""

    text: str
    session_id: str | None = None
    """The session that it is about, from an extension that several runs share."""


class SubmitSlash(Frame, frozen=True, tag="submit_slash"):
    """A slash command, as if a person had typed it."""

    text: str


class CallTool(Frame, frozen=True, tag="call_tool"):
    """Has the host call a tool; answered by a `tool_result` with the same id. Guards judge it like a call of the
    model."""

    id: str
    name: str
    args: Raw | msgspec.UnsetType = msgspec.UNSET
    """The arguments, a JSON object."""
    parent_id: str | None = None
    """The id of the `tool_call` for which the extension needs the result."""
    session_id: str | None = None
    """The session that it is about, from an extension that several runs share."""


class CallToolCancel(Frame, frozen=True, tag="call_tool_cancel"):
    """The extension no longer waits for the answer to this `call_tool`."""

    id: str


class OpenPanel(Frame, frozen=True, tag="open_panel"):
    """Opens a panel, at any time."""

    panel: Panel
    session_id: str | None = None
    """The session that it is about, from an extension that several runs share."""


class PanelRender(Frame, frozen=True, tag="panel_render"):
    panel_id: str
    title: str | None = None
    lines: list[str] | None = None
    footer: str | None = None
    session_id: str | None = None
    """The session that it is about, from an extension that several runs share."""


class LeaseReady(Frame, frozen=True, tag="lease_ready"):
    """Answers `lease_begin`: nothing of the session before is left."""

    id: str


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
    | Submit
    | SubmitSlash
    | CallTool
    | CallToolCancel
    | OpenPanel
    | PanelRender
    | PanelClosed
    | LeaseReady
    | ShutdownAck
    | Pong
)
