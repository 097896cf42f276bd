"""Turns messages of a client into a transcript; `agent.sessions.export.client_messages` does the reverse."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from agent import transcript
from agent.images import limits, scaler
from wire.image_types import HEAD_BYTES, image_type
from wire.rpc import messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wire.rpc import requests

BLOCKS = {
    "user": (messages.Text, messages.Image),
    "assistant": (messages.Text, messages.Thinking, messages.ToolCall),
    "tool": (messages.ToolResult,),
}
"""The blocks that messages of each role may hold."""
Part = transcript.Text | transcript.Image


class UnfitMessageError(ValueError):
    """A message that the model's API would refuse; the text has the fault and its place."""


def to_transcript(given: Sequence[messages.Message]) -> list[transcript.Message]:
    """The transcript. Raises `UnfitMessageError`."""
    found = [_message(message, f"messages[{number}]") for number, message in enumerate(given)]
    if found and found[0].role != "user":
        raise UnfitMessageError(f"messages[0]: a conversation begins with role user, not {found[0].role}")
    calls: list[str] = []
    for number, message in enumerate(found):
        results = [block.call_id for block in message.content if isinstance(block, transcript.ToolResult)]
        if sorted(results) != sorted(calls):
            raise UnfitMessageError(
                f"messages[{number}]: it has results of the calls {results}, and those before it are {calls}"
            )
        calls = [block.id for block in message.content if isinstance(block, transcript.ToolCall)]
    if calls:
        raise UnfitMessageError(f"messages[{len(found) - 1}]: its calls {calls} have no results")
    return found


def _message(message: messages.Message, where: str) -> transcript.Message:
    for number, block in enumerate(message.content):
        if not isinstance(block, BLOCKS[message.role]):
            kind = block.__struct_config__.tag
            raise UnfitMessageError(
                f"{where}.content[{number}]: a message of role {message.role} has no block of type {kind}"
            )
    content = tuple(_block(block, f"{where}.content[{number}]") for number, block in enumerate(message.content))
    return transcript.Message(message.role, content, message.time or transcript.now())


def _block(block: messages.AnyBlock, where: str) -> transcript.Block:
    match block:
        case messages.Thinking(text, signature, redacted):
            return transcript.Thinking(text, signature, redacted)
        case messages.ToolCall(call_id, name, args, text):
            return transcript.ToolCall(call_id, name, text.encode() if isinstance(text, str) else bytes(args))
        case messages.ToolResult(call_id, is_error, content):
            parts = tuple(_part(part, f"{where}.content[{number}]") for number, part in enumerate(content))
            return transcript.ToolResult(call_id, parts, is_error)
        case _:
            return _part(block, where)


def _part(part: messages.Text | messages.Image, where: str) -> Part:
    if isinstance(part, messages.Text):
        return transcript.Text(part.text)
    if not isinstance(part.data, str):
        raise UnfitMessageError(f"{where}: an image needs its data; get_messages gives it with full")
    return image(part.mime_type, part.data, where)


def image(mime_type: str, data: str, where: str) -> transcript.Image:
    """An image that models take. Raises `UnfitMessageError`; its text begins with `where`."""
    decoded = _decode(mime_type, data, where)
    if len(decoded) > limits.BYTES_LIMIT:
        raise UnfitMessageError(f"{where}.data: more than {limits.BYTES_LIMIT} bytes, which models do not take")
    return transcript.Image(mime_type, data)


def prompt_images(given: Sequence[requests.ImageData]) -> tuple[transcript.Image, ...]:
    """The images of a prompt. A too large one is accepted if it can be scaled later. Raises `UnfitMessageError`."""
    found: list[transcript.Image] = []
    sizes: list[int] = []
    for number, one in enumerate(given):
        where = f"images[{number}]"
        decoded = _decode(one.mime_type, one.data, where)
        try:
            limits.check_image(decoded)
            if why := scaler.image_refusal(decoded, count=len(given)):
                raise limits.UnfitImageError(why)
        except limits.UnfitImageError as error:
            raise UnfitMessageError(f"{where}.data: {error}") from None
        sizes.append(min(len(decoded), limits.BYTES_LIMIT))
        found.append(transcript.Image(one.mime_type, one.data))
    try:
        limits.check_all(sizes, None)
    except limits.UnfitImageError as error:
        raise UnfitMessageError(f"images: {error}") from None
    return tuple(found)


def _decode(mime_type: str, data: str, where: str) -> bytes:
    """The bytes of an image; its content must have the type `mime_type`. Raises `UnfitMessageError`."""
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise UnfitMessageError(f"{where}.data: not base64: {error}") from None
    found = image_type(decoded[:HEAD_BYTES])
    if not found:
        raise UnfitMessageError(f"{where}.data: no PNG, JPEG, GIF or WebP")
    if mime_type != found:
        raise UnfitMessageError(f"{where}.mime_type: {mime_type[:80]!r}, but the bytes are {found}")
    return decoded
