"""Answers to calls and commands as neutral messages. Pure.

Most answers are short texts. They are decoded in one pass into neutral messages; all others in two, first the message
and then its result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wire import frames
from wire.dialects.long_lines import SHORT, STRINGS_LIMIT, count_strings
from wire.dialects.mcp import prompts, results
from wire.dialects.mcp.limits import TooLongError, value_of_page
from wire.dialects.mcp.protocol import CALL_TOOL, GET_PROMPT
from wire.lenient_json import UNREADABLE, reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from wire.dialects.jsonrpc import Incoming
    from wire.dialects.mcp.results import NextRound
    from wire.framing import Line

_value = msgspec.json.Decoder().decode
F = TypeVar("F", frames.ToolResult, frames.CommandResponse)
ERROR_LIMIT = 256 * 1024
"""Maximum size of an error in bytes."""


class _PlainResult(msgspec.Struct):
    content: list[frames.ContentBlock]
    isError: bool | None = None  # noqa: N815
    resultType: Literal["complete"] | None = None  # noqa: N815


class PlainAnswer(msgspec.Struct):
    """An answer to a call in the usual form. Blocks may have other members, which are ignored."""

    id: int
    result: _PlainResult
    method: UnsetType = UNSET
    error: UnsetType = UNSET


_plain = msgspec.json.Decoder(PlainAnswer).decode
_WITHIN = 80
"""Number of first bytes in which the content of a usual answer begins."""


def plain_answer(line: Line) -> PlainAnswer | None:
    """Returns the answer in a line if it is short and has only texts; else None."""
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
    """Returns the value of an error, or a text instead if it cannot be read."""
    if len(text) > ERROR_LIMIT:
        return f"an error of {len(text)} bytes"
    try:
        return _value(text)
    except UNREADABLE as error:
        return f"an error that cannot be read: {reason(error)}"


def tool_result(call_id: str, message: Incoming) -> frames.ToolResult | frames.Malformed | NextRound:
    """Returns the result in an answer to `tools/call`."""
    return _read(CALL_TOOL, call_id, message, results.error_result, _call_result, results.tool_result)


def command_response(call_id: str, message: Incoming) -> frames.CommandResponse | frames.Malformed | NextRound:
    """Returns the response in an answer to `prompts/get`."""
    return _read(GET_PROMPT, call_id, message, prompts.error_response, _prompt_result, prompts.response)


def _read(
    method: str,
    call_id: str,
    message: Incoming,
    refused: Callable[[str, Any], F],
    decoded: Callable[[Raw], Any],
    answered: Callable[[str, Any], F | frames.Malformed],
) -> F | frames.Malformed | NextRound:
    if failure := message.failure:
        return refused(call_id, value_of(failure))
    if message.result is UNSET:
        return frames.Malformed(f"the answer to {method} has no result", method, call_id)
    try:
        result = decoded(message.result)
    except TooLongError as error:
        return frames.Malformed(str(error), method, call_id)
    except UNREADABLE as error:
        return frames.Malformed(f"bad result of {method}: {reason(error)}", method, call_id)
    return results.next_round(result) or answered(call_id, result)


def _prompt_result(text: Raw) -> Any:
    return value_of_page("a prompt", text)


# --- long results -------------------------------------------------------------------------------------------


class _Resource(msgspec.Struct, omit_defaults=True):
    uri: str | None = None
    mimeType: str | None = None  # noqa: N815
    text: str | None = None
    blob: str | UnsetType = UNSET


class _Block(msgspec.Struct, omit_defaults=True):
    """The members of content blocks that reach the model."""

    type: str
    text: str | None = None
    data: str | None = None
    mimeType: str | None = None  # noqa: N815
    resource: _Resource | None = None
    uri: str | None = None
    name: str | None = None


class _Result(msgspec.Struct):
    content: Raw | UnsetType = UNSET
    structuredContent: Raw | UnsetType = UNSET  # noqa: N815
    isError: Raw | UnsetType = UNSET  # noqa: N815
    resultType: Raw | UnsetType = UNSET  # noqa: N815
    requestState: Raw | UnsetType = UNSET  # noqa: N815
    inputRequests: Raw | UnsetType = UNSET  # noqa: N815


_result = msgspec.json.Decoder(_Result).decode
_blocks = msgspec.json.Decoder(list[_Block]).decode


def _call_result(text: Raw) -> Any:
    """Returns the value of the result of a `tools/call`. `structuredContent` stays JSON text. Only the known members of
    long content are read. Raises `TooLongError` and `wire.lenient_json.UNREADABLE`."""
    if bytes(memoryview(text)[:1]) != b"{":
        return _value_of_short("the result", text)
    read = _result(text)
    members = {
        name: _value_of_short(name, value)
        for name, value in (
            ("isError", read.isError),
            ("resultType", read.resultType),
            ("requestState", read.requestState),
            ("inputRequests", read.inputRequests),
        )
        if value is not UNSET
    }
    if read.structuredContent is not UNSET and bytes(memoryview(read.structuredContent)[:4]) != b"null":
        members["structuredContent"] = read.structuredContent
    if read.content is not UNSET:
        members["content"] = _content(memoryview(read.content))
    return members


def _value_of_short(name: str, text: Raw) -> Any:
    """Returns the value of a member: a string of any length, or another value of at most `SHORT` bytes. Raises
    `TooLongError` and `wire.lenient_json.UNREADABLE`."""
    written = memoryview(text)
    if len(written) > SHORT and bytes(written[:1]) != b'"':
        raise TooLongError(f"{name} of {len(written)} bytes is over the limit of {SHORT} bytes")
    return _value(written)


def _content(text: memoryview) -> Any:
    if len(text) <= SHORT:
        return _value(text)
    written = bytes(text)
    if (count := count_strings(written)) > STRINGS_LIMIT:
        raise TooLongError(
            f"content of {len(written)} bytes has about {count} strings, at most {STRINGS_LIMIT} are read"
        )
    return msgspec.to_builtins(_blocks(written))
