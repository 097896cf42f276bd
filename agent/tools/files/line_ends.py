"""Helps to find and replace text with LF line ends in a file that has CRLF, LF, or both."""

from __future__ import annotations

from bisect import bisect_left


class Unified:
    """A file's bytes with every CRLF read as LF (`text`), and the way back to the bytes (`raw_offset`)."""

    def __init__(self, raw: bytes) -> None:
        lines = raw.split(b"\r\n")
        self.text = b"\n".join(lines)
        self._crlf: list[int] = []
        """Positions in `text` of the line ends that are CRLF in the file, ascending."""
        position = -1
        for line in lines[:-1]:
            position += len(line) + 1
            self._crlf.append(position)

    def raw_offset(self, position: int) -> int:
        """The offset in the file of `text[position]`; never one between CR and LF."""
        return position + bisect_left(self._crlf, position)

    def style_for(self, start: int, end: int, near: int) -> bytes | None:
        """The kind of line end for new lines at `near`, inside `text[start:end]`.

        The first of these line ends decides: the next one in the region, the one before `near` in the region, the next
        one after the region, the last one before the region. None if the file has no line end.
        """
        position = self.text.find(b"\n", near, end)
        if position < 0:
            position = self.text.rfind(b"\n", start, near)
        if position < 0:
            position = self.text.find(b"\n", end)
        if position < 0:
            position = self.text.rfind(b"\n", 0, start)
        if position < 0:
            return None
        return b"\r\n" if self._is_crlf(position) else b"\n"

    def _is_crlf(self, position: int) -> bool:
        index = bisect_left(self._crlf, position)
        return index < len(self._crlf) and self._crlf[index] == position


def with_lf(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n")
