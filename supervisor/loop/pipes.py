"""The host's ends of a child's pipes: a reader and a writer, non-blocking, driven by the loop."""

from __future__ import annotations

import fcntl
import os
import select
from time import thread_time
from typing import TYPE_CHECKING

from supervisor.loop.outbox import Outbox
from supervisor.loop.wait_habit import WaitHabit

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.loop.loop import Loop

FULL_READ = 64 * 1024
LARGE_PIPE = 1024 * 1024
LARGE_READ = 120 * 1024
"""Maximum of one read in bytes. For 128 KiB and more, malloc asks the kernel for fresh pages each time."""
DIGEST_S = 0.5e-3
"""Maximum of processor time for one chunk in seconds. After a slower one the next read is half as large: 8 KiB can be
one frame, or eight thousand empty lines."""
SMALLEST_READ = 512
"""Minimum of one read in bytes."""
LAST_DIGEST_S = 50e-3
"""Seconds of processor time for reading the rest in a pipe whose writer has exited."""
LAST_READ = 16 * 1024
"""Bytes of one read of this rest."""
F_SETPIPE_SZ = getattr(fcntl, "F_SETPIPE_SZ", None)


class PipeReader:
    """Reads from a descriptor. Passes every chunk to `sink`, and calls `on_end` once at end of file or error."""

    def __init__(
        self,
        loop: Loop,
        fd: int,
        sink: Callable[[bytes], None],
        on_end: Callable[[], None],
        *,
        work_clock: Callable[[], float] = thread_time,
    ) -> None:
        """`work_clock` returns the seconds of processor time that the host has used."""
        self._work_clock = work_clock
        self._loop = loop
        self._fd = fd
        self._sink = sink
        self._on_end = on_end
        self._large = False
        self._widened = False
        self._read_size = FULL_READ
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)
        self.habit = WaitHabit()
        os.set_blocking(fd, False)
        loop.watch(self, read=True)

    def fileno(self) -> int:
        return self._fd

    @property
    def is_open(self) -> bool:
        return self._fd >= 0

    def has_input(self) -> bool:
        return bool(self._fd >= 0 and self._poll.poll(0))

    def sleep(self, timeout_s: float) -> bool:
        """Sleeps until there is input or the end of file. Returns False at the timeout, and if the reader is closed."""
        return bool(self._fd >= 0 and self._poll.poll(timeout_s * 1000))

    def on_readable(self, budget: int) -> None:
        try:
            data = os.read(self._fd, LARGE_READ if self._large else min(budget, self._read_size))
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._large = False
        if 0 < len(data) < self._read_size and len(data) <= SMALLEST_READ:
            self._sink(data)  # says nothing about larger reads, and a look at the thread's clock asks the kernel
        elif data:
            began = self._work_clock()
            self._sink(data)
            if self._work_clock() - began > DIGEST_S:
                self._read_size = max(SMALLEST_READ, min(self._read_size, len(data)) // 2)
            elif self._read_size < FULL_READ:
                self._read_size *= 2
        else:
            self.close()
            self._on_end()

    def take(self) -> None:
        """Reads once and passes the data on. Does not look for end of file."""
        try:
            data = os.read(self._fd, FULL_READ)
        except OSError:
            return  # nothing yet, or closed
        if data:
            self._sink(data)

    def on_writable(self) -> None:
        pass

    def hold(self, *, held: bool) -> None:
        """With `held` nothing is read: the writer waits once the pipe is full."""
        if self._fd >= 0:
            self._loop.watch(self, read=not held)

    def expect_large(self) -> None:
        """A long frame has begun: makes the next read large, and the pipe as large as the kernel allows. Large frames
        then arrive about three times as fast; for small frames a large read would only make passes longer."""
        self._large = True
        if not self._widened and F_SETPIPE_SZ is not None:
            self._widened = True
            try:
                fcntl.fcntl(self._fd, F_SETPIPE_SZ, LARGE_PIPE)
            except OSError:
                pass  # the user's quota of pipe memory is used up: the old size stays

    def drain(self, limit: int = LARGE_PIPE) -> None:
        """Reads the bytes that are in the pipe now, as `take_waiting`, then closes. For a writer that has exited. Does
        not wait for end of file: the writer's own children may hold the pipe open."""
        self.take_waiting(limit)
        self.close()

    def take_waiting(self, limit: int = LARGE_PIPE) -> None:
        """Reads the bytes that are in the pipe now, at most `limit`. Stops early if the handling takes `LAST_DIGEST_S`:
        a pipe full of empty lines would take seconds."""
        taken, began = 0, self._work_clock()
        while self.is_open and taken < limit and self._work_clock() - began < LAST_DIGEST_S:
            try:
                data = os.read(self._fd, LAST_READ)
            except OSError:
                break
            if not data:
                break
            taken += len(data)
            self._sink(data)

    def close(self) -> None:
        """Closes the descriptor. Does not call `on_end`."""
        if self._fd >= 0:
            self._loop.watch(self)
            fd, self._fd = self._fd, -1
            os.close(fd)


class PipeWriter:
    """Writes to a descriptor, with an outbox of `limit` bytes. Never blocks."""

    name = "its stdin"
    """The pipe's name on the reader's side, for messages."""

    def __init__(self, loop: Loop, fd: int, limit: int) -> None:
        self._loop = loop
        self._fd = fd
        self._limit = limit
        self._outbox = Outbox()
        self._end_after_flush = False
        self.stuck_since: float | None = None
        """While bytes are queued: the time at which the reader last read some, on the loop's clock. Otherwise None."""
        os.set_blocking(fd, False)

    def fileno(self) -> int:
        return self._fd

    @property
    def is_open(self) -> bool:
        return self._fd >= 0 and not self._end_after_flush

    @property
    def queued(self) -> int:
        """Bytes that were accepted and are not yet written."""
        return self._outbox.queued

    def send(self, data: bytes) -> bool:
        """Writes or queues the whole of `data`. Returns False and sends nothing if the outbox is full or the pipe is
        closed. An empty outbox accepts a frame of any size."""
        if not self._outbox.queued:
            try:
                written = os.write(self._fd, data)
            except BlockingIOError:
                written = 0
            except OSError:
                self.close()
                return False
            if written == len(data):
                return True
            self.stuck_since = self._loop.clock()
            self._loop.watch(self, write=True)
            self._outbox.append(memoryview(data)[written:])
            return True
        if self._outbox.queued + len(data) > self._limit or not self.is_open:
            return False
        self._outbox.append(data)
        return True

    def _write(self, piece: memoryview) -> int:
        return os.write(self._fd, piece[:LARGE_PIPE])

    def on_readable(self, budget: int) -> None:  # noqa: ARG002
        """The selector reports a closed reading end as readable; the next write then fails."""
        self.on_writable()

    def on_writable(self) -> None:
        try:
            written = self._outbox.flush(self._write)
        except OSError:
            self.close()
            return
        if self._outbox.queued:
            if written:
                self.stuck_since = self._loop.clock()
            return
        self.stuck_since = None
        self._loop.watch(self)
        if self._end_after_flush:
            self.close()

    def end(self) -> None:
        """Closes once all queued bytes have been written."""
        self._end_after_flush = True
        if not self._outbox.queued:
            self.close()

    def close(self) -> None:
        """Closes the descriptor. Drops all queued bytes."""
        if self._fd >= 0:
            self._loop.watch(self)
            self._outbox.clear()
            self.stuck_since = None
            fd, self._fd = self._fd, -1
            os.close(fd)
