"""Bytes that wait until a descriptor takes them, some at a time. Does no I/O itself."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Outbox:
    """Hands out every byte once, in the order of the calls of `append`. Each owner bounds `queued` by its own rule."""

    def __init__(self) -> None:
        self.queued = 0
        """Bytes that wait."""
        self._chunks: deque[memoryview] = deque()

    def append(self, data: bytes | memoryview) -> None:
        if data:
            self._chunks.append(memoryview(data))
            self.queued += len(data)

    def flush(self, write: Callable[[memoryview], int]) -> int:
        """Calls `write` with the oldest bytes until all are written, or `write` returns 0 or raises `BlockingIOError`.
        Returns the number of bytes written. Any other error ends the flush and is raised."""
        before = self.queued
        while self._chunks:
            chunk = self._chunks[0]
            try:
                taken = write(chunk)
            except BlockingIOError:
                break
            if not taken:
                break
            self.queued -= taken
            if taken < len(chunk):
                self._chunks[0] = chunk[taken:]
            else:
                self._chunks.popleft()
        return before - self.queued

    def clear(self) -> None:
        self._chunks.clear()
        self.queued = 0
