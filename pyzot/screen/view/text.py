"""Text from a model, a tool or an extension as lines for a terminal: it can colour itself, and do nothing else to it.

Control sequences are removed, but for colours. Control characters and marks that reorder text become visible or vanish.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

TAB = "    "
RESET = "\x1b[0m"
STYLES = {
    "bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36",
    "heading": "1;36", "error": "1;31",
}  # fmt: skip
LEVELS = {"info": "blue", "success": "green", "warn": "yellow", "error": "red"}
"""The style of a note by its level."""

_SEQUENCE = re.compile(
    r"\x1b\[(?P<colours>[0-9;:]{0,64})m"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
_MARKS = r"\x00-\x09\x0b-\x1a\x1c-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
"""Control characters but for line feed and escape, marks that reorder text, and surrogates, which no output takes."""
_UNSEEN = re.compile(f"[{_MARKS}]")
_NEEDS_CARE = re.compile(rf"[\x1b{_MARKS}]")


class Palette:
    """Paints texts. Without colours all texts stay plain, and colours of others are removed."""

    def __init__(self, *, has_colours: bool) -> None:
        self.has_colours = has_colours

    def paint(self, style: str, text: str) -> str:
        """The text in a style of `STYLES`; "" is none."""
        return f"\x1b[{STYLES[style]}m{text}{RESET}" if self.has_colours and style and text else text

    def clean(self, text: str) -> str:
        """The text without anything that moves the cursor or changes the terminal. Line feeds stay. A coloured line
        ends its colours."""
        if not _NEEDS_CARE.search(text):
            return text
        cleaned = _SEQUENCE.sub(self._colours, text.replace("\r\n", "\n"))
        cleaned = _UNSEEN.sub(_visible, cleaned)
        if "\x1b" not in cleaned:
            return cleaned
        return "\n".join(line + RESET if "\x1b" in line else line for line in cleaned.split("\n"))

    def _colours(self, found: re.Match[str]) -> str:
        return found[0] if self.has_colours and found["colours"] is not None else ""

    def one_line(self, text: str, limit: int = 1000) -> str:
        """The beginning of the text on one line."""
        return " ".join(self.clean(text[:limit]).split())


def _visible(found: re.Match[str]) -> str:
    character = found[0]
    if character == "\t":
        return TAB
    return chr(0x2400 + ord(character)) if character < " " and character != "\r" else ""


def width_of(text: str) -> int:
    """Columns that a line takes; colours take none."""
    plain = _COLOURS.sub("", text) if "\x1b" in text else text
    return len(plain) if plain.isascii() else _columns()(plain)


def fit(line: str, columns: int) -> str:
    """The line cut to `columns`; a cut one ends in an ellipsis."""
    if width_of(line) <= columns:
        return line
    cut = line[: _cut(line, columns - 1)[0]]
    end = f"…{RESET}" if "\x1b" in cut else "…"
    return cut + end if columns > 0 else ""


def wrap(line: str, columns: int) -> list[str]:
    """The line in pieces of at most `columns`, cut between words where possible. Keeps the colours."""
    columns = max(2, columns)
    rows: list[str] = []
    colours = ""
    while width_of(line) > columns:
        end, blank = _cut(line, columns)
        end = blank if blank > columns // 3 else max(end, 1)
        row, line = colours + line[:end].rstrip(" "), line[end:].lstrip(" ")
        colours = "".join(_COLOURS.findall(row[row.rfind(RESET) + 1 :]))
        rows.append(row + (RESET if colours else ""))
    return [*rows, colours + line]


def _cut(line: str, columns: int) -> tuple[int, int]:
    """Where the first `columns` of the line end, and where its last word before that begins."""
    used, at, blank = 0, 0, 0
    for piece in re.split(r"(\x1b\[[0-9;:]*m)", line):
        if piece.startswith("\x1b"):
            at += len(piece)
            continue
        for character in piece:
            used += width_of(character)
            if used > columns:
                return at, blank
            at += 1
            blank = at if character == " " else blank
    return at, blank


@cache
def _columns() -> Callable[[str], int]:
    from prompt_toolkit.utils import get_cwidth

    return get_cwidth
