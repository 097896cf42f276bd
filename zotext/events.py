"""Events and questions of the host, as handlers and guards get them."""

from __future__ import annotations

from .content import Image, Text, read_blocks
from .values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EVENTS = (
    "session_start",
    "user_prompt",
    "turn_start",
    "tool_call",
    "tool_result",
    "assistant_message",
    "turn_end",
    "error",
    "idle",
    "session_end",
    "user_prompt_submit",
    "tool_confirmation_requested",
    "permission_decision",
    "pre_compact",
    "post_compact",
    "subagent_start",
    "subagent_stop",
)
"""Names that `on` takes. Each host sends a part of them: zot no `user_prompt`, `error` and `idle`, zot for Python none
about subagents."""
TEXTS = (
    "session_id", "cwd", "stop", "error", "tool_id", "tool_name", "tool_args_raw", "tool_preview", "text", "status",
    "decision", "source", "stage", "reason", "compaction_id", "origin_extension", "agent_id", "agent_run_id",
)  # fmt: skip
NUMBERS = ("sequence", "step", "image_count", "message_count", "token_estimate")


class Event(Value):
    """An event. Fields that an event of this name does not have are empty."""

    __slots__ = (*TEXTS, *NUMBERS, "content", "executed", "is_error", "name", "queued", "tool_args", "truncated")
    name: str
    session_id: str
    """All events: id of the conversation."""
    cwd: str
    """All events: folder of the project."""
    sequence: int
    """All events: its number among all events of the host, also those that this extension does not observe."""
    step: int
    """turn_start: 1 for the first turn of a prompt."""
    stop: str
    """turn_end: why the turn ended, `end`, `tool_use`, `length`, `error` or `aborted`."""
    error: str
    """error, turn_end of a turn that failed, and post_compact."""
    text: str
    """assistant_message, user_prompt and user_prompt_submit."""
    queued: bool
    """user_prompt_submit: whether another prompt runs first."""
    image_count: int
    """user_prompt_submit."""
    tool_id: str
    """All events about a tool."""
    tool_name: str
    tool_args: dict[str, Any]
    """tool_call: the arguments as the model wrote them. tool_result: as the tool got them."""
    tool_args_raw: str
    """In place of `tool_args` if the model's text is not JSON."""
    tool_preview: str
    """tool_confirmation_requested."""
    content: list[Text | Image]
    """tool_result, like the next four."""
    is_error: bool
    truncated: bool
    """Whether the host has left out a part of `content`."""
    status: str
    """completed, failed, blocked, cancelled or timed_out; also of post_compact and subagent_stop."""
    executed: bool
    """Whether the tool has begun."""
    decision: str
    """permission_decision: approved, denied or cancelled."""
    source: str
    """permission_decision: who decided: user, remembered, policy or yolo."""
    stage: str
    """permission_decision: pre_execution or tool_execution."""
    reason: str
    """permission_decision; session_end: shutdown, session_switch or cwd_change."""
    origin_extension: str
    """Events about a tool: the extension that called it; empty if the model did."""
    compaction_id: str
    """pre_compact and post_compact, like the next two."""
    message_count: int
    token_estimate: int
    agent_id: str
    """subagent_start and subagent_stop, like `agent_run_id`."""
    agent_run_id: str

    def __init__(self, frame: dict[str, Any]) -> None:
        self.name = _text(frame, "event")
        for field in TEXTS:
            setattr(self, field, _text(frame, field))
        for field in NUMBERS:
            setattr(self, field, _number(frame, field))
        self.tool_args = _object(frame, "tool_args")
        self.queued = frame.get("queued") is True
        self.executed = frame.get("executed") is True
        result = frame.get("result")
        told = result if isinstance(result, dict) and "content" not in frame else frame  # zot tells only a `result`
        self.content = read_blocks(told.get("content"))
        self.is_error = told.get("is_error") is True
        self.truncated = told.get("truncated") is True


class SessionValue(Value):
    """Base of the values about a session."""

    __slots__ = ("cwd", "session_id")

    def __init__(self, frame: dict[str, Any]) -> None:
        self.session_id = _text(frame, "session_id")
        """Id of the session; "" if the host has named none."""
        self.cwd = _text(frame, "cwd")
        """Folder of that session."""


