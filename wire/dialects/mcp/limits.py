"""Limits of the size of a server's messages. Pure.

Only an answer may be long; the first bytes of a line show whether it is one. Dropping a line costs only the time to
receive it; decoding it costs the host time in which all other extensions wait.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wire.dialects.jsonrpc import peek
from wire.dialects.long_lines import SHORT
from wire.lenient_json import MARK

ANSWER = 12 * 1024 * 1024
"""Maximum size of an answer in bytes: twice the limit of a result in zot's protocol, because most servers write a
structured result twice, as text and as JSON."""
PAGE = 2 * 1024 * 1024
"""Maximum size in bytes of an answer to anything but a call: pages of lists, and the answer to `initialize`."""
PARTS_LIMIT = 200_000
"""Maximum number of commas and brackets in such an answer. Three bytes of lists cost as much as a hundred of text."""
_MARKS = (b'{"jsonrpc"', b'{"result"')


def limit_of(start: bytes) -> int:
    """Returns the maximum size of a line that is longer than `SHORT` and begins with `start`."""
    text = start.removeprefix(MARK).lstrip()
    if text.startswith(b"{"):
        seen = peek(text, b"")
        return ANSWER if seen.is_answer or not (seen.method or b'"params"' in text) else SHORT
    # A line that starts with other text may end in an answer.
    return ANSWER if any(mark in text for mark in _MARKS) else SHORT


class TooLongError(Exception):
    """A result that would take too long to decode; the text says why."""


def value_of_page(what: str, text: Raw) -> Any:
    """Returns the value of an answer to anything but a call. Raises `TooLongError` and
    `wire.lenient_json.UNREADABLE`."""
    refuse_page(what, text)
    return msgspec.json.decode(text)


def opening_result(text: Raw | UnsetType) -> Any:
    """Returns the value of the answer to the first request. Raises `TooLongError` and
    `wire.lenient_json.UNREADABLE`."""
    return None if text is UNSET else value_of_page("its answer to the first request", text)


def refuse_page(what: str, text: Raw) -> None:
    """Raises `TooLongError` for an answer that is too long, or would make too many values."""
    written = bytes(text)
    if len(written) > PAGE:
        raise TooLongError(f"{what} of {len(written)} bytes is over the limit of {PAGE} bytes")
    if len(written) > SHORT and sum(map(written.count, (b",", b"[", b"{"))) > PARTS_LIMIT:
        raise TooLongError(f"{what} of {len(written)} bytes has more than {PARTS_LIMIT} parts")
