"""Reads JSON of other programs as leniently as zot's decoder: invalid Unicode becomes U+FFFD.

JavaScript cuts strings between surrogates and then writes `"\\ud83d"`; shell tools pass on bytes of any encoding. If
the whole frame were refused for one character, its call would have no answer. For files that people write it says where
they are faulty: line and column.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The errors that decoding can raise. RecursionError: the text is nested about a thousand levels deep."""

ARGUMENTS_DEPTH = 100
"""Levels of nesting of the arguments of a call. Many readers and encoders of JSON give up at 250 levels or 1,000."""
REPAIR_LIMIT = 1024 * 1024
"""Bytes; a longer text is not repaired. Repairing takes 20 times as long as reading, and several times the memory."""

_BREAKS_TO_SPACES = bytes.maketrans(b"\n\r", b"  ")
_LONE = re.compile(
    rb"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD])[c-fC-F][0-9a-fA-F]{2})"
)
"""The escape of a surrogate without its other half."""
_BACKSLASH, _HIDDEN = rb"\\", b"\xff\xff"
"""An escaped backslash, which must not count as the start of an escape, and bytes that UTF-8 never has."""


def repair(text: bytes) -> bytes | None:
    """The text with U+FFFD for every byte that is not UTF-8 and every lone surrogate; None if it has neither, or is
    larger than `REPAIR_LIMIT`."""
    if len(text) > REPAIR_LIMIT:
        return None
    valid = text.decode("utf-8", "replace").encode().replace(_BACKSLASH, _HIDDEN)
    mended = _LONE.sub(rb"\\ufffd", valid).replace(_HIDDEN, _BACKSLASH)
    return None if mended == text else mended


def read(text: bytes) -> tuple[Any, bytes]:
    """The value, and the text that was read, after a repair if it needed one. Raises one of `UNREADABLE`."""
    text = bytes(text)
    try:
        return msgspec.json.decode(text), text
    except UNREADABLE:
        mended = repair(text)
        if mended is None:
            raise
    return msgspec.json.decode(mended), mended


def json_on_one_line(json_text: bytes) -> msgspec.Raw:
    """JSON text with spaces in place of line breaks, so that it fits a frame or a record. JSON has line breaks only
    between tokens; in strings they are escaped."""
    return msgspec.Raw(json_text.translate(_BREAKS_TO_SPACES))


def reason(error: Exception) -> str:
    """Why a text could not be read, in a few words."""
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def is_deeper(value: Any, levels: int) -> bool:
    """Whether the lists and dicts of a value are nested deeper than this many levels."""
    level = [value]
    for _ in range(levels + 1):
        containers = [item for item in level if isinstance(item, dict | list)]
        if not containers:
            return False
        level = [inner for outer in containers for inner in (outer.values() if isinstance(outer, dict) else outer)]
    return True


# --- places in a text ---------------------------------------------------------------------------------------

