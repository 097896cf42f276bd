"""Keeps the end of a command's output in bounded memory. Pure: bytes in, text out.

zot keeps the beginning, but a failing build prints its error last.
"""

from __future__ import annotations

import codecs

import msgspec

MAX_BYTES = 51_200
MAX_LINES = 2_000


class OutputExtent:
    """Counts the bytes and lines of the output."""

    def __init__(self) -> None:
        self.bytes = 0
        self._line_ends = 0
        self._inside_line = False

    def add(self, chunk: bytes) -> None:
        if chunk:
            self.bytes += len(chunk)
            self._line_ends += chunk.count(b"\n")
            self._inside_line = not chunk.endswith(b"\n")

    @property
    def lines(self) -> int:
        """The number of lines; an unfinished last line counts."""
        return self._line_ends + self._inside_line

    @property
    def exceeds_window(self) -> bool:
        return self.bytes > MAX_BYTES or self.lines > MAX_LINES


class Tail(msgspec.Struct, frozen=True):
    """The end of the output, and the amount dropped before it."""

    text: str
    dropped_bytes: int = 0
    dropped_lines: int = 0
    """Lines that are dropped completely."""
    cut_by_lines: bool = False
    """Whether MAX_LINES made the cut, not MAX_BYTES."""


class OutputWindow:
    """Takes the output in chunks. The borders of the chunks do not change the result."""

    def __init__(self) -> None:
        self.extent = OutputExtent()
        self._kept = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, chunk: bytes) -> str:
        """Take a chunk and return the text that it completes, to show as progress.

        Characters are never split, and bytes that are not UTF-8 are U+FFFD.
        """
        self.extent.add(chunk)
        self._kept += chunk[-MAX_BYTES - 1 :]
        if len(self._kept) > 2 * MAX_BYTES:
            # Keeps one byte more than the window shows: the byte tells whether the window starts with a line.
            del self._kept[: -MAX_BYTES - 1]
        return self._decoder.decode(chunk)

    def finish(self) -> str:
        """The text of an unfinished character at the very end, if there is one."""
        return self._decoder.decode(b"", final=True)

    def tail(self) -> Tail:
        """The last MAX_LINES lines of the last MAX_BYTES bytes, beginning with a whole line.

        Only a last line that is longer than MAX_BYTES loses its beginning, up to the start of a character.
        """
        kept = bytes(self._kept)
        start = _start_by_bytes(kept)
        last_lines = _start_by_lines(kept)
        cut_by_lines = last_lines > start
        shown = kept[max(start, last_lines) :]
        return Tail(
            text=shown.decode("utf-8", "replace"),
            dropped_bytes=self.extent.bytes - len(shown),
            dropped_lines=self.extent.lines - _line_count(shown),
            cut_by_lines=cut_by_lines,
        )


def _start_by_bytes(data: bytes) -> int:
    if len(data) <= MAX_BYTES:
        return 0
    start = len(data) - MAX_BYTES
    next_line = data.find(b"\n", start - 1) + 1
    if 0 < next_line < len(data):
        return next_line
    while start < len(data) and data[start] & 0xC0 == 0x80 and start < len(data) - MAX_BYTES + 3:
        start += 1
    return start


def _start_by_lines(data: bytes) -> int:
    position = len(data)
    if data.endswith(b"\n"):
        position -= 1
    for _ in range(MAX_LINES):
        position = data.rfind(b"\n", 0, position)
        if position < 0:
            return 0
    return position + 1


def _line_count(data: bytes) -> int:
    return data.count(b"\n") + (data[-1:] not in (b"", b"\n"))
