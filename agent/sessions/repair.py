"""Repairs a transcript so that the model's API takes it. Pure.

The API refuses a tool call without a result in the very next message, a result without its call, and a conversation
that does not begin with the user. Such transcripts come from a program that was killed between a call and its result,
and from edited files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.transcript import Image, Message, Text, Thinking, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.transcript import Block

UNANSWERED = "no result: the run ended before this call was carried out, or while it was"
BEGINNING = "[The beginning of this conversation is missing.]"
BLOCKS: dict[str, tuple[type, ...]] = {
    "user": (Text, Image),
    "assistant": (Text, Thinking, ToolCall),
    "tool": (ToolResult,),
}
"""The blocks that messages of each role may hold."""


def repair_messages(messages: Sequence[Message]) -> tuple[list[Message], int]:
    """The messages as the API takes them, and how many were changed, added or left out. A valid transcript is returned
    unchanged."""
    found: list[Message] = []
    changes = 0
    for message in messages:
        waiting = _calls(found[-1]) if found else []
        if waiting and message.role != "tool":
            found.append(_stubs(waiting, found[-1].time))
            changes += 1
            waiting = []
        fit = _fit(message, waiting)
        if fit is not message:
            changes += 1
        if fit is None:
            continue
        if not found and fit.role != "user":
            found.append(Message("user", (Text(BEGINNING),), fit.time))
            changes += 1
        found.append(fit)
    if found and (waiting := _calls(found[-1])):
        found.append(_stubs(waiting, found[-1].time))
        changes += 1
    return found, changes


def missing_results(before: Sequence[Message], messages: Sequence[Message]) -> tuple[Message, ...]:
    """The results that `repair_messages` has added after the last message of `before`, and that its file lacks."""
    is_answered = bool(before) and len(messages) > 1 and messages[-2] is before[-1]
    return (messages[-1],) if is_answered else ()


def _calls(message: Message) -> list[str]:
    """The ids of the calls of a message, each once."""
    return list(dict.fromkeys(block.id for block in message.content if isinstance(block, ToolCall)))


def _stubs(calls: Sequence[str], time: str) -> Message:
    return Message("tool", tuple(_stub(call) for call in calls), time)


def _stub(call: str) -> ToolResult:
    return ToolResult(call, (Text(UNANSWERED),), is_error=True)


def _fit(message: Message, waiting: Sequence[str]) -> Message | None:
    """The message with its valid blocks; None if no block is left. `waiting`: call ids of the message before."""
    kept: list[Block] = []
    seen: set[str] = set()
    for block in message.content:
        if not isinstance(block, BLOCKS[message.role]):
            continue
        if isinstance(block, ToolResult):
            if block.call_id not in waiting or block.call_id in seen:
                continue
            seen.add(block.call_id)
        elif isinstance(block, ToolCall):
            if block.id in seen:
                continue
            seen.add(block.id)
        kept.append(block)
    if message.role == "tool":
        kept += [_stub(call) for call in waiting if call not in seen]
    if not kept:
        return None
    return (
        message
        if len(kept) == len(message.content)
        and all(left is right for left, right in zip(kept, message.content, strict=True))
        else replace(message, content=tuple(kept))
    )
