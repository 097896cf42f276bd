"""Puts texts of unknown origin into Markdown, so that they change nothing around them. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wire.text import one_line, printable, valid_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

CELL_LENGTH = 300
"""Characters of a cell of a table."""
_SPECIAL = re.compile(r"[!-'*+/<-@\[-`{-~]")
"""ASCII punctuation that has a meaning somewhere in Markdown or HTML; of the rest none has inside a cell."""
_FENCES = re.compile(r"`{3,}")


def cell(text: str, length: int = CELL_LENGTH) -> str:
    """The text on one line, with a numeric entity for each character that could be markup."""
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", one_line(valid_text(text), length))


def code(text: str) -> str:
    """The text as code, in a cell of a table or elsewhere."""
    return f"<code>{cell(text)}</code>" if text.strip() else ""


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = ()) -> str:
    """A table of cells that are Markdown already. The columns in `right` are aligned right."""
    to_right = frozenset(right)
    rule = ("---:" if number in to_right else "---" for number in range(len(headings)))
    return "".join(f"| {' | '.join(row)} |\n" for row in (headings, tuple(rule), *rows))


def fenced(text: str) -> str:
    """The text as it is, in a block of code whose fence is longer than any in the text."""
    shown = printable(valid_text(text).replace("\r\n", "\n").replace("\r", "\n"))
    longest = max((len(found) for found in _FENCES.findall(shown)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{shown.rstrip(chr(10))}\n{fence}\n"