_BYTE = re.compile(r"^JSON is malformed: (?P<what>.*) \(byte (?P<at>\d+)\)$", re.DOTALL)
_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[][{},:]|[^][{},:"\s]+)')
PLACES_LIMIT = 256 * 1024
"""Bytes. A file that people write is smaller; a second for each megabyte would be too long."""
LINE_SHOWN = 100
"""Characters of a quoted line."""
MARK = b"\xef\xbb\xbf"

Steps = tuple[str | int, ...]
"""The names of fields and the indices in lists that lead to a value."""


class Place(NamedTuple):
    """A place in a text. Line and column count from 1."""

    line: int
    column: int
    quoted: str
    """The line; of a long one the part around the place."""
    caret: int
    """The position of the place in `quoted`, from 0."""


def fault_of(text: bytes, error: Exception) -> tuple[str, Place | None]:
    """Why a text is no JSON, in words for its author, and where; None if no place is known."""
    if isinstance(error, RecursionError):
        return reason(error), None
    if isinstance(error, UnicodeDecodeError):
        try:
            text.decode()
        except UnicodeDecodeError as wrong:
            return "this is not UTF-8", place_at(text, wrong.start)
        return str(error), None
    if text.startswith(MARK):
        return "it starts with a byte order mark: save it as UTF-8 without one", place_at(text, 0)
    found = _BYTE.match(str(error))
    if found is None:  # the text ends too early
        end = len(text.rstrip())
        half = _LONE.search(text.replace(_BACKSLASH, _HIDDEN))
        if half is not None and half.end() < end:  # or the decoder has looked for the other half in vain
            return f"{half[0].decode()} is half of a character, without its other half", place_at(text, half.start())
        return ("it is empty" if not text.strip() else "it ends in the middle"), place_at(text, end)
    at = int(found["at"])
    if text[at : at + 2] in (b"//", b"/*") or text[at : at + 1] == b"#":
        return "JSON has no comments", place_at(text, at)
    what = found["what"]
    if what.startswith("expected ','"):
        what += "; is a comma missing before this?"
    return what, place_at(text, at)


def place_at(text: bytes, at: int) -> Place:
    """The place of a byte. A place behind the end is that of the end."""
    before = text[:at].decode("utf-8", "replace")
    line = before.count("\n") + 1
    lead = before.rpartition("\n")[2]
    rest = text[at:].partition(b"\n")[0].decode("utf-8", "replace").rstrip("\r")
    start = max(0, len(lead) - LINE_SHOWN // 2)
    cut = (lead + rest)[start:][:LINE_SHOWN]
    spaces = len(cut) - len(cut.lstrip())
    return Place(line, len(lead) + 1, cut.strip(), max(0, len(lead) - start - spaces))


def places(text: bytes) -> dict[str, int]:
    """Where the name of each field starts, and each item of a list, in bytes, by paths such as `limits.rss` and
    `args[0]`; empty if the text is larger than `PLACES_LIMIT`. The text must be JSON."""
    return dict(_fields(text)) if len(text) <= PLACES_LIMIT else {}


def places_by_steps(text: bytes) -> dict[Steps, int]:
    """As `places`, by the names and indices that lead there: a name with dots in it is no other field's path."""
    return dict(_steps(text)) if len(text) <= PLACES_LIMIT else {}


def find_repeated(text: bytes, names: Collection[str]) -> str:
    """The first of these names that the outermost object has more than once; empty if there is none. Readers of JSON
    differ in which one counts. The text must be JSON."""
    if all(text.count(b'"%s"' % name.encode()) < 2 for name in names):
        return ""
    seen: set[str] = set()
    for path, _ in _fields(text):
        if path in names and path in seen:
            return path
        seen.add(path)
    return ""


def _fields(text: bytes) -> Iterator[tuple[str, int]]:
    for steps, at in _steps(text):
        yield path_of(steps), at


def path_of(steps: Steps) -> str:
    """The steps as people read them: `limits.rss`, `args[0]`."""
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return path[1:] if steps and isinstance(steps[0], str) else path


def _steps(text: bytes) -> Iterator[tuple[Steps, int]]:
    stack: list[tuple[Steps, int]] = []  # the path of each open object or list, and the next index in a list or -1
    path: Steps = ()
    is_name = False
    whole = text.decode("utf-8", "replace")
    counted, at = 0, 0  # characters, and their bytes
    for token in _TOKEN.finditer(whole):
        word = token[1]
        at += len(whole[counted : token.start(1)].encode())
        counted = token.start(1)
        if word in "}]":
            stack.pop()
        elif word == ",":
            is_name = bool(stack) and stack[-1][1] < 0
        elif word != ":" and is_name:
            path = (*stack[-1][0], msgspec.json.decode(word))
            is_name = False
            yield path, at
        elif word != ":":
            if stack and stack[-1][1] >= 0:
                inside, index = stack[-1]
                path = (*inside, index)
                stack[-1] = (inside, index + 1)
                yield path, at
            if word in "{[":
                stack.append((path, -1 if word == "{" else 0))
                is_name = word == "{"


def raw_json(text: bytes) -> msgspec.Raw:
    """JSON text as a value for a record, on one line; null when it is not JSON, or nested deeper than
    `ARGUMENTS_DEPTH`."""
    try:
        value = msgspec.json.decode(text)
    except UNREADABLE:
        return msgspec.Raw(b"null")
    return msgspec.Raw(b"null") if is_deeper(value, ARGUMENTS_DEPTH) else json_on_one_line(text)
