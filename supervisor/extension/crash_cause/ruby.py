"""Ruby: uncaught exceptions, in the order of today and of Ruby 2.5 to 2.7, and syntax errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from supervisor.extension.crash_cause.crash import Crash, Frame, with_more

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FILE = r"(<internal:[^>]*>|[^\s:][^:]*)"
_RAISED = rf"{_FILE}:(\d+):in [`'][^`']*': (.*?) ?\(([A-Z][\w:]*)\)$"
_SYNTAX = rf"{_FILE}:(\d+): (syntax errors?\b.*?)(?: \(SyntaxError\))?$"
_FROM = rf"\s+(?:\d+: )?from {_FILE}:(\d+)(?::in |$)"
_PROGRAM = r"ruby: (.*) \(LoadError\)$"
_LIBRARY = r"<internal:|/lib(?:64)?/ruby/|/rubygems/"


def find(lines: Sequence[str]) -> Iterator[Crash]:
    at = 0
    while at < len(lines):
        line = lines[at]
        crash = None
        if line.startswith("ruby: ") and (found := re.match(_PROGRAM, line)):
            crash = Crash(f"LoadError: {found[1]}", (), at)
        elif line.endswith(")") and (found := re.match(_RAISED, line)):
            crash = _raised(lines, at, found)
        elif ": syntax error" in line and (found := re.match(_SYNTAX, line)):
            crash = _after(lines, at, found[3], _frame(found))
        if crash is not None:
            yield crash
            at = crash.at
        at += 1


def _frame(found: re.Match[str]) -> Frame:
    return Frame(found[1], int(found[2]), bool(re.search(_LIBRARY, found[1])))


def _raised(lines: Sequence[str], begin: int, found: re.Match[str]) -> Crash:
    if inner := re.match(_SYNTAX, found[3]):
        return _after(lines, begin, inner[3], _frame(inner))
    message, at = with_more(lines, begin, found[3], stop=_FROM)
    return _after(lines, at, f"{found[4]}: {message}" if message else found[4], _frame(found), begin)


def _after(lines: Sequence[str], at: int, error: str, first: Frame, begin: int | None = None) -> Crash:
    """The crash with the frames below its message, or above it in the old order. An exception that follows at once is
    the cause of this one; the one that ended the program comes first."""
    frames = [first]
    above = (begin if begin is not None else at) - 1
    while above >= 0 and (found := re.match(_FROM, lines[above])) and re.match(r"\s+\d+: ", lines[above]):
        frames.append(_frame(found))
        above -= 1
    end = at
    is_first = True
    for number in range(at + 1, len(lines)):
        if found := re.match(_FROM, lines[number]):
            end = number
            if is_first:
                frames.append(_frame(found))
        elif re.match(_RAISED, lines[number]):
            end, is_first = number, False
        elif end > at or number > at + 4:
            break
    return Crash(error, tuple(frames), end)
