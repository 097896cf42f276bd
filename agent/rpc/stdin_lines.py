"""Reads the lines of a client from a descriptor that the loop watches, such as stdin."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from wire.framing import LineSplitter
from wire.rpc.request_lines import LINE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.loop.loop import Loop
    from wire.framing import Line, Oversize


class StdinLines:
    """Passes each line to `on_line`, and calls `on_end` once at the end of file or at an error. A last line without an
    LF counts. The descriptor stays open and in its mode: other programs may share it."""

    def __init__(
        self,
        loop: Loop,
        fd: int,
        on_line: Callable[[Line | Oversize], None],
        on_end: Callable[[], None],
        limit: int = LINE_LIMIT,
    ) -> None:
        self._loop = loop
        self._fd = fd
        self._on_line = on_line
        self._on_end = on_end
        self._splitter = LineSplitter(limit)
        self._is_open = False
        self._is_watched = True
        self._is_paused = False

    def start(self) -> None:
        """Begins to read."""
        self._is_open = True
        try:
            self._loop.watch(self, read=True)
        except OSError:  # a file or /dev/null: always readable, so the loop cannot watch it
            self._is_watched = False
            self._loop.call_later(0, self._read_file)

    def stop(self) -> None:
        """Stops reading."""
        if self._is_open and self._is_watched:
            self._loop.watch(self)
        self._is_open = False

    def pause(self) -> None:
        """Reads nothing until `resume`. Lines that were already read are still passed on."""
        self._is_paused = True
        if self._is_open and self._is_watched:
            self._loop.watch(self)

    def resume(self) -> None:
        """Reads again."""
        self._is_paused = False
        if self._is_open and self._is_watched:
            self._loop.watch(self, read=True)

    def fileno(self) -> int:
        return self._fd

    def on_readable(self, budget: int) -> None:
        try:
            data = os.read(self._fd, budget)
        except BlockingIOError:  # another reader of the same pipe was quicker
            return
        except OSError:
            data = b""
        for line in self._splitter.feed(data):
            if self._is_open:
                self._on_line(line)
        if data or not self._is_open:
            return
        if (rest := self._splitter.finish()) is not None:
            self._on_line(rest)
        self.stop()
        self._on_end()

    def on_writable(self) -> None:
        pass

    def _read_file(self) -> None:
        if self._is_open:
            if not self._is_paused:
                self.on_readable(64 * 1024)
            self._loop.call_later(0.01 if self._is_paused else 0, self._read_file)
