"""The forms of `Content-Length` headers, and what a body behind one looks like. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from wire.framing.lines import PREFIX_KEPT
from wire.lenient_json import UNREADABLE

if TYPE_CHECKING:
    from wire.framing.lines import Line, Oversize

MOST = 1 << 30
"""Bytes that a header may announce. What announces more is text."""
HEADERS_LIMIT = 3
"""Other headers behind `Content-Length`."""
BLANK_LIMIT = 64
"""White space before the `{` of a body, and behind its `}`."""
STRAY_LIMIT = 64 * 1024
"""Bytes that may stand between a header and its body."""
STARTS_LIMIT = 8
"""Places at which the body of one header is looked for."""
BODY_START = b'{"jsonrpc"'
"""With this a body is found that does not follow its header at once."""
STEPS_LIMIT = 2_000
"""Headers, and lines that may be one, that one call of `feed` looks at; after a long chunk one for `STEP_BYTES` of it.
Blank lines and plain text count less."""
STEP_BYTES = 16
PLAIN = 16 * 1024
"""Bytes of plain text that are divided into lines at once."""
HELD_LIMIT = 32 * 1024 * 1024
"""If more bytes than this are held, `feed` goes on."""
FIRST, LAST = b"{"[0], b"}"[0]
_USUAL = b"Content-Length: "
_USUAL_WITHIN = 30
"""Bytes of a header that begins like this, with its blank line, unless its number is very long."""

_OTHER = rb"[A-Za-z][A-Za-z0-9-]{0,29}:[^\r\n{]{0,100}"
_LENGTH = rb"ontent-[Ll]ength:[ \t]{0,8}(\d{1,10})[ \t]{0,8}"
_WHOLE = re.compile(_LENGTH + rb"\r?\n(?:" + _OTHER + rb"\r?\n){0,3}\r?\n")
"""A header with its blank line, behind its first letter: less than `WHOLE_LIMIT` bytes. Each header that is taken for
one outside of a body matches this: else the same bytes would be searched again and again."""
WHOLE_LIMIT = PREFIX_KEPT
AT_END = re.compile(b"[Cc]" + _LENGTH + rb"\r?\Z")
"""A line's end that is the line of `Content-Length`, in at most `AT_END_WITHIN` bytes."""
AT_END_WITHIN = 48
OTHER_LINE = re.compile(_OTHER + rb"\r?\Z")
OTHER_WITHIN = 140
"""Bytes of a line of which no more is needed to see that it is no header."""
CONTENT_TYPE = re.compile(rb"content-type:[^\r\n{]{0,100}\r\Z", re.IGNORECASE)
CONTENT_WORD = re.compile(rb"content-", re.IGNORECASE)
"""In all lines that may begin or belong to a header, or tell of one."""
BLANKS = b" \t\r\n"
NOT_BLANK = re.compile(rb"[^ \t\r\n]")
_BLANK_LINE = re.compile(rb"\n\r?\n")
_is_json = msgspec.json.Decoder(msgspec.Raw).decode


def first_header(held: bytearray, start: int, at: int, end: int) -> int | None:
    """Where the first header begins that is whole between `start` and `end`, if there is one that ends behind `at`."""
    if held.find(b"\n", at, end) < 0 or not _BLANK_LINE.search(held, max(start, at - 2), end):
        return None
    seen = _WHOLE.search(held, max(start, at - WHOLE_LIMIT) + 1, end)
    while seen is not None and held[seen.start() - 1] not in b"Cc":
        seen = _WHOLE.search(held, seen.start() + 1, end)
    return None if seen is None else seen.start() - 1


def usual_messages(data: bytes, at: int, limit: int, found: list[Line | Oversize]) -> tuple[int, int]:
    """Adds the bodies of the messages from `at` on, as long as there is nothing unusual about them and each is whole.
    Returns where the rest begins, and if that is the header of a usual message alone, the size of its body, else 0."""
    have = len(data)
    while data.startswith(_USUAL, at):
        start = data.find(b"\r\n\r\n", at, at + _USUAL_WITHIN) + 4
        digits = data[at + len(_USUAL) : start - 4]
        if not digits.isdigit() or (size := int(digits)) > limit or size < 2:
            break
        end = start + size
        if end > have:
            return at, size if start == have else 0
        if not is_usual_body(data, start, end):
            break
        found.append(data[start:end])
        at = end
    return at, 0


def is_usual_body(data: bytes, start: int, end: int) -> bool:
    """Whether this is an object without line breaks."""
    return data[start] == FIRST and data[end - 1] == LAST and data.find(b"\n", start, end) < 0


def is_body(held: bytearray, start: int, end: int) -> bool:
    """Whether this, which begins with a brace, can be a body."""
    if held[end - 1] != LAST and not held[max(start, end - BLANK_LIMIT) : end].rstrip().endswith(b"}"):
        return False
    if held.find(b"\n", start, end) >= 0:
        try:
            _is_json(held[start:end])
        except UNREADABLE:
            return False
    return True
