"""Text of a stranger, made safe for a terminal, for one line, and for UTF-8."""

from __future__ import annotations

import re

_UNPRINTABLE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"  # window titles, links
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"  # the last are for direction
)


_BREAKS = re.compile(r"[\s\u2028\u2029]+")


def printable(text: str) -> str:
    """Text of a stranger, safe for a terminal: escape sequences and control characters are taken out, but for tabs and
    line feeds."""
    return _UNPRINTABLE.sub("", text)


def one_line(text: str, limit: int) -> str:
    """The same on one line, and no longer than `limit` characters."""
    line = text[: 4 * limit]
    if not line.isprintable() or "  " in line:  # the most common text needs nothing of this
        line = _BREAKS.sub(" ", printable(line))
    line = line.strip()
    return line if len(line) <= limit else line[: limit - 2] + " …"


def valid_text(value: str) -> str:
    """The same, with U+FFFD for bytes that are not UTF-8: Python keeps those as lone surrogates, which JSON has not."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
