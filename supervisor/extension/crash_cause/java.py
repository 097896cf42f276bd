"""Java: uncaught exceptions with their causes, programs that do not start or do not compile."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from supervisor.extension.crash_cause.crash import Crash, Frame, with_more

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_THREAD = r'Exception in thread "(.*?)" (.+)'
_ERROR = r"(?:[\w$]+\.)+[\w$]*(?:Exception|Error|Throwable)\b(?::? .*)?$"
_CALL = r"\s+at ([^\s()]+)\((?:([^():]+)(?::(\d+))?)?\)$"
_INNER = r"\s+(?:at |\.\.\. \d+ )"
_LAUNCHER = r"Error: ((?:Could not find or load main class|Unable to access jarfile|Main method not found) .*)"
_COMPILER = r"([^\s:][^:]*\.java):(\d+): (error: .+)"
_END = r"error: compilation failed|\d+ errors?$"
_STARTS_END = frozenset("e0123456789")
_LIBRARIES = ("java.", "javax.", "jdk.", "sun.", "com.sun.", "kotlin.", "scala.")
MOST_LINES = 200
"""Most lines of errors of the compiler."""
NO_VM = "Error: Could not create the Java Virtual Machine."


def find(lines: Sequence[str]) -> Iterator[Crash]:
    at = 0
    while at < len(lines):
        line = lines[at]
        crash = None
        if line.startswith("Exception in thread ") and (found := re.match(_THREAD, line)):
            crash = _exception(lines, at, found[2], is_sure=found[1] == "main")
        elif at + 1 < len(lines) and re.match(_CALL, lines[at + 1]) and re.match(_ERROR, line):
            crash = _exception(lines, at, line)
        elif line.startswith(("Error: ", "Error occurred during initialization of VM")):
            crash = _not_started(lines, at)
        elif ".java:" in line and (found := re.match(_COMPILER, line)):
            crash = _not_compiled(lines, at, found)
        if crash is not None:
            yield crash
            at = crash.at
        at += 1


def _exception(lines: Sequence[str], begin: int, error: str, *, is_sure: bool = True) -> Crash:
    """The deepest cause, with its own frames before those of what it caused."""
    frames: list[Frame] = []
    level: list[Frame] = []
    error, at = with_more(lines, begin, error, stop=_INNER)
    while at + 1 < len(lines):
        line = lines[at + 1]
        if found := re.match(_CALL, line):
            if found[2] and found[3]:
                is_library = any(name.startswith(_LIBRARIES) for name in found[1].split("/"))  # module, then class
                level.append(Frame(found[2], int(found[3]), is_library))
        elif line.startswith("Caused by: "):
            error, frames, level = line.removeprefix("Caused by: "), [*level, *frames], []
        elif not re.match(_INNER, line) and not line.startswith("\t"):
            break
        at += 1
    return Crash(error, (*level, *frames), at, is_sure)


def _not_started(lines: Sequence[str], at: int) -> Crash | None:
    line, after = lines[at], lines[at + 1] if at + 1 < len(lines) else ""
    if line == NO_VM and at:
        return Crash(lines[at - 1], (), at)
    if line.startswith(("Error: LinkageError occurred", "Error occurred during initialization")) and after:
        return Crash(after.strip(), (), at + 1)
    if not (found := re.match(_LAUNCHER, line)):
        return None
    if after.startswith("Caused by: "):
        return Crash(f"{found[1]}: {after.removeprefix('Caused by: ')}", (), at + 1)
    return Crash(found[1], (), at)


def _not_compiled(lines: Sequence[str], begin: int, found: re.Match[str]) -> Crash:
    """The first of the compiler's errors."""
    after = range(begin + 1, min(begin + MOST_LINES, len(lines)))
    ends = (at for at in after if lines[at][:1] in _STARTS_END and re.match(_END, lines[at]))
    return Crash(found[3], (Frame(found[1], int(found[2])),), max(ends, default=begin))
