"""Finds a text in sessions: in messages, in the arguments of tools and in their results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import msgspec

from agent.sessions.reading.arguments import texts_in
from agent.sessions.reading.history import rows_of
from agent.transcript import Message, Role, Text, ToolCall, ToolResult, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent.transcript import Block

AROUND = 40
"""Maximum of characters of a snippet on each side of the match."""
MATCH_SHOWN = 80
"""Maximum of characters of a match in its snippet."""

Part = Literal["text", "arguments", "result"]


class Hit(msgspec.Struct, frozen=True):
    """A block in which the text occurs."""

    message: int
    """Counted from 1."""
    role: Role
    part: Part
    tool: str
    """The name of the tool of arguments or results; "" if unknown."""
    snippet: str
    """The first match with some text around it; it may have line breaks and control characters."""
    matches: int


def pattern_of(text: str, *, is_regex: bool, ignore_case: bool) -> re.Pattern[str]:
    """The pattern to look for. Raises `re.error` for a faulty regular expression."""
    return re.compile(text if is_regex else re.escape(text), re.MULTILINE | (re.IGNORECASE if ignore_case else 0))


def search(path: Path, pattern: re.Pattern[str]) -> Iterator[Hit]:
    """Every block of the session in which the pattern matches, in order. Raises `SessionError`."""
    tools: dict[str, str] = {}
    number = 0
    for _, row in rows_of(path):
        if not isinstance(row, Message) or not row.content:
            continue
        number += 1
        for block in row.content:
            if isinstance(block, ToolCall):
                tools[block.id] = block.name
            part, tool, text = _search_text(block, tools)
            found = [match for match in pattern.finditer(text) if match[0]]
            if found:
                yield Hit(number, row.role, part, tool, _snippet(text, found[0]), len(found))


def _search_text(block: Block, tools: dict[str, str]) -> tuple[Part, str, str]:
    match block:
        case Text(text):
            return "text", "", text
        case ToolCall(_, name, args):
            return "arguments", name, texts_in(args)
        case ToolResult(call_id, content):
            return "result", tools.get(call_id, ""), text_of(content)
        case _:
            return "text", "", ""


def _snippet(text: str, match: re.Match[str]) -> str:
    start, end = max(0, match.start() - AROUND), min(match.end(), match.start() + MATCH_SHOWN) + AROUND
    return ("… " if start else "") + text[start:end].strip() + (" …" if end < len(text) else "")
