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
)
"""Names that `on` takes. The features of a host say whether it sends events beyond zot's first five."""
POINTS = ("tool_call", "turn_start", "assistant_message", "user_prompt", "tool_result")
"""Points at which a guard can be asked."""


class Event(Value):
    """An event. Fields that an event of this name does not have are empty."""

    __slots__ = ("content", "error", "is_error", "name", "step", "stop", "text", "tool_args", "tool_id", "tool_name")

    def __init__(self, frame: dict[str, Any]) -> None:
        self.name = _text(frame, "event")
        self.step = _number(frame, "step")
        """turn_start: 1 for the first turn of a prompt."""
        self.stop = _text(frame, "stop")
        """turn_end: why the turn ended, for example `end_turn` or `tool_use`."""
        self.error = _text(frame, "error")
        """error, and turn_end of a turn that failed."""
        self.tool_id = _text(frame, "tool_id")
        self.tool_name = _text(frame, "tool_name")
        """tool_call and tool_result."""
        self.tool_args: dict[str, Any] = _object(frame, "tool_args")
        """tool_call: the arguments as the model wrote them."""
        self.text = _text(frame, "text")
        """assistant_message and user_prompt."""
        self.is_error = frame.get("is_error") is True
        self.content: list[Text | Image] = read_blocks(frame.get("content"))
        """tool_result."""


class ToolCall(Value):
    """A tool is about to run. To change `args`, return `rewrite_args(...)`; a change of the dict has no effect."""

    __slots__ = ("args", "id", "name")

    def __init__(self, frame: dict[str, Any]) -> None:
        self.id = _text(frame, "tool_id")
        self.name = _text(frame, "tool_name")
        self.args: dict[str, Any] = _object(frame, "tool_args")


class TurnStart(Value):
    """The model is about to be called. `step` is 1 for the first turn of a prompt."""

    __slots__ = ("step",)

    def __init__(self, frame: dict[str, Any]) -> None:
        self.step = _number(frame, "step")


class AssistantMessage(Value):
    """The model has written this text. It has not been shown yet."""

    __slots__ = ("text",)

    def __init__(self, frame: dict[str, Any]) -> None:
        self.text = _text(frame, "text")


class UserPrompt(Value):
    """The user wants to send this text to the model."""

    __slots__ = ("text",)

    def __init__(self, frame: dict[str, Any]) -> None:
        self.text = _text(frame, "text")


class ToolResult(Value):
    """A tool has run. The model has not seen the result yet."""

    __slots__ = ("content", "id", "is_error", "name")

    def __init__(self, frame: dict[str, Any]) -> None:
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

    __slots__ = ("key", "panel_id", "text")

    def __init__(self, frame: dict[str, Any]) -> None:
        self.panel_id = _text(frame, "panel_id")
        self.key = _text(frame, "key")
        self.text = _text(frame, "text")


class PanelSize(Value):
    """A panel has a new size: `width` in columns, `height` in rows."""

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
    """Returns a deep copy: a change by one handler must not reach the others."""
    value = frame.get(field)
    return {name: _copy(member) for name, member in value.items()} if isinstance(value, dict) else {}


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copy(member) for name, member in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value
