"""Reads the JSON of other programs as leniently as zot's decoder: invalid Unicode becomes U+FFFD.

JavaScript cuts strings between surrogates and then writes `"\\ud83d"`; shell tools pass on bytes of any encoding. If
one character made the whole frame invalid, its call would have no answer. For files that people write, this module
gives the line and column of a fault.
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
"""Maximum nesting of the arguments of a call. Many readers and encoders of JSON give up at 250 levels or 1,000."""
REPAIR_LIMIT = 1024 * 1024
"""Maximum size in bytes of a text that is repaired. Repairing takes 20 times as long as reading, and several times the
memory."""

_BREAKS_TO_SPACES = bytes.maketrans(b"\n\r", b"  ")
_LONE = re.compile(
    rb"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD])[c-fC-F][0-9a-fA-F]{2})"
)
"""The escape of a surrogate without its other half."""
_BACKSLASH, _HIDDEN = rb"\\", b"\xff\xff"
"""An escaped backslash, which must not count as the start of an escape, and bytes that UTF-8 never has."""


def repair(text: bytes) -> bytes | None:
    """Returns the text with U+FFFD for every byte that is not UTF-8 and every lone surrogate; None if it has neither,
    or is larger than `REPAIR_LIMIT`."""
    if len(text) > REPAIR_LIMIT:
        return None
    valid = text.decode("utf-8", "replace").encode().replace(_BACKSLASH, _HIDDEN)
    mended = _LONE.sub(rb"\\ufffd", valid).replace(_HIDDEN, _BACKSLASH)
    return None if mended == text else mended


def read(text: bytes) -> tuple[Any, bytes]:
    """Returns the value, and the text that was decoded, repaired if necessary. Raises one of `UNREADABLE`."""
    text = bytes(text)
    try:
        return msgspec.json.decode(text), text
    except UNREADABLE:
        mended = repair(text)
        if mended is None:
            raise
    return msgspec.json.decode(mended), mended


def json_on_one_line(json_text: bytes) -> msgspec.Raw:
    """Returns the JSON text with spaces in place of line breaks, so that it fits a frame or a record. JSON has line
    breaks only between tokens; in strings they are escaped."""
    return msgspec.Raw(json_text.translate(_BREAKS_TO_SPACES))


def reason(error: Exception) -> str:
    """Returns in a few words why a text could not be read."""
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
"""Maximum size in bytes of a text in which fields are located: files that people write are smaller, and the search
takes a second per megabyte."""
LINE_SHOWN = 100
"""Maximum length of a quoted line in characters."""
MARK = b"\xef\xbb\xbf"

Steps = tuple[str | int, ...]
"""The names of fields and the indices in lists that lead to a value."""


class Place(NamedTuple):
    """A place in a text. Line and column count from 1."""

    line: int
    column: int
    quoted: str
    """The line; for a long line, the part around the place."""
    caret: int
    """The position of the place in `quoted`, from 0."""


def fault_of(text: bytes, error: Exception) -> tuple[str, Place | None]:
    """Says why a text is not JSON, in words for its author, and where; None instead of an unknown place."""
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
    """Returns the place of the byte at `at`, at most the end of the text."""
    before = text[:at].decode("utf-8", "replace")
    line = before.count("\n") + 1
    lead = before.rpartition("\n")[2]
    rest = text[at:].partition(b"\n")[0].decode("utf-8", "replace").rstrip("\r")
    start = max(0, len(lead) - LINE_SHOWN // 2)
    cut = (lead + rest)[start:][:LINE_SHOWN]
    spaces = len(cut) - len(cut.lstrip())
    return Place(line, len(lead) + 1, cut.strip(), max(0, len(lead) - start - spaces))


def places(text: bytes) -> dict[str, int]:
    """Returns the position in bytes of each field's name and each item of a list, by paths such as `limits.rss` and
    `args[0]`; empty if the text is larger than `PLACES_LIMIT`. The text must be JSON."""
    return dict(_fields(text)) if len(text) <= PLACES_LIMIT else {}


def places_by_steps(text: bytes) -> dict[Steps, int]:
    """Like `places`, by tuples of names and indices: a name with dots cannot be confused with a path."""
    return dict(_steps(text)) if len(text) <= PLACES_LIMIT else {}


def find_repeated(text: bytes, names: Collection[str]) -> str:
    """Returns the first of `names` that the outermost object has more than once; "" without any. Readers of JSON differ
    in which value they take. The text must be JSON."""
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
    """Returns the steps as a path for people: `limits.rss`, `args[0]`."""
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
    """Returns JSON text on one line; null if it is not JSON, or nested deeper than `ARGUMENTS_DEPTH`."""
    try:
        value = msgspec.json.decode(text)
    except UNREADABLE:
        return msgspec.Raw(b"null")
    return msgspec.Raw(b"null") if is_deeper(value, ARGUMENTS_DEPTH) else json_on_one_line(text)