class AgentStart(SessionValue):
    """The model is about to get its first request. `system_prompt` is whole, as earlier guards have left it."""

    __slots__ = ("agent_run_id", "model", "provider", "system_prompt")

    def __init__(self, frame: dict[str, Any]) -> None:
        super().__init__(frame)
        self.agent_run_id = _text(frame, "agent_run_id")
        """Id of this round of questions, the same for all guards."""
        self.provider = _text(frame, "provider")
        self.model = _text(frame, "model")
        self.system_prompt = _text(frame, "system_prompt")


class ToolCall(SessionValue):
    """A tool is about to run. To change `args`, return `rewrite_args(...)`; a change of the dict has no effect."""

    __slots__ = ("args", "id", "name")

    def __init__(self, frame: dict[str, Any]) -> None:
        super().__init__(frame)
        self.id = _text(frame, "tool_id")
        self.name = _text(frame, "tool_name")
        self.args: dict[str, Any] = _object(frame, "tool_args")


class TurnStart(SessionValue):
    """The model is about to be called. `step` is 1 for the first turn of a prompt."""

    __slots__ = ("step",)

    def __init__(self, frame: dict[str, Any]) -> None:
        super().__init__(frame)
        self.step = _number(frame, "step")


class AssistantMessage(SessionValue):
    """The model has written this text. It has not been shown yet."""

    __slots__ = ("text",)

    def __init__(self, frame: dict[str, Any]) -> None:
        super().__init__(frame)
        self.text = _text(frame, "text")


class UserPrompt(SessionValue):
    """The user wants to send this text to the model."""

    __slots__ = ("text",)

    def __init__(self, frame: dict[str, Any]) -> None:
        super().__init__(frame)
        self.text = _text(frame, "text")


class ToolResult(SessionValue):
    """A tool has run. The model has not seen the result yet."""

    __slots__ = ("content", "id", "is_error", "name")

    def __init__(self, frame: dict[str, Any]) -> None:
        super().__init__(frame)
        self.id = _text(frame, "tool_id")
        self.name = _text(frame, "tool_name")
        self.content: list[Text | Image] = read_blocks(frame.get("content"))
        self.is_error = frame.get("is_error") is True

    @property
    def text(self) -> str:
        """All texts, joined by line feeds."""
        return "\n".join(block.text for block in self.content if isinstance(block, Text))


class PanelKey(Value):
    """The user pressed a key in a panel. `key` is up, down, left, right, enter, esc, tab, backspace, delete, home, end,
    pageup, pagedown, rune or unknown; for rune, `text` is the typed character."""

    __slots__ = ("key", "panel_id", "session_id", "text")

    def __init__(self, frame: dict[str, Any]) -> None:
        self.panel_id = _text(frame, "panel_id")
        self.session_id = _text(frame, "session_id")
        self.key = _text(frame, "key")
        self.text = _text(frame, "text")


class PanelSize(Value):
    """A panel has a new size: `width` in columns, `height` in rows."""

    __slots__ = ("height", "panel_id", "session_id", "width")

    def __init__(self, frame: dict[str, Any]) -> None:
        self.panel_id = _text(frame, "panel_id")
        self.session_id = _text(frame, "session_id")
        self.width = _number(frame, "width")
        self.height = _number(frame, "height")


class PanelClosed(Value):
    """The user closed a panel."""

    __slots__ = ("panel_id", "session_id")

    def __init__(self, frame: dict[str, Any]) -> None:
        self.panel_id = _text(frame, "panel_id")
        self.session_id = _text(frame, "session_id")


class Lease(SessionValue):
    """The run that has the process for itself: its session and its folder."""

    __slots__ = ()


def _text(frame: dict[str, Any], field: str) -> str:
    value = frame.get(field)
    return value if isinstance(value, str) else ""


def _number(frame: dict[str, Any], field: str) -> int:
    value = frame.get(field)
    return value if isinstance(value, int) else 0


def _object(frame: dict[str, Any], field: str) -> dict[str, Any]:
    """Returns a deep copy: a change by one handler must not reach the others."""
    value = frame.get(field)
    return {name: _copy(member) for name, member in value.items()} if isinstance(value, dict) else {}


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copy(member) for name, member in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value
