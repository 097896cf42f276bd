"""Results of the tools and commands of an extension, as neutral messages. Pure.

Most results are decoded in one pass, with the message around them; all others in two, to name the fault.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wire import frames
from wire.dialects.json_values import kind_of, string, text_of
from wire.dialects.long_lines import SHORT, STRINGS_LIMIT, count_strings
from wire.frames import BLOCKS_LIMIT, ContentBlock
from wire.lenient_json import UNREADABLE, reason, repair
from wire.text import one_line

if TYPE_CHECKING:
    from wire.dialects.base import Message
    from wire.framing import Line

TOOL_ANSWER = "session.tools.handlePendingToolCall"
COMMAND_ANSWER = "session.commands.handlePendingCommand"
SUCCESS = "success"
IN_WORDS = {
    "failure": "the tool failed",
    "rejected": "the call was rejected",
    "denied": "the call was denied: permission is missing",
    "timeout": "the tool ran out of time",
}
"""The text for an unsuccessful result of each type that has neither a text nor an error."""
WORD_LIMIT = 80
"""Maximum length of a type in our texts, in characters."""
_ANSWER_TYPE = "tool_result"


class _Binary(msgspec.Struct):
    data: str
    mimeType: str  # noqa: N815
    type: str | None = None
    description: str | None = None


class _Result(msgspec.Struct):
    """The members of a result that have an effect. `contents` and `toolTelemetry` are for the Copilot CLI's display."""

    textResultForLlm: str  # noqa: N815
    resultType: str | None = None  # noqa: N815
    error: str | None = None
    sessionLog: str | None = None  # noqa: N815
    binaryResultsForLlm: list[_Binary] | None = None  # noqa: N815


class _UsualParams(msgspec.Struct):
    requestId: str  # noqa: N815
    result: str | _Result
    error: UnsetType = UNSET


class UsualAnswer(msgspec.Struct):
    """The answer to a call as the SDK writes it, with the request around it."""

    id: int
    method: Literal["session.tools.handlePendingToolCall"]
    params: _UsualParams


_usual = msgspec.json.Decoder(UsualAnswer).decode
WRITTEN_TOOL_ANSWER = TOOL_ANSWER.encode()
METHOD_WITHIN = 100
"""Number of first bytes that contain the method of a usual message."""


def usual_answer(line: Line) -> UsualAnswer | None:
    """Returns the answer to a call in a message of the usual form; None for any other message."""
    if len(line) > SHORT and count_strings(line) > STRINGS_LIMIT:
        return None
    try:
        return _usual(line)
    except UNREADABLE:
        return None


def usual_result(call_id: str, result: str | _Result) -> list[Message]:
    """Returns the messages of a usual answer."""
    if isinstance(result, str):
        return [frames.ToolResult(call_id, [ContentBlock("text", result)])]
    return _messages(call_id, result)


def value_result(call_id: str, value: Any) -> list[Message]:
    """Returns the messages of a decoded result. Raises `msgspec.ValidationError`."""
    return usual_result(call_id, msgspec.convert(value, str | _Result))


class AnswerParams(msgspec.Struct):
    """The parameters of an answer to a call or a command."""

    requestId: Any = None  # noqa: N815
    result: Raw | UnsetType = UNSET
    error: Any = None


_handled = msgspec.json.Decoder(AnswerParams).decode
_value = msgspec.json.Decoder().decode
_result = msgspec.json.Decoder(str | _Result).decode


def read_answer(params: Raw | UnsetType) -> AnswerParams | str:
    """Returns the parameters, or why they cannot be read."""
    try:
        return _handled(b"null" if params is UNSET else params)
    except UNREADABLE as error:
        return f"the parameters cannot be read: {reason(error)}"


def tool_result(call_id: str, said: AnswerParams) -> list[Message]:
    """Returns the messages of any answer to a call. An illegal result is `Malformed`."""
    if said.error is not None:
        return [_error(call_id, text_of(said.error) or IN_WORDS["failure"])]
    if said.result is UNSET:
        return [_malformed(call_id, "it has neither a result nor an error")]
    if count_strings(bytes(said.result)) > STRINGS_LIMIT:
        return [_malformed(call_id, f"it has more than {STRINGS_LIMIT} strings")]
    written = bytes(said.result)
    try:
        result = _result(written)
    except UNREADABLE as error:
        mended = repair(written)
        if mended is None:
            return [_malformed(call_id, _fault(written, error))]
        return tool_result(call_id, AnswerParams(call_id, Raw(mended)))
    return usual_result(call_id, result)


