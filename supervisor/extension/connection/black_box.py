"""The black box of a worker: its last frames in both directions, in memory.

Adding a frame is one append of three values that exist already: what a frame is, is read only when the box is kept.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from wire.framing import Oversize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wire.framing import Line

FRAMES = 200
"""Maximum number of frames."""
SIZE = 256 * 1024
"""Maximum of bytes of all frames together. In memory there may be `FRAMES` times `SHORT` bytes more."""
SHORT = 512
"""Length in bytes up to which a frame is added with `append`: such frames are never too much together."""
HEAD = 32 * 1024
"""Length in bytes of the part that is kept of a longer frame."""

Entry = tuple[float, bool, bytes] | tuple[float, bool, bytes, int]
"""The time on the loop's clock, whether the host has sent the frame, its bytes; and its length, if only a part is
kept."""


class BlackBox(deque[Entry]):
    """The last frames of one worker, the oldest first. A frame of at most `SHORT` bytes is added with `append`."""

    __slots__ = ("_is_trimmed", "_unseen")

    def __init__(self) -> None:
        super().__init__(maxlen=FRAMES)
        self._is_trimmed = False
        self._unseen = 0
        """Bytes of long frames since the sizes were last added up."""

    def add_long(self, at: float, is_sent: bool, frame: Line) -> None:
        """Adds a frame of more than `SHORT` bytes."""
        size = len(frame)
        if size > HEAD:
            self.append((at, is_sent, bytes(frame[:HEAD]), size))
            size = HEAD
        else:
            self.append((at, is_sent, bytes(frame)))
        self._unseen += size
        if self._unseen >= HEAD:
            self._unseen = 0
            self._trim(SIZE - HEAD)

    def add_lines(self, at: float, lines: Sequence[Line | Oversize]) -> None:
        """Adds several frames of the worker."""
        for line in lines[-FRAMES:]:
            if isinstance(line, Oversize):
                self.append((at, False, line.prefix, line.size))
            elif len(line) <= SHORT:
                self.append((at, False, bytes(line)))
            else:
                self.add_long(at, False, line)

    def _trim(self, size: int) -> None:
        held = sum(len(entry[2]) for entry in self)
        while held > size:
            held -= len(self.popleft()[2])
            self._is_trimmed = True

    def last(self) -> list[Entry]:
        """The frames of at most `SIZE` bytes together."""
        self._trim(SIZE)
        return list(self)

    @property
    def is_whole(self) -> bool:
        """Whether these are all frames since the start of the worker."""
        return not self._is_trimmed and len(self) < FRAMES
