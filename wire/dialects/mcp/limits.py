"""How many bytes a message of a server may have, and how a long result is decoded. Pure.

An answer may be long, anything else may not: which of them a line is shows in its first bytes. To drop a line costs
nothing but the time of receiving it; to decode one costs the host time in which all other extensions wait.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wire.dialects.jsonrpc import named
from wire.dialects.long_lines import SHORT, STRINGS_LIMIT, count_strings
from wire.lenient_json import MARK

ANSWER = 12 * 1024 * 1024
"""Bytes of an answer: twice what a result may have in zot's own protocol, because most servers write a structured
result twice, as text and as JSON."""
PAGE = 2 * 1024 * 1024
"""Bytes of an answer to anything but a call: pages of lists, and the answer to `initialize`."""
PARTS_LIMIT = 200_000
"""Commas and brackets in such an answer. Three bytes of nothing but lists cost as much as a hundred of text."""
_MARKS = (b'{"jsonrpc"', b'{"result"')


def limit_of(start: bytes) -> int:
    """The most bytes of a line that is longer than `SHORT` and begins like this."""
    text = start.removeprefix(MARK).lstrip()
    if text.startswith(b"{"):
        seen = named(text, b"")
        return ANSWER if seen.is_answer or not (seen.method or _has_params(text)) else SHORT
    # A line of something else may end in an answer.
    return ANSWER if any(mark in text for mark in _MARKS) else SHORT


def _has_params(text: bytes) -> bool:
    return b'"params"' in text


class TooLongError(Exception):
    """A result that would take too long to decode; the text says why."""


# --- results of calls ---------------------------------------------------------------------------------------


class _Resource(msgspec.Struct, omit_defaults=True):
    uri: str | None = None
    mimeType: str | None = None  # noqa: N815
    text: str | None = None
    blob: str | UnsetType = UNSET


class _Block(msgspec.Struct, omit_defaults=True):
    """The members of all kinds of content that reach the model."""

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
_value = msgspec.json.Decoder().decode
_blocks = msgspec.json.Decoder(list[_Block]).decode


def call_result(text: Raw) -> Any:
    """The value of the result of a `tools/call`. `structuredContent` stays JSON text. Of long content only the known
    members are read. Raises `TooLongError` and `wire.lenient_json.UNREADABLE`."""
    if bytes(memoryview(text)[:1]) != b"{":
        return value_of_short("the result", text)
    read = _result(text)
    members = {
        name: value_of_short(name, value)
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


def value_of_short(name: str, text: Raw) -> Any:
    """The value of a member, which may be a string of any length, and anything else of `SHORT` bytes. Raises
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


def value_of_page(what: str, text: Raw) -> Any:
    """The value of an answer to anything but a call. Raises `TooLongError` and `wire.lenient_json.UNREADABLE`."""
    refuse_page(what, text)
    return _value(text)


def opening_result(text: Raw | UnsetType) -> Any:
    """The value of the answer to the first request. Raises `TooLongError` and `wire.lenient_json.UNREADABLE`."""
    return None if text is UNSET else value_of_page("its answer to the first request", text)


def refuse_page(what: str, text: Raw) -> None:
    """Raises `TooLongError` for an answer that is too long, or would make too many values."""
    written = bytes(text)
    if len(written) > PAGE:
        raise TooLongError(f"{what} of {len(written)} bytes is over the limit of {PAGE} bytes")
    if len(written) > SHORT and sum(map(written.count, (b",", b"[", b"{"))) > PARTS_LIMIT:
        raise TooLongError(f"{what} of {len(written)} bytes has more than {PARTS_LIMIT} parts")
