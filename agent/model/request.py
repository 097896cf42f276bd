"""Turns the transcript into request parameters of the Messages API, and replies into blocks. Pure."""

from __future__ import annotations

import binascii
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import orjson

from agent.images.kinds import Pixels, pixels
from agent.images.limits import BASE64_LIMIT, BYTES_LIMIT, CROWD, CROWD_SIDE, SIDE_LIMIT, pixels_text
from agent.model import thinking_levels
from agent.transcript import Block, Image, Message, Text, Thinking, ToolCall, ToolResult
from wire.lenient_json import ARGUMENTS_DEPTH, is_deeper

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wire.reasoning_levels import Reasoning

    CacheTtl = Literal["5m", "1h"]

Json = dict[str, Any]

IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
HEADER_CHARACTERS = 1 << 18
"""The part of an image's base64 that is searched for its size in pixels. A JPEG may have a preview before it."""


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool that is offered to the model."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    """JSON Schema of the arguments; the API wants an object schema."""


def build_params(
    *,
    model: str,
    system: str,
    system_end: str = "",
    messages: Sequence[Message],
    tools: Sequence[ToolSpec],
    max_tokens: int,
    reasoning: Reasoning | None,
    cache_ttl: CacheTtl | None = None,
) -> Json:
    """The keyword arguments for `client.messages.create`, without `stream`.

    Tools are sorted by name, and the system prompt, the last tool and the ends of this and of the previous request
    carry a cache marker, so each request starts with the cached part of the request before. `system_end` is a block of
    its own after the marker of `system`, so that other runs can share the cache of all before it. Empty texts, messages
    without other content, and thinking without a signature (its reply broke off) are left out: the API would refuse
    them. `max_tokens` grows if a thinking budget would leave no room for an answer. Without `reasoning` the model's own
    default holds. `cache_ttl`: how long the provider keeps what the markers end; None: 5 minutes.
    """
    mark: Json = {"cache_control": {"type": "ephemeral", **({"ttl": "1h"} if cache_ttl == "1h" else {})}}
    side = CROWD_SIDE if _count_images(messages) > CROWD else SIDE_LIMIT
    params: Json = {"model": model, "max_tokens": max_tokens, "messages": _messages(messages, side, mark)}
    if system:
        params["system"] = [{"type": "text", "text": system, **mark}]
        if system_end:
            params["system"].append({"type": "text", "text": system_end})
    if tools:
        params["tools"] = [_tool(tool) for tool in sorted(tools, key=lambda tool: tool.name)]
        params["tools"][-1] |= mark
    if reasoning is not None:
        params.update(thinking_levels.request_fields(model, reasoning, max_tokens))
    return params


def blocks_from_worker(content: Sequence[Mapping[str, Any]]) -> tuple[Block, ...]:
    """The blocks of a reply as the model worker sends them; `agent.cassette.reply_lines` has checked them."""
    return tuple(_block(block) for block in content)


def _block(block: Mapping[str, Any]) -> Block:
    if block["type"] == "text":
        return Text(block["text"])
    if block["type"] == "thinking":
        return Thinking(block.get("text", ""), block.get("signature", ""), block.get("redacted", ""))
    return ToolCall(block["id"], block["name"], block["args"].encode())


def _tool(tool: ToolSpec) -> Json:
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.input_schema)}


def _count_images(messages: Sequence[Message]) -> int:
    count = 0
    for message in messages:
        for block in message.content:
            parts = block.content if isinstance(block, ToolResult) else (block,)
            count += sum(isinstance(part, Image) for part in parts)
    return count


def _messages(messages: Sequence[Message], side: int, mark: Json) -> list[Json]:
    params: list[Json] = []
    for message in messages:
        content = [param for block in message.content if (param := _block_param(block, side)) is not None]
        if content:
            role = "assistant" if message.role == "assistant" else "user"
            params.append({"role": role, "content": content})
    for end in _ends(params):
        end["content"][-1] |= mark
    return params


def _ends(params: Sequence[Json]) -> list[Json]:
    """The last user-role message, and the one with which the request before ended. The latter needs a marker, too: from
    a marker the provider looks back over 20 blocks only, and a turn with many tool calls adds more."""
    users = [at for at, message in enumerate(params) if message["role"] == "user"]
    reply = max((at for at, message in enumerate(params) if message["role"] == "assistant"), default=0)
    before = [at for at in users if at < reply]
    return [params[at] for at in {*users[-1:], *before[-1:]}]


def _block_param(block: Block, side: int) -> Json | None:
    """The block as the API takes it; None if the API would refuse it. `side`: maximum pixels of an image's side."""
    match block:
        case Text(text):
            return {"type": "text", "text": text} if text else None
        case Image(mime_type, data) if unfit := _unfit_image(mime_type, data, side):
            return {"type": "text", "text": unfit}
        case Image(mime_type, data):
            return {"type": "image", "source": {"type": "base64", "media_type": mime_type, "data": data}}
        case Thinking(redacted=data) if data:
            return {"type": "redacted_thinking", "data": data}
        case Thinking(text, signature):
            return {"type": "thinking", "thinking": text, "signature": signature} if signature else None
        case ToolCall(call_id, name, args):
            return {"type": "tool_use", "id": call_id, "name": name, "input": _tool_input(args)}
        case ToolResult():
            return _tool_result(block, side)


def _unfit_image(mime_type: str, data: str, side: int) -> str:
    """The text in place of an image that could not be scaled and that the API would refuse; "" for an image that it
    takes."""
    if mime_type not in IMAGE_TYPES:
        return f"[an image of type {mime_type[:40]!r}, which models do not take: {', '.join(sorted(IMAGE_TYPES))}]"
    if not data:
        return "[an empty image]"
    if len(data) > BASE64_LIMIT:
        return f"[an image of {len(data) * 3 // 4} bytes, which is more than models take: {BYTES_LIMIT}]"
    size = _pixels(data)
    if size is not None and max(size) > side:
        return f"[an image of {pixels_text(size)}, whose sides are longer than models take here: {side}]"
    return ""


def _pixels(data: str) -> Pixels | None:
    try:
        return pixels(binascii.a2b_base64(data[:HEADER_CHARACTERS]))
    except (binascii.Error, ValueError):
        return None


def _tool_result(result: ToolResult, side: int) -> Json:
    param: Json = {"type": "tool_result", "tool_use_id": result.call_id}
    content = [part for block in result.content if (part := _block_param(block, side)) is not None]
    if content:
        param["content"] = content
    if result.is_error:
        param["is_error"] = True
    return param


def _tool_input(args: bytes) -> Json:
    """The arguments as an object. All others become `{}`, because the API takes only objects, and so do arguments
    nested deeper than `ARGUMENTS_DEPTH`, because encoders refuse them.

    The result of such a call is an error that quotes the model's text.
    """
    try:
        value = orjson.loads(args)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) and not is_deeper(value, ARGUMENTS_DEPTH) else {}
