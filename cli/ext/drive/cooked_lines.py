"""Lines from a pipe, from a file, or from a terminal that edits and shows them itself."""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from supervisor.loop.loop import Loop


class CookedLines:
    """Reads lines within the loop."""

    def __init__(self, loop: Loop, fd: int) -> None:
        self.lines: deque[str | None] = deque()
        """The lines that were read and not taken yet. None is the last: the end of the input."""
        self._loop = loop
        self._fd = fd
        self._rest = b""
        self._is_watched = False

    def start(self) -> None:
        try:
            self._loop.watch(self, read=True)
            self._is_watched = True
        except PermissionError:  # epoll refuses files: a file is read at once
            while None not in self.lines:
                self.on_readable(1 << 16)

    def fileno(self) -> int:
        return self._fd

    def on_readable(self, budget: int) -> None:
        try:
            data = os.read(self._fd, budget)
        except OSError:
            data = b""
        *whole, self._rest = (self._rest + data).split(b"\n")
        if not data:
            if self._rest:
                whole.append(self._rest)
            self.close()
        self.lines += [line.decode("utf-8", "replace") for line in whole]
        if not data:
            self.lines.append(None)

    def on_writable(self) -> None:
        pass

    def close(self) -> None:
        if self._is_watched:
            self._is_watched = False
            self._loop.watch(self)
