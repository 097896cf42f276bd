"""Checks the lines of a reply, as the model worker writes them and cassettes keep them."""

from __future__ import annotations

from typing import Any

import msgspec

from agent.model.request import blocks_from_worker

Counts = dict[str, int]


class _MessageStart(msgspec.Struct, tag="message_start"):
    usage: Counts


class _TextDelta(msgspec.Struct, tag="text_delta"):
    delta: str


class _ThinkingDelta(msgspec.Struct, tag="thinking_delta"):
    delta: str


class _ToolUseStart(msgspec.Struct, tag="tool_use_start"):
    call_id: str
    name: str


class _ToolUseArgs(msgspec.Struct, tag="tool_use_args"):
    call_id: str
    delta: str


class _ToolUseEnd(msgspec.Struct, tag="tool_use_end"):
    call_id: str


class _Final(msgspec.Struct, tag="final"):
    content: list[dict[str, Any]]
    stop_reason: str
    usage: Counts


class _Error(msgspec.Struct, tag="error"):
    kind: str
    message: str
    content: list[dict[str, Any]] = []
    usage: Counts = {}


_AnyLine = _MessageStart | _TextDelta | _ThinkingDelta | _ToolUseStart | _ToolUseArgs | _ToolUseEnd | _Final | _Error


def problem_of(line: dict[str, Any]) -> str | None:
    """The fault of a line of a cassette, as text; None if the line is valid."""
    try:
        checked: _AnyLine = msgspec.convert(line, type=_AnyLine)
        if isinstance(checked, _Final | _Error):
            blocks_from_worker(checked.content)
    except ValueError as error:  # also msgspec's own error
        return str(error)
    return None
