"""The messages of a conversation, as `get_messages` returns them and `set_messages` takes them."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Raw

ABSENT = msgspec.UNSET


class Block(msgspec.Struct, frozen=True, tag_field="type"):
    """Base of the content blocks; their `type` is the class's tag."""


class Text(Block, frozen=True, tag="text"):
    text: str


class Image(Block, frozen=True, tag="image"):
    mime_type: str
    bytes: int = 0
    """Size of the decoded image."""
    data: str | msgspec.UnsetType = ABSENT
    """Ours: the image in base64. Present only with `full`; `set_messages` needs it."""


class Thinking(Block, frozen=True, tag="thinking", omit_defaults=True):
    """Ours, present only with `full`: reasoning of the model, which must go back to the provider unchanged."""

    text: str = ""
    signature: str = ""
    redacted: str = ""


class ToolCall(Block, frozen=True, tag="tool_call"):
    id: str
    name: str
    args: Raw
    """Any JSON; null if the model did not write JSON."""
    args_text: str | msgspec.UnsetType = ABSENT
    """Ours, present only with `full`: the text that the model wrote, if it differs from `args` in any byte."""


class ToolResult(Block, frozen=True, tag="tool_result"):
    call_id: str
    is_error: bool = False
    content: tuple[Text | Image, ...] = ()


AnyBlock = Text | Image | Thinking | ToolCall | ToolResult


class Message(msgspec.Struct, frozen=True):
    role: Literal["user", "assistant", "tool"]
    content: tuple[AnyBlock, ...]
    time: str = ""
    """RFC 3339 with offset."""
