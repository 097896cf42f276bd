"""Keeps the last line of an output that may be endless. Pure."""

from __future__ import annotations

LINE_KEPT = 64 * 1024
"""Bytes of a line; of a longer one the rest is dropped."""


class LastLine:
    """The last line with anything but white space in it, of the pieces that `feed` gets."""

    def __init__(self) -> None:
        self._begun = bytearray()
        """The line after the last line feed."""
        self._whole = b""

    def feed(self, data: bytes) -> None:
        first, end, more = data.partition(b"\n")
        self._add(first)
        if not end:
            return
        whole, _, rest = more.rpartition(b"\n")
        if line := _last_line(whole) or bytes(self._begun).strip():
            self._whole = line
        self._begun.clear()
        self._add(rest)

    def _add(self, piece: bytes) -> None:
        if (room := LINE_KEPT + 1 - len(self._begun)) > 0:
            self._begun += piece[:room]

    def line(self) -> bytes:
        """Without white space around it; more than `LINE_KEPT` bytes if it was longer. Empty if there is none."""
        return bytes(self._begun).strip() or self._whole


def _last_line(whole: bytes) -> bytes:
    """The last of these lines that has anything in it. Looks at no line before it: a flood may have millions."""
    while whole := whole.rstrip():
        start = whole.rfind(b"\n") + 1
        if line := whole[start : start + LINE_KEPT + 1].strip():
            return line
        whole = whole[:start]
    return b""
