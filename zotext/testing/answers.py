"""Answers of an extension, as values that tests can compare."""

from __future__ import annotations

import json

from ..content import Image, Text, read_blocks
from ..values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ToolAnswer(Value):
    """The result of a tool, and the progress that it reported."""

    __slots__ = ("activated", "content", "is_error", "progress", "structured")

    def __init__(self, frame: dict[str, Any], progress: list[str]) -> None:
        self.content: list[Text | Image] = read_blocks(frame.get("content"))
        self.is_error = frame.get("is_error") is True
        self.progress = progress
        self.activated: list[str] = frame.get("activate_tools") or []
        """The deferred tools that it offers from now on."""
        self.structured: Any = frame.get("structured_content")

    @property
    def text(self) -> str:
        """All texts, joined by line feeds."""
        return "\n".join(block.text for block in self.content if isinstance(block, Text))

    @property
    def json(self) -> Any:
        """The text, decoded as JSON."""
        return json.loads(self.text)


class CommandAnswer(Value):
    """The answer of a command. `action` is prompt, insert, display, noop or open_panel; it is empty with an `error`.
    `text` is the text to send, insert or display."""

    __slots__ = ("action", "error", "panel", "text")

    def __init__(self, frame: dict[str, Any]) -> None:
        self.error: str = frame.get("error") or ""
        self.action: str = "" if self.error else frame.get("action") or "noop"
        self.text: str = frame.get(self.action) or "" if self.action in ("prompt", "insert", "display") else ""
        self.panel = PanelState(frame["open_panel"]) if self.action == "open_panel" else None


class VerdictAnswer(Value):
    """The verdict of the guards. Unchanged fields are None."""

    __slots__ = ("args", "asks", "blocked", "context", "reason", "result", "system_prompt", "text")

    def __init__(self, frame: dict[str, Any]) -> None:
        self.blocked = frame.get("block") is True
        self.asks = frame.get("ask") is True
        self.context: str = frame.get("additional_context") or ""
        self.reason: str = frame.get("reason") or ""
        self.args: dict[str, Any] | None = frame.get("modified_args")
        self.text: str | None = frame.get("replace_text")
        self.system_prompt: str | None = frame.get("system_prompt")
        result = frame.get("modified_result")
        self.result = ToolAnswer(result, []) if result else None


class PanelState(Value):
    """Title, lines and footer of a panel."""

    __slots__ = ("footer", "lines", "title")

    def __init__(self, fields: dict[str, Any]) -> None:
        self.title: str = fields.get("title") or ""
        self.lines: list[str] = list(fields.get("lines") or ())
        self.footer: str = fields.get("footer") or ""


class Note(Value):
    """A note for the user."""

    __slots__ = ("level", "message")

    def __init__(self, level: str, message: str) -> None:
        self.level = level
        self.message = message
