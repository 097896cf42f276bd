"""Python: tracebacks, groups of exceptions, syntax errors, fatal errors of the interpreter."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from supervisor.extension.crash_cause.crash import Crash, Frame, with_more

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

GROUPS_DEEP = 4
"""Most groups in groups that are read."""
HEADER = "Traceback (most recent call last):"
FATAL = "Fatal Python error: "
_FRAME = r'\s*File "([^"]+)", line (\d+)'
_ERROR = r"([A-Za-z_][\w.]*)(?:: ?(.*))?$"
_SYNTAX = r"(?:SyntaxError|IndentationError|TabError)\b"
_PROGRAM = r"(?:\S*/)?python[\d.]*: ((?:can't open file|can't find|No module named|Error while finding module) .*)"
_IN_GROUP = r"\s*(?:\| ?|\+ (?=Exception Group ))"
_NEXT_OF_GROUP = r"\s*\+[-+]+ \d+ -+$"
_NOT_FATAL = (
    "Exception in thread ",
    "Exception ignored ",
    "Task exception was never retrieved",
    "task: <",
    "future: <",
)
_LIBRARY = r"/lib(?:64)?/python\d|<frozen |\.zip/"


def find(lines: Sequence[str]) -> Iterator[Crash]:
    at = 0
    while at < len(lines):
        line = lines[at]
        crash = None
        if line.endswith(HEADER):
            crash = _traceback(lines, at)
        elif line.startswith(FATAL):
            crash = _fatal(lines, at)
        elif line.startswith("  File ") and re.match(_FRAME + "$", line):
            crash = _syntax_error(lines, at)
        elif "python" in line and (found := re.match(_PROGRAM, line)):
            crash = Crash(found[1], (), at)
        if crash is not None:
            yield crash
            at = crash.at
        at += 1


def _frame(line: str) -> Frame | None:
    found = re.match(_FRAME, line)
    return None if found is None else Frame(found[1], int(found[2]), bool(re.search(_LIBRARY, found[1])))


def _traceback(lines: Sequence[str], begin: int, depth: int = 0) -> Crash | None:
    is_sure = not (begin and lines[begin - 1].lstrip().startswith(_NOT_FATAL))
    is_group = "Exception Group Traceback" in lines[begin]
    frames: list[Frame] = []
    source = ""
    for at in range(begin + 1, len(lines)):
        line = re.sub(_IN_GROUP, "", lines[at], count=1) if is_group or "|" in lines[begin] else lines[at]
        if line.endswith(HEADER):
            return None
        if (frame := _frame(line)) is not None:
            frames.insert(0, frame)
            source = ""
        elif line.startswith("  "):
            source = source or line.strip()
        elif found := re.match(_ERROR, line):
            error, end = line.rstrip(": "), at
            if found[2]:
                error, end = with_more(lines, at, line)
            elif line.endswith(":"):
                error, end = with_more(lines, at, line, stop=_FRAME)
            elif source:
                error = f"{line} in: {source}"
            crash = Crash(error, tuple(frames), end, is_sure)
            return _first_of_group(lines, crash, depth) if is_group and depth < GROUPS_DEEP else crash
        else:
            return None
    return None


def _first_of_group(lines: Sequence[str], group: Crash, depth: int) -> Crash:
    """The crash that a group of exceptions is: its first exception has the place."""
    end = group.at
    first: Crash | None = None
    for number in range(group.at + 1, len(lines)):
        line = lines[number]
        if not re.match(r"\s*[|+]", line):
            break
        end = number
        if first is None and not re.match(_NEXT_OF_GROUP, line):
            inner = re.sub(_IN_GROUP, "", line, count=1)
            if inner.endswith(HEADER):
                first = _traceback(lines, number, depth + 1)
            elif re.match(_ERROR, inner):
                first = Crash(inner, (), number)
    if first is None:
        return group._replace(at=end)
    error = f"{group.error}, the first: {first.error}"
    return Crash(error, (*first.frames, *group.frames), max(end, first.at), group.is_sure)


def _syntax_error(lines: Sequence[str], begin: int) -> Crash | None:
    """The main file does not compile: there is no traceback above its place."""
    frame = _frame(lines[begin])
    for at in range(begin + 1, min(begin + 5, len(lines))):
        if frame is not None and re.match(_SYNTAX, lines[at]):
            return Crash(lines[at], (frame,), at)
        if not lines[at].startswith("  "):
            break
    return None


def _fatal(lines: Sequence[str], begin: int) -> Crash:
    """`faulthandler` lists the innermost frame first."""
    frames: list[Frame] = []
    end = begin
    for at in range(begin + 1, len(lines)):
        if (frame := _frame(lines[at])) is not None:
            frames.append(frame)
            end = at
        elif frames or lines[at].startswith(("Traceback ", FATAL)):
            break
    return Crash(lines[begin], tuple(frames), end)
