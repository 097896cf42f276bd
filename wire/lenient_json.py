"""Reads JSON of other programs as leniently as zot's decoder: invalid Unicode becomes U+FFFD.

JavaScript cuts strings between surrogates and then writes `"\\ud83d"`; shell tools pass on bytes of any encoding. If
the whole frame were refused for one character, its call would have no answer.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The errors that decoding can raise. RecursionError: the text is nested about a thousand levels deep."""

REPAIR_LIMIT = 1024 * 1024
"""Bytes; a longer text is not repaired. Repairing takes 60 times as long as reading, and several times the memory."""

_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a pair: fine
    rb"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|\\."  # any other escape: its second backslash must not count as the start of an escape
)


def repaired(text: bytes) -> bytes | None:
    """The text with U+FFFD for every byte that is not UTF-8 and every lone surrogate; None if it has neither, or is
    larger than `REPAIR_LIMIT`."""
    if len(text) > REPAIR_LIMIT:
        return None
    mended = _ESCAPE.sub(_without_lone_surrogate, text.decode("utf-8", "replace").encode())
    return None if mended == text else mended


def _without_lone_surrogate(escape: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if escape["lone"] else escape[0]


def read(text: bytes) -> tuple[Any, bytes]:
    """The value, and the text that was read, after a repair if it needed one. Raises one of `UNREADABLE`."""
    text = bytes(text)
    try:
        return msgspec.json.decode(text), text
    except UNREADABLE:
        mended = repaired(text)
        if mended is None:
            raise
    return msgspec.json.decode(mended), mended


def reason(error: Exception) -> str:
    """Why a text could not be read, in a few words."""
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)
