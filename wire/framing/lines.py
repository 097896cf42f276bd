"""Cuts a byte stream into frames: one JSON object per line, ended by LF.

The time is linear in the number of bytes, and the result does not depend on how they are cut into chunks. Only LF ends
a line: U+2028 and other Unicode line separators are legal inside JSON strings. A line longer than the limit is dropped
and reported, and the stream goes on after the next LF; memory is bounded by the limit. The limit of a long line may
depend on how the line begins.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT_FRAME_LIMIT = 16 * 1024 * 1024
"""Default limit of a line in bytes, without the LF. Lines of extensions have limits by kind: `dialects.long_lines`."""

PREFIX_KEPT = 512
"""Number of bytes of an oversize line that are kept, to name the line in the error."""

COPIED = 64 * 1024
"""Length in bytes up to which a line is copied to `bytes`. A longer line that came in pieces is returned as the
bytearray that collected them: a copy would take as long as receiving the line."""

CROWD = 1000
"""Number of lines in one chunk that are decoded however short they are."""
SHORTEST_FRAME = 12
"""Length in bytes of the shortest object with a `type` of one letter."""

Line = bytes | bytearray


class Oversize(NamedTuple):
    """A line that was dropped because it was longer than the limit."""

    size: int
    """Length of the whole line in bytes, without the LF."""
    prefix: bytes
    """Its first bytes, `PREFIX_KEPT` at most."""
    limit: int
    """Its limit in bytes."""
    suffix: bytes = b""
    """Its last bytes, `PREFIX_KEPT` at most: some programs write the id of an answer last."""

    @property
    def frame_type(self) -> str | None:
        """The frame's `type` if it is near the start, else None."""
        return string_member(self.prefix, b"type")

    @property
    def frame_id(self) -> str | None:
        """The frame's `id` if it is near the start, else None."""
        return string_member(self.prefix, b"id")

    @property
    def written_id(self) -> bytes | None:
        """The JSON text of its `id` as it was written, if it is a string or a number near the start, else None."""
        return written_member(self.prefix, b"id")


class LineSplitter:
    """Splits a byte stream at LF, chunk by chunk.

    `feed` returns the complete lines in order, without their LF, with an `Oversize` in the place of each dropped line.
    """

    __slots__ = ("_allowed", "_dropped", "_last", "_limit_of", "_tail", "limit", "pending", "shortest")

    has_more = False
    """Each `feed` returns every complete line."""

    def __init__(
        self,
        limit: int = DEFAULT_FRAME_LIMIT,
        limit_of: Callable[[bytes], int] | None = None,
        *,
        shortest: int = SHORTEST_FRAME,
    ) -> None:
        """`limit_of` returns the limit of a line longer than `limit`, by its first bytes, `PREFIX_KEPT` at most.
        `shortest` is for `drop_scraps`."""
        if limit < 1:
            raise ValueError(f"frame limit must be positive, not {limit}")
        self.limit = limit
        self.shortest = shortest
        self._limit_of = limit_of
        self._allowed = limit  # bytes of the current line
        self._tail = bytearray()
        self._dropped = 0  # bytes of the current oversize line that were seen and not kept
        self._last = b""  # its last bytes so far
        self.pending = 0
        """Number of bytes held back because their LF has not come yet."""

    @property
    def is_dropping(self) -> bool:
        """Whether the current line is longer than its limit already, and has not ended."""
        return self._dropped > 0

    def feed(self, data: bytes) -> list[Line | Oversize]:
        """Takes the next chunk. Returns the lines that it completes."""
        lines: list[Line | Oversize] = []
        if self.pending:
            end = data.find(b"\n")
            if end < 0:
                self._hold(data)
                return lines
            lines.append(self._complete(data[:end]))
            data = data[end + 1 :]
        whole: list[Line | Oversize] = data.split(b"\n")  # type: ignore[assignment]
        rest = whole.pop()
        if len(data) > self.limit:
            whole = [self._complete(line) for line in whole]  # type: ignore[arg-type]
        if rest:
            self._hold(rest)  # type: ignore[arg-type]
        return lines + whole if lines else whole

    def finish(self) -> Line | Oversize | None:
        """Returns the rest without LF at the end of the stream; None if the stream ended with LF."""
        if not self._tail:
            return None
        return self._complete(b"")

    def _complete(self, last: bytes) -> Line | Oversize:
        self._hold(last)
        kept, dropped, allowed = self._tail, self._dropped, self._allowed
        self._tail = bytearray()
        self.pending = 0
        self._dropped = 0
        self._allowed = self.limit
        if dropped:
            return Oversize(len(kept) + dropped, bytes(kept), allowed, self._last)
        return kept if len(kept) > COPIED else bytes(kept)

    def _hold(self, data: bytes) -> None:
        if self._dropped:
            self._dropped += len(data)
            self._last = data[-PREFIX_KEPT:] if len(data) >= PREFIX_KEPT else (self._last + data)[-PREFIX_KEPT:]
            return
        self._tail += data
        kept = min(PREFIX_KEPT, self.limit)
        if len(self._tail) > self._allowed and self._limit_of is not None:
            self._allowed = max(self.limit, self._limit_of(bytes(self._tail[:kept])))
        if len(self._tail) > self._allowed:
            self._dropped = len(self._tail) - kept
            self._last = bytes(self._tail[-PREFIX_KEPT:])
            del self._tail[kept:]
        self.pending = len(self._tail)


def drop_scraps(lines: list[Line | Oversize], shortest: int) -> int:
    """Removes lines of less than `shortest` bytes, too few for a message, after the first `CROWD` lines. Returns their
    number. Decoding such a line takes as long as decoding a frame of a hundred bytes, and a chunk may have tens of
    thousands."""
    before = len(lines)
    lines[CROWD:] = [line for line in lines[CROWD:] if type(line) is Oversize or len(line) >= shortest]
    return before - len(lines)


def drop_lines(lines: list[Line | Oversize], heads: tuple[bytes, ...]) -> int:
    """Removes the lines that begin with one of these bytes. Returns their number."""
    before = len(lines)
    lines[:] = [line for line in lines if type(line) is Oversize or not line.startswith(heads)]  # type: ignore[union-attr]
    return before - len(lines)


_NUMBER = rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_VALUE = rb'(?P<text>"[^"\\\x00-\x1f]{0,200}")|(?P<number>' + _NUMBER + rb")(?=[\s,}])|true|false|null"
_MEMBERS = re.compile(rb'\s*"(?P<key>[A-Za-z_]+)"\s*:\s*(?:' + _VALUE + rb")\s*,?")


def string_member(prefix: bytes, key: bytes) -> str | None:
    """Returns a string member of the object that starts in `prefix`, or None if it is behind a nested member."""
    written = written_member(prefix, key)
    return written[1:-1].decode("utf-8", "replace") if written is not None and written[:1] == b'"' else None


def written_member(prefix: bytes, key: bytes) -> bytes | None:
    """Returns the JSON text of a member of the object that starts in `prefix`, if it is a string or a number; else
    None. The search ends at the first nested member."""
    start = prefix.find(b"{")
    if start < 0 or prefix[:start].strip():
        return None
    at = start + 1
    while member := _MEMBERS.match(prefix, at):
        if member["key"] == key:
            return member["text"] or member["number"]
        at = member.end()
    return None
