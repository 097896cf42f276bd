"""Turns blocks of the transcript into content of the event stream."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from agent.transcript import Image, Text, ToolCall, ToolResult
from wire import events
from wire.lenient_json import raw_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent.transcript import Block


def content(blocks: Iterable[Block]) -> tuple[events.Content, ...]:
    """The blocks for events: images by size, without reasoning."""
    shown: list[events.Content] = []
    for block in blocks:
        if isinstance(block, Text):
            shown.append(events.TextContent(block.text))
        elif isinstance(block, Image):
            shown.append(_image(block))
        elif isinstance(block, ToolCall):
            shown.append(events.ToolCallContent(block.id, block.name, raw_json(block.args)))
        elif isinstance(block, ToolResult):
            shown.append(events.ToolResultContent(block.call_id, block.is_error, result_content(block)))
    return tuple(shown)


def result_content(result: ToolResult) -> tuple[events.TextContent | events.ImageContent, ...]:
    return tuple(_image(part) if isinstance(part, Image) else events.TextContent(part.text) for part in result.content)


def _image(image: Image) -> events.ImageContent:
    try:
        size = len(base64.b64decode(image.data))
    except (binascii.Error, ValueError):
        size = 0
    return events.ImageContent(image.mime_type, size)
