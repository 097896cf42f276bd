"""The black box of a worker: its last frames in both directions, in memory.

A frame costs one append of bytes that exist already, and at most once in `MARK_S` a time: what a frame is, is read only
when the box is kept. More objects for each frame would be slow for another reason: two hundred of each are more than
the processor keeps near.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from wire.framing import Oversize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wire.framing import Line

FRAMES = 200
"""Maximum number of frames."""
SIZE = 256 * 1024
"""Maximum of bytes of all frames together. In memory there may be `FRAMES` times `SHORT` bytes more."""
SHORT = 512
"""Length in bytes up to which a frame may be appended as it is: such frames are never too much together."""
HEAD = 32 * 1024
"""Length in bytes of the part that is kept of a longer frame."""
MARK_S = 1e-3
"""Seconds for which frames have the time of the one before them."""
_HEADER = b"Content-Length: "


_TimedFrame = tuple[float, bool, bytes, int, float]
"""The members of a `KeptFrame`, and the time of the frame with a time before it."""


class KeptFrame(NamedTuple):
    """A frame; of a long one the first part."""

    at: float
    """Time on the loop's clock."""
    is_sent: bool
    """Whether the host has sent it."""
    data: bytes
    size: int
    """Length in bytes of the whole frame."""


class BlackBox(deque[bytes | _TimedFrame]):
    """The last frames of one worker, the oldest first.

    Until `due` a frame of at most `SHORT` bytes is appended as it is: one that was sent with its line end or its
    header, one that was received without. Any other frame is added with `add`.
    """

    __slots__ = ("_is_trimmed", "_marked", "_unseen", "due")

    def __init__(self) -> None:
        super().__init__(maxlen=FRAMES)
        self.due = 0.0
        self._marked = 0.0
        self._is_trimmed = False
        self._unseen = 0
        """Bytes of long frames since the sizes were last added up."""

    def add(self, at: float, is_sent: bool, frame: Line, size: int = 0) -> None:
        """Adds a frame with its time. `size` is its length, if this is only a part of it."""
        size = size or len(frame)
        data = bytes(frame if size <= HEAD else frame[:HEAD])
        self.append((at, is_sent, data, size, self._marked))
        self._marked = at
        self.due = at + MARK_S
        if size > SHORT:
            self._unseen += min(size, HEAD)
            if self._unseen >= HEAD:
                self._unseen = 0
                self._trim(SIZE - HEAD)

    def add_lines(self, at: float, lines: Sequence[Line | Oversize]) -> None:
        """Adds several frames of the worker."""
        for line in lines[-FRAMES:]:
            if type(line) is bytes and at < self.due and len(line) <= SHORT:
                self.append(line)
            elif isinstance(line, Oversize):
                self.add(at, False, line.prefix, line.size)
            else:
                self.add(at, False, line)

    def _trim(self, size: int) -> None:
        held = sum(map(_length, self))
        while held > size:
            held -= _length(self.popleft())
            self._is_trimmed = True

    def last(self) -> list[KeptFrame]:
        """The frames of at most `SIZE` bytes together."""
        self._trim(SIZE)
        return list(self._with_times())

    def _with_times(self) -> Iterator[KeptFrame]:
        marked = next((entry[4] for entry in self if isinstance(entry, tuple)), self._marked)
        for entry in self:
            if isinstance(entry, tuple):
                marked, is_sent, data, size, _before = entry
            else:
                is_sent, data, size = entry.endswith(b"\n") or entry.startswith(_HEADER), entry, len(entry)
            yield KeptFrame(marked, is_sent, data, size)

    @property
    def is_whole(self) -> bool:
        """Whether these are all frames since the start of the worker."""
        return not self._is_trimmed and len(self) < FRAMES


def _length(entry: bytes | _TimedFrame) -> int:
    return len(entry[2] if isinstance(entry, tuple) else entry)
