"""Results of tools that the host makes, adds to or cuts. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from wire.frames.extension_frames import ToolResult
from wire.frames.parts import ContentBlock
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Iterable

RESULT_BYTES = 256 * 1024
"""Maximum of the content that an extension gets of a tool's result: its texts, images as base64 and their types, in
bytes. zot's limit."""
RESULT_BLOCKS = 128
"""Maximum number of blocks of that content. zot's limit."""


def error_result(text: str) -> ToolResult:
    """Returns an error result with this text."""
    return ToolResult("", [ContentBlock("text", text=valid_text(text))], is_error=True)


def add_texts(result: ToolResult, *texts: str) -> ToolResult:
    """Returns the result with more texts behind it; empty ones are left out."""
    added = [ContentBlock("text", text=text) for text in texts if text]
    return replace(result, content=[*(result.content or ()), *added]) if added else result


def cut_content(blocks: Iterable[ContentBlock]) -> tuple[list[ContentBlock], bool]:
    """Returns the blocks within `RESULT_BYTES` and `RESULT_BLOCKS`, and whether something is missing. A text is cut
    between two characters; an image that does not fit is left out, and blocks behind it may still fit."""
    kept: list[ContentBlock] = []
    left, is_cut = RESULT_BYTES, False
    for block in blocks:
        size = sum(len(text.encode("utf-8", "replace")) for text in (block.text, block.data, block.mime_type) if text)
        if len(kept) >= RESULT_BLOCKS:
            return kept, True
        if size <= left:
            kept.append(block)
            left -= size
            continue
        is_cut = True
        if block.type == "text" and left:
            start = (block.text or "").encode("utf-8", "replace")[:left].decode("utf-8", "ignore")
            kept.append(replace(block, text=start))
            left = 0
    return kept, is_cut
