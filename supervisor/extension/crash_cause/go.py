"""Go: panics, fatal errors of the runtime, programs that do not compile, `log.Fatal`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from supervisor.extension.crash_cause.crash import Crash, Frame, with_more

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_GOROUTINE = r"goroutine \d+ .*\]:$"
_LINE = r"\t(.+?):(\d+)(?: |$)"
_COMPILER = r"(?:vet: )?((?:\./|/)?[^\s:]+\.go):(\d+)(?::\d+)?: (.+)"
_LOG = r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d+)? (\S+\.go):(\d+): (.+)"
_RECOVERED = r" \[recovered[^\]]*\]$"
_ENDS_MESSAGE = r"\s*$|\[signal |\tpanic: |goroutine "
STACK_WITHIN = 200
"""Most lines between a message and the stack of the goroutine; after some, the stack of the runtime comes first."""
HEADS = ("panic: ", "fatal error: ")


def find(lines: Sequence[str]) -> Iterator[Crash]:
    at = 0
    while at < len(lines):
        line = lines[at]
        crash = None
        if line.startswith(HEADS) or (line.startswith("SIG") and "".join(lines[at + 1 : at + 2]).startswith("PC=")):
            crash = _panic(lines, at)
        elif ".go:" in line and (found := re.match(_COMPILER, line)):
            crash = _not_compiled(lines, at, found)
        elif ".go:" in line and (found := re.match(_LOG, line)):
            crash = Crash(found[3], (Frame(found[1], int(found[2])),), at, is_sure=False)
        if crash is not None:
            yield crash
            at = crash.at
        at += 1


def _panic(lines: Sequence[str], begin: int) -> Crash:
    error, end = with_more(lines, begin, re.sub(_RECOVERED, "", lines[begin]), stop=_ENDS_MESSAGE)
    after = range(end + 1, min(end + STACK_WITHIN, len(lines)))
    start = next((at for at in after if lines[at].startswith(("goroutine ", *HEADS))), None)
    if start is None or not re.match(_GOROUTINE, lines[start]):
        return Crash(error, (), end)
    frames: list[Frame] = []
    function = ""
    for at in range(start + 1, len(lines)):
        line = lines[at]
        if not line:
            break
        end = at
        if not (found := re.match(_LINE, line)):
            function = line
            if line.startswith("panic("):
                frames.clear()  # those of a second panic, while the first was handled
        elif not function.startswith(("panic(", "runtime.", "created by ")):
            frames.append(Frame(found[1], int(found[2]), not function.startswith("main.")))
    return Crash(error, tuple(frames), end)


def _not_compiled(lines: Sequence[str], begin: int, found: re.Match[str]) -> Crash:
    """The first of the errors of the compiler."""
    error, end = with_more(lines, begin, found[3])
    while end + 1 < len(lines) and (lines[end + 1].startswith("\t") or re.match(_COMPILER, lines[end + 1])):
        end += 1
    return Crash(error, (Frame(found[1], int(found[2])),), end)