def _fault(written: bytes, error: Exception) -> str:
    try:
        value = _value(written)
    except UNREADABLE:
        return reason(error)
    if not isinstance(value, dict):
        return f"it is {kind_of(value)}, neither a string nor an object"
    return reason(error)


def _malformed(call_id: str, why: str) -> frames.Malformed:
    return frames.Malformed(f"the result of the tool cannot be used: {why}", _ANSWER_TYPE, call_id)


def _error(call_id: str, text: str) -> frames.ToolResult:
    return frames.ToolResult(call_id, [ContentBlock("text", text)], is_error=True)


def _messages(call_id: str, result: _Result) -> list[Message]:
    kind = result.resultType
    if kind is None:
        kind = "failure" if result.error else SUCCESS
    if kind != SUCCESS and kind not in IN_WORDS:
        legal = ", ".join([SUCCESS, *IN_WORDS])
        return [_malformed(call_id, f"its resultType is {one_line(kind, WORD_LIMIT)!r}, not one of {legal}")]
    text = result.textResultForLlm
    if kind != SUCCESS:
        text = text or result.error or IN_WORDS[kind]
    blocks = [ContentBlock("text", text)] if text or not result.binaryResultsForLlm else []
    for binary in result.binaryResultsForLlm or ():
        blocks += _binary(binary)
    if len(blocks) > BLOCKS_LIMIT:
        left_out = len(blocks) - BLOCKS_LIMIT + 1
        blocks[BLOCKS_LIMIT - 1 :] = [ContentBlock("text", f"[{left_out} more blocks left out]")]
    answer = frames.ToolResult(call_id, blocks, None if kind == SUCCESS else True)
    return [answer] if not result.sessionLog else [frames.Log(result.sessionLog), answer]


def _binary(binary: _Binary) -> list[ContentBlock]:
    said = (binary.description or "").strip()
    if binary.type == "image" or (binary.type is None and binary.mimeType.startswith("image/")):
        image = ContentBlock("image", mime_type=binary.mimeType, data=binary.data)
        return [ContentBlock("text", said), image] if said else [image]
    size = max(0, len(binary.data) * 3 // 4 - binary.data.count("=", -2)) if binary.data else 0
    kind = one_line(binary.mimeType, WORD_LIMIT) or "no named type"
    return [ContentBlock("text", f"[a file of type {kind}, {size:,} bytes]" + (f" {said}" if said else ""))]


# --- questions to the user, and commands --------------------------------------------------------------------


class _Question(msgspec.Struct):
    """The arguments of `ask_user`."""

    question: str
    choices: list[str] | None = None
    allow_freeform: bool | None = None


class _UserAnswer(msgspec.Struct):
    answer: str
    wasFreeform: bool | None = None  # noqa: N815


_question = msgspec.json.Decoder(_Question).decode
_user_answer = msgspec.json.Decoder(_UserAnswer).decode


def question(session_id: bytes, args: bytes) -> bytes:
    """Returns the parameters of `userInput.request`. Raises `ValueError`."""
    try:
        asked = _question(args)
    except UNREADABLE as error:
        raise ValueError(f"the arguments cannot be used: {reason(error)}") from None
    choices = b"" if asked.choices is None else b',"choices":%b' % msgspec.json.encode(asked.choices)
    freely = b"false" if asked.allow_freeform is False else b"true"
    text = msgspec.json.encode(asked.question)
    return b'{"sessionId":%b,"question":%b%b,"allowFreeform":%b}' % (session_id, text, choices, freely)


def user_answer(call_id: str, result: Raw | UnsetType, failure: bytes) -> Message:
    """Returns the result of `ask_user`."""
    if failure:
        return _error(call_id, error_message(failure))
    try:
        answer = _user_answer(b"null" if result is UNSET else result)
    except UNREADABLE as error:
        return _malformed(call_id, reason(error))
    return frames.ToolResult(call_id, [ContentBlock("text", answer.answer)])


def error_message(failure: bytes) -> str:
    """Returns the message of a JSON-RPC error."""
    try:
        error = _value(failure)
    except UNREADABLE:
        return "an error that cannot be read"
    said = error.get("message") if isinstance(error, dict) else error
    return text_of(said) if said is not None else "an error without a message"


def command_response(call_id: str, said: AnswerParams) -> Message:
    """Returns the end of a command, which has no result."""
    if said.error is not None:
        return frames.CommandResponse(call_id, error=string(said.error) or text_of(said.error))
    return frames.CommandResponse(call_id, action="noop")
