"""A crash as a language reports it: the error, and the frames of its stack.

Patterns are compiled when they are first used: every run imports this room, and few need it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

MORE_LINES = 3
"""Most lines of a message after its first."""


class Frame(NamedTuple):
    """A line of source in a stack."""

    file: str
    line: int | None
    is_library: bool = False
    """Whether it is known to be no code of the extension."""


class Crash(NamedTuple):
    """An error that a program has reported."""

    error: str
    frames: tuple[Frame, ...]
    """The innermost first."""
    at: int
    """The number of its last line."""
    is_sure: bool = True
    """Whether such an error ends a program. Errors of threads and log lines may not."""


def with_more(lines: Sequence[str], at: int, text: str, stop: str = r"\s*$") -> tuple[str, int]:
    """Returns a message with its next lines, and the number of its last line. `text` is the line `at` of the message.
    Only a line that announces more, with a colon at its end, is continued: to the first line that is empty, not
    indented or begins with `stop`."""
    if not re.search(r":$|validation errors? for \S+$", text):
        return text, at
    for number in range(at + 1, min(at + 1 + MORE_LINES, len(lines))):
        line = lines[number]
        if not line.strip() or re.match(stop, line) or (number > at + 1 and not line[0].isspace()):
            break
        text, at = f"{text} {line.strip()}", number
    return text, at
