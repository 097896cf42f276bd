"""Builds one reply of the model from the events of its stream, checks every field, and bounds its size. Pure.

The model worker imports this file and must start fast, so it imports neighbours and the standard library only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent.model.failure import reply_too_large
from agent.model.worker import event_fields
from agent.model.worker.event_fields import invalid_reply

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Line = dict[str, Any]
"""A line of the worker's output, still without the id of its request."""

REPLY_CHARACTERS = 8 * 1024 * 1024
"""Maximum of the texts, thinking, signatures and arguments of one reply: a dozen times the longest replies."""
REPLY_BLOCKS = 4_000
REPLY_CALLS = 1_000
REPLY_EVENTS = 500_000
NAMES = (("reply_id", "id"), ("model", "model"))
"""Our members and the server's for the names of a reply. No reply fails for a name that is none."""


@dataclass
class _Block:
    type: str
    path: str
    """`content[0].` for the first block."""
    id: str = ""
    name: str = ""
    redacted: str = ""
    parts: list[str] = field(default_factory=list)
    signature: list[str] = field(default_factory=list)
    input: Line = field(default_factory=dict)
    """The complete arguments, which some servers send at the start of the block."""
    is_open: bool = True

    def line(self) -> Line:
        text = "".join(self.parts)
        if self.type == "text":
            return {"type": "text", "text": text}
        if self.type == "tool_use":
            return {"type": "tool_call", "id": self.id, "name": self.name, "args": text or "{}"}
        if self.type == "redacted_thinking":
            return {"type": "thinking", "redacted": self.redacted}
        return {"type": "thinking", "text": text, "signature": "".join(self.signature)}


