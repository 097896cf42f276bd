"""A conversation for a reader: who said, called and answered what, in order. It is made once, from a session here or
from the events of a run, and rendered as HTML, as Markdown, or for a terminal. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agent.sessions.export.labels import compaction_text
from agent.transcript import Image, Role, Text, Thinking, ToolCall, ToolResult

if TYPE_CHECKING:
    from agent.sessions.reading.history import History


class ResultPart(msgspec.Struct):
    content: tuple[Text | Image, ...]
    is_error: bool = False
    tool: str = ""
    """The name of the tool; "" if its call is missing."""
    has_call: bool = False
    """Whether its call comes before it."""


class CallPart(msgspec.Struct):
    name: str
    args: bytes
    result: ResultPart | None = None


class NotePart(msgspec.Struct):
    """Something beside the conversation: a retry, an error, a part that is left out."""

    text: str
    is_bad: bool = False


Part = Text | Image | Thinking | CallPart | ResultPart | NotePart


class ConversationEntry(msgspec.Struct):
    """A message of a session, or a turn of a run."""

    role: Role
    parts: list[Part]
    number: int = 0
    """Counted from 1; 0 without a number."""
    time: str = ""


class SummaryEntry(msgspec.Struct):
    """A compaction: from here on a summary replaces the earlier messages."""

    title: str
    texts: list[str]


def conversation_of(history: History) -> list[ConversationEntry | SummaryEntry]:
    """The messages of a session, and where it was compacted. The result of a call is the first one of its id in a later
    message."""
    calls = (block for message in history.messages for block in message.content if isinstance(block, ToolCall))
    tools = {call.id: call.name for call in calls}
    waiting: dict[str, tuple[int, CallPart]] = {}
    steps: list[ConversationEntry | SummaryEntry] = []
    for step in history.steps():
        if not isinstance(step, tuple):
            first = step.messages[0].content if step.messages else ()
            texts = [block.text for block in first if isinstance(block, Text)]
            steps.append(SummaryEntry(compaction_text(step), texts))
            continue
        number, message = step
        entry = ConversationEntry(message.role, [], number, message.time)
        steps.append(entry)
        for block in message.content:
            match block:
                case ToolCall(id_, name, args):
                    call = CallPart(name, args)
                    waiting.setdefault(id_, (number, call))
                    entry.parts.append(call)
                case ToolResult(id_, content, is_error):
                    result = ResultPart(content, is_error, tools.get(id_, ""))
                    at, asked = waiting.pop(id_, (number, None))
                    if asked is not None and at < number:
                        asked.result, result.has_call = result, True
                    entry.parts.append(result)
                case _:
                    entry.parts.append(block)
    return steps
