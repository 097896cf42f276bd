"""Node, and what runs on it or reports like it: uncaught errors, rejections, syntax errors, no memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from supervisor.extension.crash_cause.crash import Crash, Frame, with_more

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PLACE = r"(?:file://)?((?:/|\.|node:|\w)[^()]*?):(\d+)$"
_CARET = r"\s*\^+$"
_CALL = r"\s+at (?:async )?(?:.*\()?(?:file://)?([^()\s][^()]*?):(\d+):\d+\)?( \{)?$"
_STACK = r"\s+at \S"
_END = r"\s+at |\s*$|\(Use `node |Node\.js v|\s*[{}]"
_HEAD = r"(?:^|[\s:\]])((?:[A-Z]\w*)?(?:Error|Exception|Rejection)\b.*)"
_OTHER_HEAD = r"(?:[a-z][^:]*?:? )?([A-Z][\w$]*: .+)"
_NO_ERROR = r"(?:\(node:\d+\) .*)?\b(?:\w*Warning|Trace)\b"
_GROUP = r"\[(\w+: .*)\] \{$"
_IMPORTED = r" imported from (?:file://)?(/.*)$"
_REASON = r"(.*?): This error originated either by throwing .* with the reason \"(.*)\"\.(?:\]|$)"
FIELDS_WITHIN = 100
"""Most lines of the fields of an error."""
MESSAGE_WITHIN = 60
"""Most lines of a message with empty lines: a failed assertion shows both values."""
LOOK_BACK = 5
"""Most lines of a message above its stack."""


def find(lines: Sequence[str]) -> Iterator[Crash]:
    at = 0
    while at < len(lines):
        line = lines[at]
        crash = None
        if line.startswith("FATAL ERROR: "):
            crash = Crash(line, (), at)
        elif line[-1:].isdigit() and ":" in line and (found := re.match(_PLACE, line)):
            crash = _thrown(lines, at, Frame(found[1], int(found[2])))
        elif line.lstrip().startswith("at ") and at and not re.match(_STACK, lines[at - 1]) and re.match(_CALL, line):
            crash = _printed(lines, at)
        if crash is not None:
            yield crash
            at = crash.at
        at += 1


def _thrown(lines: Sequence[str], begin: int, thrown_at: Frame) -> Crash | None:
    """An error that ended the program: its place, the source, a caret, an empty line, the error and its stack."""
    caret = next((at for at in range(begin + 1, min(begin + 4, len(lines))) if re.match(_CARET, lines[at])), None)
    if caret is None:
        return None
    at = next((at for at in range(caret + 1, min(caret + 3, len(lines))) if lines[at].strip()), None)
    if at is None:
        return None
    if found := re.match(_GROUP, lines[at]):
        return _group(lines, at, found[1])
    error, at = with_more(lines, at, lines[at].strip(), stop=_END)
    frames, end = _stack(lines, at)
    if end == at and re.search(_HEAD, error):
        error, frames, end = _long_message(lines, at, error)
    if not any(_is_own(frame) for frame in frames) and not thrown_at.file.startswith("node:"):
        frames = [thrown_at, *frames]
    return _crash(error, frames, end)


def _group(lines: Sequence[str], begin: int, error: str) -> Crash:
    """An error with others in its fields, and no stack: the first of those has the place."""
    fields = range(begin + 1, min(begin + FIELDS_WITHIN, len(lines)))
    end = next((at for at in fields if lines[at] == "}"), begin)
    first = next((at for at in range(begin + 1, end) if re.match(_CALL, lines[at])), None)
    if first is None:
        return _crash(error, (), end)
    return _crash(f"{error}, the first: {lines[first - 1].strip()}", _stack(lines, first - 1)[0], end)


def _long_message(lines: Sequence[str], at: int, error: str) -> tuple[str, list[Frame], int]:
    """A message with empty lines before its stack."""
    for number in range(at + 1, min(at + MESSAGE_WITHIN, len(lines))):
        if lines[number].startswith("Node.js v"):
            break
        if re.match(_CALL, lines[number]):
            after = next((line.strip() for line in lines[at + 1 : number] if line.strip()), "")
            return f"{error} {after}" if error.endswith(":") and after else error, *_stack(lines, number - 1)
    return error, [], at


def _printed(lines: Sequence[str], begin: int) -> Crash | None:
    """An error that the program has printed itself: the error, and its stack from the line `begin` on."""
    frames, end = _stack(lines, begin - 1)
    above = range(begin - 1, max(begin - 1 - LOOK_BACK, -1), -1)
    for at in above:
        if re.match(_NO_ERROR, lines[at].strip()):
            return None
        if found := re.search(_HEAD, lines[at].strip()):
            return _crash(with_more(lines, at, found[1], stop=_END)[0], frames, end)
        if not lines[at].strip():
            break
    found = re.match(_OTHER_HEAD, lines[begin - 1])
    return _crash(found[1], frames, end)._replace(is_sure=False) if found else None


def _stack(lines: Sequence[str], above: int) -> tuple[list[Frame], int]:
    """The frames below the message that ends with the line `above`, without those of Node; and the last line, after the
    fields of the error in braces. Node lists the modules that required a missing one between message and stack."""
    frames: list[Frame] = []
    at = above
    if at + 1 < len(lines) and lines[at + 1].startswith("Require stack:"):
        at += 1
        while at + 1 < len(lines) and lines[at + 1].startswith("- "):
            at += 1
    while at + 1 < len(lines) and not re.match(_STACK, lines[at + 1]) and lines[at + 1].strip() and at < above + 4:
        if re.match(_END, lines[at + 1]):
            break
        at += 1
    if at + 1 >= len(lines) or not re.match(_STACK, lines[at + 1]):
        return [], above
    while at + 1 < len(lines) and re.match(r"\s+(?:at \S|\.\.\. \d+ lines)", lines[at + 1]):
        at += 1
        if found := re.match(_CALL, lines[at]):
            frames.append(Frame(found[1], int(found[2]), found[1].startswith(("node:", "internal/"))))
    if lines[at].endswith("{"):
        at = next((end for end in range(at + 1, min(at + FIELDS_WITHIN, len(lines))) if lines[end] == "}"), at)
    return [frame for frame in frames if _is_own(frame)], at


def _is_own(frame: Frame) -> bool:
    return not frame.is_library


def _crash(error: str, frames: Sequence[Frame], end: int) -> Crash:
    if found := re.search(_IMPORTED, error):
        return Crash(error[: found.start()], (Frame(found[1], None), *frames), end)
    if found := re.match(_REASON, error):
        error = f"{found[1].lstrip('[')}: {found[2]}"
    return Crash(error, tuple(frames), end)
