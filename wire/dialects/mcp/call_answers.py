"""Answers to calls and commands as neutral messages. Pure.

Most answers are text and short. Those are decoded in one pass, straight into neutral messages; all others in two, first
the message and then its result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from wire import frames
from wire.dialects.long_lines import SHORT
from wire.dialects.mcp import prompts, results
from wire.dialects.mcp.limits import TooLongError, call_result, value_of_page
from wire.dialects.mcp.protocol import CALL_TOOL, GET_PROMPT
from wire.lenient_json import UNREADABLE, reason

if TYPE_CHECKING:
    from wire.dialects.jsonrpc import Incoming
    from wire.dialects.mcp.results import NextRound
    from wire.framing import Line

_value = msgspec.json.Decoder().decode
ERROR_LIMIT = 256 * 1024
"""Bytes of an error."""


class _PlainResult(msgspec.Struct):
    content: list[frames.ContentBlock]
    isError: bool | None = None  # noqa: N815
    resultType: Literal["complete"] | None = None  # noqa: N815


class PlainAnswer(msgspec.Struct):
    """An answer to a call, as most servers write it. Other members of blocks may be there and do not count."""

    id: int
    result: _PlainResult
    method: UnsetType = UNSET
    error: UnsetType = UNSET


_plain = msgspec.json.Decoder(PlainAnswer).decode
_WITHIN = 80
"""Bytes of an answer in which its content begins, if nothing unusual comes before it."""


def plain_answer(line: Line) -> PlainAnswer | None:
    """The answer in a line, if it is a short one of nothing but texts."""
    if line.find(b'"content":', 0, _WITHIN) < 0 or len(line) > SHORT:
        return None
    try:
        answer = _plain(line)
    except UNREADABLE:
        return None
    for block in answer.result.content:
        if block.type != "text" or not block.text or block.data is not None or block.mime_type is not None:
            return None
    return answer if answer.result.content else None


def value_of(text: bytes) -> Any:
    """The value of an error, or a text in its place if it cannot be read."""
    if len(text) > ERROR_LIMIT:
        return f"an error of {len(text)} bytes"
    try:
        return _value(text)
    except UNREADABLE as error:
        return f"an error that cannot be read: {reason(error)}"


def tool_result(call_id: str, message: Incoming) -> frames.ToolResult | frames.Malformed | NextRound:
    """What the answer to a `tools/call` says."""
    if failure := message.failure:
        return results.error_result(call_id, value_of(failure))
    if message.result is UNSET:
        return frames.Malformed("the answer to tools/call has no result", CALL_TOOL, call_id)
    try:
        result = call_result(message.result)
    except TooLongError as error:
        return frames.Malformed(str(error), CALL_TOOL, call_id)
    except UNREADABLE as error:
        return frames.Malformed(f"bad result of tools/call: {reason(error)}", CALL_TOOL, call_id)
    return results.next_round(result) or results.tool_result(call_id, result)


def command_response(call_id: str, message: Incoming) -> frames.CommandResponse | frames.Malformed | NextRound:
    """What the answer to a `prompts/get` says."""
    if failure := message.failure:
        return prompts.error_response(call_id, value_of(failure))
    if message.result is UNSET:
        return frames.Malformed("the answer to prompts/get has no result", GET_PROMPT, call_id)
    try:
        result = value_of_page("a prompt", message.result)
    except TooLongError as error:
        return frames.Malformed(str(error), GET_PROMPT, call_id)
    except UNREADABLE as error:
        return frames.Malformed(f"bad result of prompts/get: {reason(error)}", GET_PROMPT, call_id)
    return results.next_round(result) or prompts.response(call_id, result)
