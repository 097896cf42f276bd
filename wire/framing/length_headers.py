"""The forms of `Content-Length` headers and of the bodies behind them. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from wire.framing.lines import PREFIX_KEPT
from wire.lenient_json import UNREADABLE

if TYPE_CHECKING:
    from wire.framing.lines import Line, Oversize

MOST = 1 << 30
"""Maximum number of bytes that a header may announce. A header that announces more is text."""
HEADERS_LIMIT = 3
"""Maximum number of other headers behind `Content-Length`."""
BLANK_LIMIT = 64
"""Maximum number of blanks before the `{` of a body, and behind its `}`."""
STRAY_LIMIT = 64 * 1024
"""Maximum number of bytes between a header and its body."""
STARTS_LIMIT = 8
"""Maximum number of positions at which the body of one header is searched."""
BODY_START = b'{"jsonrpc"'
"""Start of a body by which it is found if it does not directly follow its header."""
STEPS_LIMIT = 2_000
"""Maximum number of headers, and of lines that may be headers, that one call of `feed` looks at; for a long chunk, one
per `STEP_BYTES` of it. Blank lines and plain text count less."""
STEP_BYTES = 16
PLAIN = 16 * 1024
"""Number of bytes of plain text that are divided into lines at once."""
HELD_LIMIT = 32 * 1024 * 1024
"""Number of held bytes above which `feed` goes on after its last step."""
FIRST, LAST = b"{"[0], b"}"[0]
_USUAL = b"Content-Length: "
_USUAL_WITHIN = 30
"""Maximum length in bytes of such a header with its blank line, unless its number is very long."""

_OTHER = rb"[A-Za-z][A-Za-z0-9-]{0,29}:[^\r\n{]{0,100}"
_LENGTH = rb"ontent-[Ll]ength:[ \t]{0,8}(\d{1,10})[ \t]{0,8}"
_WHOLE = re.compile(_LENGTH + rb"\r?\n(?:" + _OTHER + rb"\r?\n){0,3}\r?\n")
"""A header with its blank line, without its first letter: less than `WHOLE_LIMIT` bytes. Every header that is accepted
outside of a body matches this; otherwise the same bytes would be searched again and again."""
WHOLE_LIMIT = PREFIX_KEPT
AT_END = re.compile(b"[Cc]" + _LENGTH + rb"\r?\Z")
"""The line of `Content-Length` at the end of a line of text, in at most `AT_END_WITHIN` bytes."""
AT_END_WITHIN = 48
OTHER_LINE = re.compile(_OTHER + rb"\r?\Z")
OTHER_WITHIN = 140
"""Number of bytes of a line that show whether it is a header."""
CONTENT_TYPE = re.compile(rb"content-type:[^\r\n{]{0,100}\r\Z", re.IGNORECASE)
CONTENT_WORD = re.compile(rb"content-", re.IGNORECASE)
"""Occurs in all lines that may begin a header or belong to one."""
BLANKS = b" \t\r\n"
NOT_BLANK = re.compile(rb"[^ \t\r\n]")
_BLANK_LINE = re.compile(rb"\n\r?\n")
_is_json = msgspec.json.Decoder(msgspec.Raw).decode


def first_header(held: bytearray, start: int, at: int, end: int) -> int | None:
    """Returns where the first complete header between `start` and `end` begins, if it ends behind `at`; else None."""
    if held.find(b"\n", at, end) < 0 or not _BLANK_LINE.search(held, max(start, at - 2), end):
        return None
    seen = _WHOLE.search(held, max(start, at - WHOLE_LIMIT) + 1, end)
    while seen is not None and held[seen.start() - 1] not in b"Cc":
        seen = _WHOLE.search(held, seen.start() + 1, end)
    return None if seen is None else seen.start() - 1


def usual_messages(data: bytes, at: int, limit: int, found: list[Line | Oversize]) -> tuple[int, int]:
    """Adds the bodies of the complete messages of the usual form from `at` on to `found`. Returns where the rest
    begins, and the size of the next body if the rest is only the header of a usual message, else 0."""
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
    """Whether these bytes are an object without line breaks."""
    return data[start] == FIRST and data[end - 1] == LAST and data.find(b"\n", start, end) < 0


def is_body(held: bytearray, start: int, end: int) -> bool:
    """Whether these bytes, which begin with a brace, can be a body."""
    if held[end - 1] != LAST and not held[max(start, end - BLANK_LIMIT) : end].rstrip().endswith(b"}"):
        return False
    if held.find(b"\n", start, end) >= 0:
        try:
            _is_json(held[start:end])
        except UNREADABLE:
            return False
    return True
