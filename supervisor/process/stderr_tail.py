"""The last lines that a process wrote to stderr."""

from __future__ import annotations

from wire.text import one_line

KEPT = 64 * 1024
"""Bytes. Stacks of Java and Go are long, and the error stands above them."""
LINES = 2000
"""Most lines."""
LINE_KEPT = 4096
"""Bytes of a line."""
LINE_SHOWN = 200
"""Most characters of a line in a message."""


class StderrTail:
    """Keeps the last `KEPT` bytes, up to twice as many between two cuts. Nothing is decoded before it is asked for."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._is_cut = False

    def write(self, data: bytes) -> None:
        """Appends a piece of output. The piece may end within a line."""
        self._kept += data[-KEPT:]
        if len(self._kept) > 2 * KEPT or len(data) > KEPT:
            del self._kept[:-KEPT]
            self._is_cut = True

    def lines(self) -> list[str]:
        """The last lines as they came, with their indentation: at most `LINES`, the last one perhaps not whole."""
        lines = self._kept[-KEPT:].split(b"\n")
        if any(line.strip() for line in lines[1:]) and (self._is_cut or len(self._kept) > KEPT):
            del lines[0]
        return [line[:LINE_KEPT].decode("utf-8", "replace").rstrip("\r") for line in lines[-LINES:]]

    def shown(self, count: int) -> list[str]:
        """The last `count` lines that are not empty, each printable and at most `LINE_SHOWN` characters long."""
        found: list[str] = []
        for line in reversed(self.lines()):
            if len(found) < count and (text := one_line(line, LINE_SHOWN)):
                found.append(text)
        return found[::-1]

    def last_line(self) -> str:
        """The last line that is not empty, printable and at most `LINE_SHOWN` characters long; empty if there is
        none."""
        return "".join(self.shown(1))
