"""Turns the transcript into messages for a client: of `zot rpc`, and of an exported session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from agent import transcript
from wire.lenient_json import raw_json
from wire.rpc import messages

if TYPE_CHECKING:
    from collections.abc import Iterable


def client_messages(transcribed: Iterable[transcript.Message], *, full: bool) -> tuple[messages.Message, ...]:
    """The messages as zot shows them; with `full` nothing is left out."""
    return tuple(
        messages.Message(
            message.role,
            tuple(_client_block(block, full) for block in message.content if full or not _is_thinking(block)),
            message.time,
        )
        for message in transcribed
    )


def _is_thinking(block: transcript.Block) -> bool:
    return isinstance(block, transcript.Thinking)


def _client_block(block: transcript.Block, full: bool) -> messages.AnyBlock:
    match block:
        case transcript.Text() | transcript.Image():
            return _client_part(block, full)
        case transcript.Thinking(text, signature, redacted):
            return messages.Thinking(text, signature, redacted)
        case transcript.ToolCall(call_id, name, args):
            value = raw_json(args)
            is_json = bytes(value) == args
            return messages.ToolCall(
                call_id, name, value, UNSET if is_json or not full else args.decode("utf-8", "replace")
            )
        case transcript.ToolResult(call_id, content, is_error):
            return messages.ToolResult(call_id, is_error, tuple(_client_part(part, full) for part in content))


def _client_part(part: transcript.Text | transcript.Image, full: bool) -> messages.Text | messages.Image:
    if isinstance(part, transcript.Text):
        return messages.Text(part.text)
    padding = part.data.count("=", -2)
    return messages.Image(part.mime_type, len(part.data) // 4 * 3 - padding, part.data if full else UNSET)
