"""The frames to the driver, on a pipe. A driver that is slow in reading holds the runs: little waits here."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from supervisor.loop.pipes import PipeWriter
from wire.batch.node_frames import encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.loop.loop import Loop
    from wire.batch.node_frames import FromNode

FULL = 4 * 1024 * 1024
"""Bytes that wait when nothing more is read from the runs."""
ROOM = FULL // 4
"""Bytes that wait when it is read again."""


class FrameOutput:
    """`on_pace` is told whether the runs are to be held. Call `look` after each pass of the loop."""

    def __init__(self, loop: Loop, fd: int, on_pace: Callable[[bool], None]) -> None:
        self._pipe = PipeWriter(loop, fd, limit=1 << 40)
        self._on_pace = on_pace
        self._is_held = False
        self._waiting: deque[Callable[[], None]] = deque()

    @property
    def is_open(self) -> bool:
        """Whether the driver may still read."""
        return self._pipe.is_open

    @property
    def is_held(self) -> bool:
        """Whether runs are not read."""
        return self._is_held

    @property
    def is_flushed(self) -> bool:
        return not self._pipe.queued

    def send(self, frame: FromNode) -> None:
        """Frames that runs cause come from what `is_held` stops; others are short and few."""
        if self._pipe.is_open:
            self._pipe.send(encode(frame))

    def when_room(self, act: Callable[[], None]) -> None:
        """Calls `act`, which may send much, now or once there is room; in the order of the calls."""
        self._waiting.append(act)
        self._act()

    def look(self) -> None:
        """Holds the runs, or reads on."""
        self._act()
        queued = self._pipe.queued
        if self._is_held != (queued > (ROOM if self._is_held else FULL)):
            self._is_held = not self._is_held
            self._on_pace(self._is_held)

    def _act(self) -> None:
        while self._waiting and self._pipe.queued <= FULL:
            self._waiting.popleft()()

    def close(self) -> None:
        self._waiting.clear()
        self._pipe.close()
