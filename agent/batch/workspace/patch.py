"""Writes the change of one file as `git diff --binary` does, so that `git apply` and `patch -p1` take it. Pure."""

from __future__ import annotations

import base64
import hashlib
import os
import stat
import zlib
from typing import TYPE_CHECKING, NamedTuple

from agent.tools.files.diff import common_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTEXT = 3
"""Lines around a change."""
HEAD = 8000
"""Bytes. A NUL among the first ones says that a file is binary."""
NOTHING = "0" * 40
LINK, PROGRAM, FILE = 0o120000, 0o100755, 0o100644
_LINE = 52
"""Compressed bytes of one line of a binary patch."""
_ESCAPES = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}


class Side(NamedTuple):
    """A file before or after the change."""

    mode: int
    """As git has it: `LINK`, `PROGRAM` or `FILE`."""
    data: bytes
    """The content; of a link its target."""


def git_mode(mode: int) -> int:
    """The mode that git keeps for an `st_mode`."""
    return LINK if stat.S_ISLNK(mode) else PROGRAM if mode & 0o100 else FILE


def file_patch(path: bytes, old: Side | None, new: Side | None) -> bytes:
    """The change of one file; None is a side without it. Empty if nothing has changed. A file that has become a
    link is deleted and made anew."""
    if old == new:
        return b""
    if old is not None and new is not None and (old.mode == LINK) != (new.mode == LINK):
        return file_patch(path, old, None) + file_patch(path, None, new)
    left, right = quote_name(b"a/" + path), quote_name(b"b/" + path)
    head = [b"diff --git %s %s\n" % (left, right), *_modes(old, new)]
    before, after = b"" if old is None else old.data, b"" if new is None else new.data
    if before != after or old is None or new is None:
        kept = b" %o" % new.mode if old is not None and new is not None and old.mode == new.mode else b""
        head.append(b"index %s..%s%s\n" % (_blob(old), _blob(new), kept))
    if before == after:
        return b"".join(head)
    if b"\0" in before[:HEAD] or b"\0" in after[:HEAD]:
        return b"".join([*head, b"GIT binary patch\n", *_literal(after), *_literal(before)])
    head.append(b"--- %s\n" % (b"/dev/null" if old is None else _ended(left)))
    head.append(b"+++ %s\n" % (b"/dev/null" if new is None else _ended(right)))
    return b"".join([*head, *_hunks(_lines(before), _lines(after))])


def _modes(old: Side | None, new: Side | None) -> list[bytes]:
    if old is None:
        return [] if new is None else [b"new file mode %o\n" % new.mode]
    if new is None:
        return [b"deleted file mode %o\n" % old.mode]
    return [] if old.mode == new.mode else [b"old mode %o\nnew mode %o\n" % (old.mode, new.mode)]


def _blob(side: Side | None) -> bytes:
    """git's name of the content."""
    if side is None:
        return NOTHING.encode()
    head = b"blob %d\0" % len(side.data)
    return hashlib.sha1(head + side.data, usedforsecurity=False).hexdigest().encode()


def display_name(path: str) -> str:
    """A path for people: as it is, or as git quotes it if it has bytes that are not UTF-8 or cannot be printed."""
    return path if path.isprintable() else quote_name(os.fsencode(path)).decode()


def quote_name(name: bytes) -> bytes:
    """A name as it is, or in quotes if it has other than printable ASCII characters. A folder whose name ends in a
    space is in quotes too: `git apply` does not take it otherwise, not even from `git diff`."""
    if all(32 <= sign < 127 and sign not in b'"\\' for sign in name) and b" /" not in name:
        return name
    signs = (
        f"\\{_ESCAPES[sign]}" if sign in _ESCAPES else chr(sign) if 32 <= sign < 127 else f"\\{sign:03o}"
        for sign in name
    )
    return f'"{"".join(signs)}"'.encode()


def _ended(name: bytes) -> bytes:
    """A tab ends a name with spaces: what follows would be a date."""
    return name + b"\t" if b" " in name and not name.startswith(b'"') else name


# --- binary -------------------------------------------------------------------------------------------------


def _literal(data: bytes) -> Iterator[bytes]:
    yield b"literal %d\n" % len(data)
    packed = zlib.compress(data)
    for at in range(0, len(packed), _LINE):
        part = packed[at : at + _LINE]
        length = bytes([len(part) + (64 if len(part) <= 26 else 70)])  # A to Z, then a to z
        yield length + base64.b85encode(part + b"\0" * (-len(part) % 4)) + b"\n"
    yield b"\n"


# --- text ---------------------------------------------------------------------------------------------------


def _lines(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


class _Change(NamedTuple):
    """Old lines from `start` to `end` become the new ones from `new_start` to `new_end`."""

    start: int
    end: int
    new_start: int
    new_end: int


def _hunks(old: list[bytes], new: list[bytes]) -> Iterator[bytes]:
    for group in _groups(_changes(old, new)):
        first, last = group[0], group[-1]
        start, end = max(0, first.start - CONTEXT), min(len(old), last.end + CONTEXT)
        new_start = first.new_start - (first.start - start)
        new_end = last.new_end + (end - last.end)
        yield b"@@ -%s +%s @@\n" % (_range(start, end), _range(new_start, new_end))
        at = start
        for change in group:
            yield from (_marked(b" ", line) for line in old[at : change.start])
            yield from (_marked(b"-", line) for line in old[change.start : change.end])
            yield from (_marked(b"+", line) for line in new[change.new_start : change.new_end])
            at = change.end
        yield from (_marked(b" ", line) for line in old[at:end])


def _changes(old: list[bytes], new: list[bytes]) -> Iterator[_Change]:
    at = new_at = 0
    for i, j in (*common_lines(old, new), (len(old), len(new))):
        if i > at or j > new_at:
            yield _Change(at, i, new_at, j)
        at, new_at = i + 1, j + 1


def _groups(changes: Iterator[_Change]) -> Iterator[list[_Change]]:
    """Changes whose contexts touch are one hunk."""
    group: list[_Change] = []
    for change in changes:
        if group and change.start - group[-1].end > 2 * CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _range(start: int, end: int) -> bytes:
    """Lines in a hunk's head: the first one, from 1, and the number. Of no lines it is the one before."""
    count = end - start
    return b"%d" % (start + 1) if count == 1 else b"%d,%d" % (start + 1 if count else start, count)


def _marked(mark: bytes, line: bytes) -> bytes:
    return mark + line if line.endswith(b"\n") else mark + line + b"\n\\ No newline at end of file\n"
