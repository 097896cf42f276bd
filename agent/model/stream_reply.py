"""Builds one reply of the model from the events of its stream. Pure.

The model worker imports this file and must start fast, so it imports the standard library only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Line = dict[str, Any]
"""A line of the worker's output, still without the id of its request."""


@dataclass
class _Block:
    type: str
    id: str = ""
    name: str = ""
    redacted: str = ""
    signature: str = ""
    parts: list[str] = field(default_factory=list)
    input: Any = None
    """The complete arguments, which some servers send at the start of the block."""

    def line(self) -> Line:
        text = "".join(self.parts)
        if self.type == "text":
            return {"type": "text", "text": text}
        if self.type == "tool_use":
            return {"type": "tool_call", "id": self.id, "name": self.name, "args": text or "{}"}
        if self.type == "redacted_thinking":
            return {"type": "thinking", "redacted": self.redacted}
        return {"type": "thinking", "text": text, "signature": self.signature}


class StreamedReply:
    """One reply, built from the events of its stream. Events and blocks of unknown types are ignored."""

    def __init__(self) -> None:
        self.usage = {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0}
        self.stop_reason: str | None = None
        self.started = False
        self.ended = False
        """Whether the stream has said that the reply ends. A stream that stops without this is cut off."""
        self._blocks: dict[int, _Block] = {}

    def content(self) -> list[Line]:
        """The blocks so far, in the order of their starts. The last one may be incomplete until `ended`."""
        return [block.line() for block in self._blocks.values()]

    def feed(self, event: Mapping[str, Any]) -> Iterator[Line]:
        """Takes the next event and yields the lines for it. Raises LookupError, TypeError, AttributeError or ValueError
        when an event of a known type has a wrong form."""
        match event["type"]:
            case "message_start":
                self.started = True
                self._count(event["message"].get("usage") or {})
                yield {"type": "message_start", "usage": dict(self.usage)}
            case "content_block_start":
                yield from self._open(event["index"], event["content_block"])
            case "content_block_delta":
                block = self._blocks.get(event["index"])
                if block is not None:
                    yield from _extend(block, event["delta"])
            case "content_block_stop":
                block = self._blocks.get(event["index"])
                if block is not None:
                    yield from _close(block)
            case "message_delta":
                self.stop_reason = event["delta"].get("stop_reason") or self.stop_reason
                self._count(event.get("usage") or {})
            case "message_stop":
                self.ended = True

    def _open(self, index: int, start: Mapping[str, Any]) -> Iterator[Line]:
        match start["type"]:
            case "text":
                self._blocks[index] = block = _Block("text")
                yield from _extend(block, {"type": "text_delta", "text": start.get("text", "")})
            case "thinking":
                self._blocks[index] = block = _Block("thinking", signature=start.get("signature") or "")
                yield from _extend(block, {"type": "thinking_delta", "thinking": start.get("thinking", "")})
            case "redacted_thinking":
                self._blocks[index] = _Block("redacted_thinking", redacted=start["data"])
            case "tool_use":
                block = _Block("tool_use", id=start["id"], name=start["name"], input=start.get("input"))
                self._blocks[index] = block
                yield {"type": "tool_use_start", "call_id": block.id, "name": block.name}

    def _count(self, usage: Mapping[str, Any]) -> None:
        for ours, theirs in (
            ("input", "input_tokens"),
            ("output", "output_tokens"),
            ("cache_read", "cache_read_input_tokens"),
            ("cache_write", "cache_creation_input_tokens"),
        ):
            self.usage[ours] = int(usage.get(theirs) or 0) or self.usage[ours]


def _extend(block: _Block, delta: Mapping[str, Any]) -> Iterator[Line]:
    match block.type, delta["type"]:
        case "text", "text_delta":
            yield from _append(block, delta["text"], {"type": "text_delta"})
        case "thinking", "thinking_delta":
            yield from _append(block, delta["thinking"], {"type": "thinking_delta"})
        case "thinking", "signature_delta":
            block.signature += delta["signature"]
        case "tool_use", "input_json_delta":
            yield from _append(block, delta["partial_json"], {"type": "tool_use_args", "call_id": block.id})


def _append(block: _Block, text: str, line: Line) -> Iterator[Line]:
    if text:
        block.parts.append(text)
        yield {**line, "delta": text}


def _close(block: _Block) -> Iterator[Line]:
    if block.type == "tool_use":
        if not block.parts and block.input:
            yield from _extend(block, {"type": "input_json_delta", "partial_json": json.dumps(block.input)})
        yield {"type": "tool_use_end", "call_id": block.id}