class StreamedReply:
    """One reply, built from the events of its stream. Events, blocks and deltas of unknown types are ignored. A wrong
    field, an event out of order, and a reply beyond the bounds raise ModelError; what came before stays readable."""

    def __init__(self) -> None:
        self.usage = {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0}
        """The counts so far; with `reasoning` once the provider has counted it, and with `cache_write_1h`, a part of
        `cache_write`, if it is more than 0."""
        self.stop_reason: str | None = None
        self.started = False
        self.ended = False
        """Whether the stream has ended the reply. Without this, a stream that stops was cut off."""
        self._blocks: dict[int, _Block | None] = {}
        """The blocks by index; None for a block of an unknown type."""
        self._call_ids: set[str] = set()
        self._characters = 0
        self._events = 0

    def content(self) -> list[Line]:
        """The blocks so far, in the order of their starts. The last one may be incomplete until `ended`."""
        return [block.line() for block in self._blocks.values() if block is not None]

    def feed(self, event: Mapping[str, Any]) -> Iterator[Line]:
        """Takes the next event and yields the lines for it. Raises ModelError."""
        self._events += 1
        if self._events > REPLY_EVENTS:
            raise reply_too_large(f"{REPLY_EVENTS} events")
        match event_fields.text(event, "type", ""):
            case "message_start":
                yield from self._start(event)
            case "content_block_start":
                yield from self._open(event)
            case "content_block_delta":
                yield from self._extend(event)
            case "content_block_stop":
                yield from self._close(self._blocks.get(event_fields.position(event, "index")))
            case "message_delta":
                delta = event_fields.fields(event, "delta", "")
                if delta.get("stop_reason") is not None:
                    self.stop_reason = event_fields.short_name(delta, "stop_reason", "")
                self._count(event, "")
            case "message_stop":
                yield from self._end()

    def _start(self, event: Mapping[str, Any]) -> Iterator[Line]:
        if self.started:
            raise invalid_reply("message_start comes twice")
        self.started = True
        message = event_fields.fields(event, "message", "")
        self._count(message, "message.")
        given = {ours: message.get(theirs) for ours, theirs in NAMES}
        names = {ours: name[: event_fields.NAME_LENGTH] for ours, name in given.items() if isinstance(name, str)}
        yield {"type": "message_start", "usage": dict(self.usage), **names}

    def _end(self) -> Iterator[Line]:
        if self.stop_reason is None:
            raise invalid_reply("stop_reason must be text, not null")
        for block in self._blocks.values():
            yield from self._close(block)
        self.ended = True

    def _open(self, event: Mapping[str, Any]) -> Iterator[Line]:
        index = event_fields.position(event, "index")
        path = f"content[{index}]"
        if index in self._blocks:
            raise invalid_reply(f"{path} starts twice")
        if len(self._blocks) >= REPLY_BLOCKS:
            raise reply_too_large(f"{REPLY_BLOCKS} blocks")
        path += "."
        start = event_fields.fields(event, "content_block", path)
        block = _Block(event_fields.text(start, "type", path), path)
        match block.type:
            case "text":
                text = event_fields.text_or_nothing(start, "text", path)
                yield from self._append(block.parts, text, {"type": "text_delta"})
            case "thinking":
                block.signature.append(self._check_length(event_fields.text_or_nothing(start, "signature", path)))
                thought = event_fields.text_or_nothing(start, "thinking", path)
                yield from self._append(block.parts, thought, {"type": "thinking_delta"})
            case "redacted_thinking":
                block.redacted = self._check_length(event_fields.text(start, "data", path))
            case "tool_use":
                block.id = event_fields.short_name(start, "id", path)
                block.name = event_fields.short_name(start, "name", path)
                block.input = event_fields.fields_or_nothing(start, "input", path)
                if block.id in self._call_ids:
                    raise invalid_reply(f"{path}id {json.dumps(block.id)} is that of another call")
                if len(self._call_ids) >= REPLY_CALLS:
                    raise reply_too_large(f"{REPLY_CALLS} tool calls")
                self._call_ids.add(block.id)
                yield {"type": "tool_use_start", "call_id": block.id, "name": block.name}
            case _:
                self._blocks[index] = None
                return
        self._blocks[index] = block

    def _extend(self, event: Mapping[str, Any]) -> Iterator[Line]:
        index = event_fields.position(event, "index")
        if index not in self._blocks:
            raise invalid_reply(f"content[{index}] has a delta before its start")
        block = self._blocks[index]
        if block is None:
            return
        if not block.is_open:
            raise invalid_reply(f"content[{index}] has a delta after its end")
        delta, path = event_fields.fields(event, "delta", block.path), f"{block.path}delta."
        match block.type, event_fields.text(delta, "type", path):
            case "text", "text_delta":
                yield from self._append(block.parts, event_fields.text(delta, "text", path), {"type": "text_delta"})
            case "thinking", "thinking_delta":
                thought = event_fields.text(delta, "thinking", path)
                yield from self._append(block.parts, thought, {"type": "thinking_delta"})
            case "thinking", "signature_delta":
                block.signature.append(self._check_length(event_fields.text(delta, "signature", path)))
            case "tool_use", "input_json_delta":
                yield from self._append_arguments(block, event_fields.text(delta, "partial_json", path))

    def _close(self, block: _Block | None) -> Iterator[Line]:
        if block is None or not block.is_open:
            return
        if block.type == "tool_use":
            if not block.parts and block.input:
                try:
                    arguments = json.dumps(block.input)
                except RecursionError:
                    raise invalid_reply(f"{block.path}input is nested too deeply") from None
                yield from self._append_arguments(block, arguments)
            yield {"type": "tool_use_end", "call_id": block.id}
        block.is_open = False

    def _append_arguments(self, block: _Block, text: str) -> Iterator[Line]:
        return self._append(block.parts, text, {"type": "tool_use_args", "call_id": block.id})

    def _append(self, parts: list[str], text: str, line: Line) -> Iterator[Line]:
        if text:
            parts.append(self._check_length(text))
            yield {**line, "delta": text}

    def _check_length(self, text: str) -> str:
        self._characters += len(text)
        if self._characters > REPLY_CHARACTERS:
            raise reply_too_large(f"{REPLY_CHARACTERS} characters")
        return text

    def _count(self, owner: Mapping[str, Any], path: str) -> None:
        usage, path = event_fields.fields_or_nothing(owner, "usage", path), f"{path}usage."
        for ours, theirs in (
            ("input", "input_tokens"),
            ("output", "output_tokens"),
            ("cache_read", "cache_read_input_tokens"),
            ("cache_write", "cache_creation_input_tokens"),
        ):
            self.usage[ours] = event_fields.tokens(usage, theirs, path) or self.usage[ours]
        for ours, owner_of_parts, theirs, least in (
            ("reasoning", "output_tokens_details", "thinking_tokens", 0),
            ("cache_write_1h", "cache_creation", "ephemeral_1h_input_tokens", 1),
        ):
            parts = usage.get(owner_of_parts)
            part = parts.get(theirs) if isinstance(parts, dict) else None
            if type(part) is int and least <= part <= event_fields.MOST_TOKENS:  # no reply fails for a part of a count
                self.usage[ours] = part
