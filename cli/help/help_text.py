"""Reads the help text of a command, its docstring, into parts. Pure.

Paragraphs stand apart by a blank line and may be wrapped anywhere. A paragraph whose first line ends with a colon and
whose other lines are indented is a table: each line has one or two cells, two spaces or more apart. The one with the
title `Examples:` has a command line and what it is for. A paragraph `Exit status: 0 done, 1 failed, 2 usage.` becomes a
table of each number and when a process ends with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

EXAMPLES = "Examples"
EXIT_STATUS = "Exit status"


@dataclass(frozen=True)
class HelpTable:
    """Lines of two cells under a title; the second cell may be empty."""

    title: str
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class HelpText:
    """The parts of one help text."""

    body: tuple[str | HelpTable, ...] = ()
    """Paragraphs, each on one line, and tables without a meaning of their own, in order."""
    examples: HelpTable = field(default=HelpTable(EXAMPLES, ()))
    exit_status: HelpTable = field(default=HelpTable(EXIT_STATUS, ()))

    @property
    def summary(self) -> str:
        """The first sentence, without its full stop."""
        first = next((part for part in self.body if isinstance(part, str)), "")
        return re.split(r"[.!?](?:\s|$)", first, maxsplit=1)[0]


def parse(text: str) -> HelpText:
    """The parts of a docstring; its indentation must have been removed."""
    body: list[str | HelpTable] = []
    examples = HelpTable(EXAMPLES, ())
    exit_status = HelpTable(EXIT_STATUS, ())
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        if not block.strip():
            continue
        part = _part(block.split("\n"))
        if isinstance(part, str) and (sentence := re.fullmatch(r"Exit status: (.*?)\.?", part)):
            exit_status = HelpTable(EXIT_STATUS, _statuses(sentence[1]))
        elif isinstance(part, str):
            body.append(part)
        elif part.title == EXAMPLES:
            examples = HelpTable(EXAMPLES, part.rows)
        else:
            body.append(part)
    return HelpText(tuple(body), examples, exit_status)


def _part(lines: list[str]) -> str | HelpTable:
    first, *others = lines
    if others and first.rstrip().endswith(":") and all(line.startswith("  ") for line in others):
        return HelpTable(first.strip().removesuffix(":"), tuple(_row(line) for line in others))
    return " ".join(line.strip() for line in lines)


def _row(line: str) -> tuple[str, str]:
    left, _, right = re.sub(r"\s{2,}", "\0", line.strip(), count=1).partition("\0")
    return left, right


def _statuses(sentence: str) -> tuple[tuple[str, str], ...]:
    """`0 done, 1 failed; 2 usage` as rows. A comma within a meaning stays, since no number follows it."""
    parts = re.split(r"[,;] (?:or |and )?(?=\d+(?:\s|$|,|;))", sentence)
    rows = (part.partition(" ") for part in parts)
    return tuple((number.rstrip(","), meaning or "done") for number, _, meaning in rows)
