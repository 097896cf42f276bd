"""Makes the text of other programs safe to show and to send.

`printable` removes control sequences, `printable_json` escapes it in JSON, `one_line` also fits the text on one line,
and `valid_text` makes it valid Unicode, so that JSON can hold it.
"""

from __future__ import annotations

import re

_UNPRINTABLE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"  # window titles, links
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"  # control and direction characters
)
_JSON_CONTROLS = (
    rb"\x7f|\xc2[\x80-\x9f]"  # DEL and C1
    rb"|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]"  # U+061C, U+200E and 200F, U+2028-202E, U+2066-2069
)
"""Control characters that JSON leaves unescaped: it escapes only those below 0x20."""
_BREAKS = re.compile(r"[\s\u2028\u2029]+")


def printable(text: str) -> str:
    """Returns the text without escape sequences and control characters, except tabs and line feeds."""
    return _UNPRINTABLE.sub("", text)


def printable_json(text: bytes) -> bytes:
    """Returns the JSON with all control characters escaped, including those above 0x7f and those that change the
    direction of text. Its values stay the same."""
    return re.sub(_JSON_CONTROLS, lambda found: b"\\u%04x" % ord(found[0].decode()), text)


def one_line(text: str, limit: int) -> str:
    """Returns the text on one line without escape sequences and control characters: white space becomes single spaces.
    A text of more than `limit` characters is cut and ends in ` …`."""
    line = text[: 4 * limit]
    if not line.isprintable() or "  " in line:  # most texts need no change
        line = _BREAKS.sub(" ", printable(line))
    line = line.strip()
    return line if len(line) <= limit else line[: limit - 2] + " …"


def valid_text(value: str) -> str:
    """Returns the text with U+FFFD for bytes that are not UTF-8. Python keeps such bytes of arguments and paths as lone
    surrogates, which UTF-8 and JSON cannot hold."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def noun_for(count: int, noun: str, several: str = "") -> str:
    """Returns `line` for 1, else `lines`; `several` is the plural of a noun that does not take an s."""
    return noun if count == 1 else several or noun + "s"


def counted(count: int, noun: str, several: str = "") -> str:
    """Returns a number with its noun: `1 line`, `2 lines`."""
    return f"{count} {noun_for(count, noun, several)}"
