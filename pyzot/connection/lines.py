"""Splits what is read into lines, within a bound."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Lines:
    """Calls `on_line` with each line, without its line feed, and with the first `limit` bytes of a longer one.
    `on_long` is called before that, as soon as a line is longer."""

    def __init__(self, on_line: Callable[[bytes], None], limit: int, on_long: Callable[[], None] | None = None) -> None:
        self._on_line = on_line
        self._on_long = on_long or (lambda: None)
        self._limit = limit
        self._begun: list[bytes] = []
        self._size = 0

    def add(self, data: bytes) -> None:
        """Takes what was read."""
        first, *others = data.split(b"\n")
        self._continue(first)
        for piece in others:
            self._on_line(self._ended())
            self._continue(piece)

    def end(self) -> None:
        """No more comes: a last line without a line feed is a line."""
        if self._size:
            self._on_line(self._ended())

    def _continue(self, piece: bytes) -> None:
        room = self._limit - self._size
        self._size += len(piece)
        if len(piece) <= room:
            self._begun.append(piece)
        elif room >= 0:
            self._begun.append(piece[:room])
            self._size = self._limit + 1
            self._on_long()

    def _ended(self) -> bytes:
        line = b"".join(self._begun)
        self._begun, self._size = [], 0
        return line
