"""A pipe with a name, by which the runs of a batch hand their events to it: one courier delivers those of all runs,
and outlives the batch.

A line of at most `LONGEST` bytes is written at once or not at all, so lines of several runs do not mix.
"""

from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING

from supervisor.home import runtime_dir
from supervisor.loop.pipes import PipeReader
from wire.framing import LineSplitter, Oversize

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from supervisor.loop.loop import Loop

LONGEST = select.PIPE_BUF


class Inbox:
    """The batch's end. `on_line` gets each line, LF included. Raises `OSError`."""

    def __init__(self, loop: Loop, folder: Path, on_line: Callable[[bytes], None]) -> None:
        """`folder` is `runtime_dir()`."""
        runtime_dir.prepare(folder)
        self.path = runtime_dir.socket_of(folder, os.getpid(), runtime_dir.ALERTS_SUFFIX)
        self.path.unlink(missing_ok=True)  # of a dead batch with this pid
        os.mkfifo(self.path, 0o600)
        self._on_line = on_line
        self._splitter = LineSplitter(LONGEST)
        # Open for writing, too: without writers it would be at its end, again and again.
        fd = os.open(self.path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._reader = PipeReader(loop, fd, self._read, lambda: None)

    def _read(self, data: bytes) -> None:
        for line in self._splitter.feed(data):
            if not isinstance(line, Oversize):
                self._on_line(bytes(line) + b"\n")

    def close(self) -> None:
        """Takes what has been written so far, and removes the pipe."""
        self._reader.drain()
        self.path.unlink(missing_ok=True)


class InboxWriter:
    """A run's end. Nothing waits and nothing raises: what cannot be written is lost."""

    def __init__(self, path: str) -> None:
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            self._fd = -1  # the batch has gone

    def send(self, line: bytes) -> None:
        """Writes a line, LF included."""
        try:
            os.write(self._fd, line)
        except OSError:
            pass

    def close(self) -> None:
        """Closes the pipe."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
