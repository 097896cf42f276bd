"""Writes to a descriptor without ever blocking, even if it is a pipe with a slow reader.

Other programs may share the descriptor (a terminal, a pipe of the parent), so it stays in blocking mode. A pipe that
polls as writable takes `PIPE_BUF` bytes without blocking, so the writer writes at most `PIPE_BUF` bytes at a time.
"""

from __future__ import annotations

import errno
import os
import select
import stat
from typing import TYPE_CHECKING, Protocol

from supervisor.loop.outbox import Outbox

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.loop.loop import Loop

CHUNK = select.PIPE_BUF
GONE = frozenset({errno.EPIPE, errno.ECONNRESET, errno.EIO, errno.EBADF})
"""Errors after the reader has gone; EIO is from a terminal that has hung up."""
HIGH_WATER = 1024 * 1024
"""Default maximum of bytes that wait for the reader. With more, the caller should wait, and a lossy writer drops new
data."""


class WaitingBytes(Protocol):
    """The bytes that wait for the reader, as `Outbox` keeps them."""

    queued: int

    def append(self, data: bytes | memoryview) -> None: ...
    def flush(self, write: Callable[[memoryview], int]) -> int: ...
    def clear(self) -> None: ...


class FdWriter:
    """Calls `on_broken` once when the descriptor takes no more data: with "" if the reader has gone, else with the
    reason (such as a full disk). Later writes are dropped.

    `outbox` keeps the waiting bytes; its owner may add some and then call `drain`."""

    def __init__(
        self,
        loop: Loop,
        fd: int,
        on_broken: Callable[[str], None],
        *,
        lossy: bool = False,
        outbox: WaitingBytes | None = None,
        high_water: int = HIGH_WATER,
    ) -> None:
        self._loop = loop
        self._fd = fd
        self._on_broken = on_broken
        self._lossy = lossy
        self._high_water = high_water
        self.outbox: WaitingBytes = Outbox() if outbox is None else outbox
        self.broken = False
        self.stuck_since: float | None = None
        """While bytes wait: the time at which the reader last took some, on the loop's clock. Otherwise None."""
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)
        self._shows_end = False
        """Whether the descriptor becomes readable when its reader leaves, and only then."""
        try:
            mode = os.fstat(fd).st_mode
            self._shows_end = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
        except OSError:
            self._break()
        self._watch()

    def fileno(self) -> int:
        return self._fd

    @property
    def is_full(self) -> bool:
        """Whether more than `high_water` bytes wait for the reader."""
        return self.outbox.queued > self._high_water

    @property
    def queued(self) -> int:
        """Bytes that wait for the reader."""
        return self.outbox.queued

    @property
    def is_flushed(self) -> bool:
        """Whether no bytes wait for the reader."""
        return not self.outbox.queued

    def write(self, data: bytes) -> None:
        """Queues `data`, and writes as much as the descriptor takes now."""
        if self.broken or (self._lossy and self.outbox.queued + len(data) > self._high_water):
            return
        self.outbox.append(data)
        self.drain()

    def on_readable(self, budget: int) -> None:  # noqa: ARG002
        """Ends the writer if its reader has gone: only then is the writing end of a pipe readable. A socket is also
        readable after data from its peer; its end is then noticed at the next write, or by `look`."""
        self.drain()
        self.look()
        if not self.broken:
            self._shows_end = False
            self._watch()

    def look(self) -> None:
        """Ends the writer if its reader has gone."""
        if not self.broken and self._state() & (select.POLLERR | select.POLLHUP):
            self._break()

    def on_writable(self) -> None:
        self.drain()

    def _state(self) -> int:
        events = self._poll.poll(0)
        return events[0][1] if events else 0

    def _write(self, piece: memoryview) -> int:
        """Writes as much of the piece as the descriptor takes now without blocking, `CHUNK` bytes at most."""
        state = self._state()
        if state & (select.POLLERR | select.POLLHUP | select.POLLNVAL):
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        return os.write(self._fd, piece[:CHUNK]) if state & select.POLLOUT else 0

    def drain(self) -> None:
        """Writes as much as the descriptor takes now."""
        try:
            taken = self.outbox.flush(self._write)
        except OSError as error:
            self._break("" if error.errno in GONE else str(error.strerror))
            return
        if self.is_flushed:
            self.stuck_since = None
        elif taken or self.stuck_since is None:
            self.stuck_since = self._loop.clock()
        self._watch()

    def _watch(self) -> None:
        """Watches a pipe or a socket always, to notice that its reader leaves; others only while bytes wait."""
        try:
            self._loop.watch(self, read=self._shows_end and not self.broken, write=not self.is_flushed)
        except (PermissionError, OSError):
            pass  # a regular file: always writable, nothing to watch

    def _break(self, reason: str = "") -> None:
        self.close()
        self._on_broken(reason)

    def close(self) -> None:
        """Stops watching. The descriptor stays open: it belongs to the caller."""
        self.broken = True
        self.outbox.clear()
        self.stuck_since = None
        self._watch()
