"""The conversation as the model sees it: messages of typed blocks.

The event stream, the session file and the requests to the model are made from the transcript. A tool call keeps the
arguments byte for byte as the model wrote them, because they may be invalid JSON.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

import msgspec

from supervisor.loop.future import Failure  # noqa: TC001  (msgspec reads the annotations)

Role = Literal["user", "assistant", "tool"]


class Text(msgspec.Struct, frozen=True):
    text: str


class Image(msgspec.Struct, frozen=True):
    mime_type: str
    data: str
    """Base64."""


class Thinking(msgspec.Struct, frozen=True):
    """Reasoning of the model. It must go back to the provider unchanged; events never show it."""

    text: str
    signature: str = ""
    redacted: str = ""
    """The provider's encrypted block, when it sent no readable text."""


class ToolCall(msgspec.Struct, frozen=True):
    id: str
    name: str
    args: bytes
    """The model's text, byte for byte; `b"{}"` if the model wrote nothing. It may be invalid JSON."""


class ToolResult(msgspec.Struct, frozen=True):
    call_id: str
    content: tuple[Text | Image, ...]
    is_error: bool = False
    failure: Failure | None = None
    """Why the tool itself has given no result; None if it has. It is not kept with the conversation."""
    structured: bytes = b""
    """The result as JSON, for readers of records; empty if there is none. The conversation does not have it."""


Block = Text | Image | Thinking | ToolCall | ToolResult


class Message(msgspec.Struct, frozen=True):
    role: Role
    content: tuple[Block, ...]
    time: str
    """RFC 3339 with offset."""
    added_tools: tuple[str, ...] = ()
    """The deferred tools that the model is offered from here on, since results in this message have activated them."""


def now() -> str:
    """The local time, RFC 3339 with offset."""
    return datetime.now(UTC).astimezone().isoformat()


def text_of(content: tuple[Block, ...], separator: str = "\n") -> str:
    """The text blocks, joined."""
    return separator.join(block.text for block in content if isinstance(block, Text))
