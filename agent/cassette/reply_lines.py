"""The lines of a reply in the output of the model worker and in cassettes, and the check of each."""

from __future__ import annotations

import json
from typing import Annotated, Any

import msgspec
from msgspec import Meta

Tokens = Annotated[int, Meta(ge=0, le=10**12)]
Seconds = Annotated[float, Meta(ge=0, le=10**9)]
QUOTED, SAID = 60, 200
"""Maximum of a quoted value, and of a fault in words, in characters."""


class Counts(msgspec.Struct):
    input: Tokens = 0
    output: Tokens = 0
    cache_read: Tokens = 0
    cache_write: Tokens = 0
    reasoning: Tokens | None = None
    """The part of `output` that was thinking; None if the provider does not count it."""
    cache_write_1h: Tokens = 0
    """The part of `cache_write` that is kept for an hour, which costs more."""


class TextBlock(msgspec.Struct, tag="text"):
    text: str


class ThinkingBlock(msgspec.Struct, tag="thinking"):
    text: str = ""
    signature: str = ""
    redacted: str = ""


class ToolCallBlock(msgspec.Struct, tag="tool_call"):
    id: str
    name: str
    args: str


class RateLimit(msgspec.Struct):
    """One limit of the provider, from the headers of an answer."""

    limit: Tokens
    remaining: Tokens
    reset_s: Seconds | None = None
    """Seconds until the limit is fully available again."""


class Limits(msgspec.Struct):
    """The rate limits in the headers of an answer; None for a missing one."""

    requests: RateLimit | None = None
    tokens: RateLimit | None = None
    """Input and output together."""
    input_tokens: RateLimit | None = None
    output_tokens: RateLimit | None = None
    retry_after_s: Seconds | None = None
    should_retry: bool | None = None


Content = list[TextBlock | ThinkingBlock | ToolCallBlock]


class MessageStart(msgspec.Struct, tag="message_start"):
    usage: Counts
    limits: Limits | None = None
    reply_id: str = ""
    model: str = ""
    """The model that answers, as the server names it."""


class TextDelta(msgspec.Struct, tag="text_delta"):
    delta: str


class ThinkingDelta(msgspec.Struct, tag="thinking_delta"):
    delta: str


class ToolUseStart(msgspec.Struct, tag="tool_use_start"):
    call_id: str
    name: str


class ToolUseArgs(msgspec.Struct, tag="tool_use_args"):
    call_id: str
    delta: str


class ToolUseEnd(msgspec.Struct, tag="tool_use_end"):
    call_id: str


class Final(msgspec.Struct, tag="final"):
    content: Content
    stop_reason: str
    usage: Counts


class Error(msgspec.Struct, tag="error"):
    kind: str
    message: str
    status: int | None = None
    retry_after_s: Seconds | None = None
    fault: str | None = None
    content: Content = []
    usage: Counts | None = None
    limits: Limits | None = None
    unanswered: bool = False
    """Whether the server may have worked for the request, although no whole answer has come."""


class Retry(msgspec.Struct, tag="retry"):
    id: str
    attempt: int
    of: int
    wait_s: float
    reason: str
    status: int | None
    unanswered: bool = False
    """As in `Error`, for the try before the pause."""


class Ready(msgspec.Struct, tag="ready"):
    whole_sdk: str


ReplyLine = MessageStart | TextDelta | ThinkingDelta | ToolUseStart | ToolUseArgs | ToolUseEnd | Final | Error
WorkerLine = ReplyLine | Retry | Ready


def problem_of_reply(reply: Any) -> str | None:
    """The fault of the lines of one reply in a cassette, in words; None if all are valid."""
    if problem := _problem(reply, list[ReplyLine]):
        return f"reply{problem}" if problem.startswith("[") else f"reply: {problem}"
    if not reply or reply[-1]["type"] not in ("final", "error"):
        return "the reply does not end with `final` or `error`"
    return None


def problem_of_worker_line(line: Any) -> str | None:
    """The fault of one line of the model worker, in words; None if it is valid."""
    return _problem(line, WorkerLine)


def _problem(value: Any, kind: Any) -> str | None:
    try:
        msgspec.convert(value, type=kind)
    except msgspec.ValidationError as error:
        return _in_words(value, str(error))
    except UnicodeEncodeError:  # msgspec looks up the tag as UTF-8
        return "a text with half a character in it"
    return None


def _in_words(value: Any, fault: str) -> str:
    """msgspec's error together with the wrong value."""
    from wire.field_errors import explain, fault_steps
    from wire.text import one_line

    said = one_line(explain(Final, fault), SAID)  # it may quote a value of any length
    try:
        for step in fault_steps(fault):
            value = value[step]
    except (LookupError, TypeError):
        return said  # the field is missing
    if value is None or isinstance(value, list | dict) or str(value) in said:
        return said
    quoted = json.dumps(value[: QUOTED + 1] if isinstance(value, str) else value)
    return f"{said}: {quoted if len(quoted) <= QUOTED else quoted[:QUOTED] + '…'}"
