"""What happens in the host, as handlers and guards get it."""

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
    "session_end",
)
"""What `on` takes. A host says with its features whether it knows those beyond zot's first five."""
POINTS = ("tool_call", "turn_start", "assistant_message", "user_prompt", "tool_result")
"""Where a guard can be asked."""


class Event(Value):
    """Something happened. Fields that an event of this name does not have keep their empty value."""

    __slots__ = ("content", "error", "is_error", "name", "step", "stop", "text", "tool_args", "tool_id", "tool_name")

    def __init__(self, frame: dict[str, Any]) -> None:
        self.name = _text(frame, "event")
        self.step = _number(frame, "step")
        """1 for the first turn of a prompt: turn_start."""
        self.stop = _text(frame, "stop")
        """Why the turn ended, for example `end_turn` or `tool_use`: turn_end."""
        self.error = _text(frame, "error")
        """turn_end of a turn that failed, and error."""
        self.tool_id = _text(frame, "tool_id")
        self.tool_name = _text(frame, "tool_name")
        """tool_call and tool_result."""
        self.tool_args: dict[str, Any] = _object(frame, "tool_args")
        """As the model wrote them: tool_call."""
        self.text = _text(frame, "text")
        """assistant_message and user_prompt."""
        self.is_error = frame.get("is_error") is True
        self.content: list[Text | Image] = read_blocks(frame.get("content"))
        """tool_result."""


class ToolCall(Value):
    """A tool is about to run. To change `args` return `rewrite_args(...)`; changing the dict itself has no effect."""

    __slots__ = ("args", "id", "name")

    def __init__(self, frame: dict[str, Any]) -> None:
        self.id = _text(frame, "tool_id")
        self.name = _text(frame, "tool_name")
        self.args: dict[str, Any] = _object(frame, "tool_args")


class TurnStart(Value):
    """The model is about to be asked. `step` is 1 for the first time after a prompt."""

    __slots__ = ("step",)

    def __init__(self, frame: dict[str, Any]) -> None:
        self.step = _number(frame, "step")


class AssistantMessage(Value):
    """The model has written this text; nobody has seen it yet."""

    __slots__ = ("text",)

    def __init__(self, frame: dict[str, Any]) -> None:
        self.text = _text(frame, "text")


class UserPrompt(Value):
    """The user wants to send this text to the model."""

    __slots__ = ("text",)

    def __init__(self, frame: dict[str, Any]) -> None:
        self.text = _text(frame, "text")


class ToolResult(Value):
    """A tool has run; the model has not seen the result yet."""

    __slots__ = ("content", "id", "is_error", "name")

    def __init__(self, frame: dict[str, Any]) -> None:
        self.id = _text(frame, "tool_id")
        self.name = _text(frame, "tool_name")
        self.content: list[Text | Image] = read_blocks(frame.get("content"))
        self.is_error = frame.get("is_error") is True

    @property
    def text(self) -> str:
        """All texts in it, one line apart."""
        return "\n".join(one.text for one in self.content if isinstance(one, Text))


class PanelKey(Value):
    """The user pressed a key in a panel. `key` is up, down, left, right, enter, esc, tab, backspace, delete, home, end,
    pageup, pagedown, rune or unknown; `text` is what was typed when it is rune."""

    __slots__ = ("key", "panel_id", "text")

    def __init__(self, frame: dict[str, Any]) -> None:
        self.panel_id = _text(frame, "panel_id")
        self.key = _text(frame, "key")
        self.text = _text(frame, "text")


class PanelSize(Value):
    """A panel has now so many columns and rows."""

    __slots__ = ("height", "panel_id", "width")

    def __init__(self, frame: dict[str, Any]) -> None:
        self.panel_id = _text(frame, "panel_id")
        self.width = _number(frame, "width")
        self.height = _number(frame, "height")


class PanelClosed(Value):
    """The user closed a panel."""

    __slots__ = ("panel_id",)

    def __init__(self, frame: dict[str, Any]) -> None:
        self.panel_id = _text(frame, "panel_id")


def _text(frame: dict[str, Any], field: str) -> str:
    value = frame.get(field)
    return value if isinstance(value, str) else ""


def _number(frame: dict[str, Any], field: str) -> int:
    value = frame.get(field)
    return value if isinstance(value, int) else 0


def _object(frame: dict[str, Any], field: str) -> dict[str, Any]:
    """A copy, so that what one handler changes no other one sees."""
    value = frame.get(field)
    return {name: _copy(one) for name, one in value.items()} if isinstance(value, dict) else {}


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copy(one) for name, one in value.items()}
    return [_copy(one) for one in value] if isinstance(value, list) else value
