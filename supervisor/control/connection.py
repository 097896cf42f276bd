"""The host's end of a connection to one client: lines in and lines out, both bounded. It never blocks.

It hands over a few lines at a time, so that a client that sends a thousand requests does not delay the others. While
more than `HIGH_WATER` bytes of output wait for the client, nothing more is read from the client. A client that reads
nothing for `STUCK_S` seconds while output waits is dropped.
"""

from __future__ import annotations

import select
from collections import deque
from typing import TYPE_CHECKING

from supervisor.loop.outbox import Outbox
from wire.framing import DEFAULT_FRAME_LIMIT, LineSplitter, Oversize

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from supervisor.loop.loop import Loop, Timer
    from wire.framing import Line

HIGH_WATER = 1024 * 1024
"""Bytes of waiting output above which the host does not read the client's lines, and sends it no stats or notices."""
OUTBOX_LIMIT = 16 * 1024 * 1024
"""Bytes of waiting output above which the client is dropped. Only answers to its own requests can reach that."""
STUCK_S = 10.0
LINES_PER_PASS = 64
WORK_S = 2e-3
"""Seconds in one pass of the loop for the lines of one client. A line that takes longer is still finished."""
READ = 64 * 1024
HANG_UP_POLL_S = 0.5
"""Seconds between two checks whether a client that ended its side has closed the other, too: no event says so."""


class ControlConnection:
    """`on_line` gets each line without its LF. If the client is lost, `on_gone` gets the reason once; not after
    `close`.

    A client may end its side (as `nc -N` does at the end of its input) and still get its answers. `is_idle` returns
    True if the client waits for no answer.
    """

    def __init__(
        self,
        loop: Loop,
        sock: socket.socket,
        *,
        on_line: Callable[[Line | Oversize], None],
        on_gone: Callable[[str], None],
        is_idle: Callable[[], bool],
        line_limit: int = DEFAULT_FRAME_LIMIT,
        stuck_s: float = STUCK_S,
        work_s: float = WORK_S,
    ) -> None:
        sock.setblocking(False)
        self._loop = loop
        self._sock = sock
        self._on_line = on_line
        self._on_gone = on_gone
        self._is_idle = is_idle
        self._stuck_s = stuck_s
        self._work_s = work_s
        self._paused_until = 0.0
        self._splitter = LineSplitter(line_limit)
        self._lines: deque[Line | Oversize] = deque()
        self.outbox = Outbox()
        self._ended = False
        self._watched = (False, False)
        self._work: Timer | None = None
        self._stuck: Timer | None = None
        self._hang_up_poll: Timer | None = None
        self._poll = select.poll()
        self._poll.register(sock, 0)
        self._watch()

    def fileno(self) -> int:
        return self._sock.fileno()

    @property
    def is_open(self) -> bool:
        return self._sock.fileno() >= 0

    @property
    def is_slow(self) -> bool:
        return self.outbox.queued > HIGH_WATER

    # --- input --------------------------------------------------------------------------------------------

    def on_readable(self, budget: int) -> None:
        try:
            data = self._sock.recv(min(budget, READ))
        except BlockingIOError:
            return
        except OSError:
            self._lose("its connection broke")
            return
        if data:
            lines = self._splitter.feed(data)
            if len(lines) == 1 and not self._lines and not self._paused_until:  # most reads are one line
                self._on_line(lines[0])
                if self.outbox.queued:
                    self.attend()
                return
            self._lines.extend(lines)
        elif not self._end_of_input():
            return
        self._take_lines()

    def _end_of_input(self) -> bool:
        """Handles the end of the client's side. Returns False if the client has closed the whole connection."""
        if self._is_hung_up():
            self._lose("it has gone")
            return False
        self._ended = True
        if (rest := self._splitter.finish()) is not None:
            self._lines.append(rest)
        return True

    def _take_lines(self) -> None:
        """Hands over as many lines as fit into one pass. The rest follow in later passes; if too much output waits,
        they follow when the client has read."""
        self._work = None
        now = self._loop.clock()
        until = now + self._work_s
        if now >= self._paused_until:
            self._paused_until = 0.0
        for _ in range(LINES_PER_PASS):
            if not self._lines or self.is_slow or self._paused_until or not self.is_open:
                break
            self._on_line(self._lines.popleft())
            if self._loop.clock() >= until:
                break
        self.attend()

    def pause(self, seconds: float) -> None:
        """Hands over no further lines for so long, and so reads no more of them than have come."""
        self._paused_until = self._loop.clock() + seconds

    def attend(self) -> None:
        """Decides what to watch and do next. Must also be called after a request has been answered."""
        if not self.is_open:
            return
        if self._lines and not self.is_slow and self._work is None:
            self._work = self._loop.call_at(max(self._paused_until, self._loop.clock()), self._take_lines)
        if self._ended and not self._lines and not self.outbox.queued and self._is_idle():
            self._lose("it has ended its side and waits for nothing")
            return
        if self._ended and self._hang_up_poll is None:
            self._hang_up_poll = self._loop.call_later(HANG_UP_POLL_S, self._look_for_hang_up)
        self._watch()

    def _look_for_hang_up(self) -> None:
        self._hang_up_poll = None
        if self.is_open and self._is_hung_up():
            self._lose("it has gone")
        else:
            self.attend()

    def _is_hung_up(self) -> bool:
        return any(event & (select.POLLHUP | select.POLLERR) for _fd, event in self._poll.poll(0))

    # --- output -------------------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """Writes or queues the data. Drops a client with more than `OUTBOX_LIMIT` waiting bytes."""
        if self._sock.fileno() < 0:
            return
        if self.outbox.queued > OUTBOX_LIMIT:
            self._lose_soon(f"it does not read: {self.outbox.queued} bytes wait for it")
            return
        if self.outbox.queued:
            self.outbox.append(data)
            return
        try:
            written = self._sock.send(data)
        except BlockingIOError:
            written = 0
        except OSError:
            self._lose_soon("it has gone")
            return
        if written < len(data):
            self.outbox.append(memoryview(data)[written:])
            self._stuck = self._loop.call_later(self._stuck_s, self._give_up)
            self._watch()

    def on_writable(self) -> None:
        was_slow = self.is_slow
        if self._flush() and (was_slow or self._ended):
            self.attend()
        self._watch()

    def _flush(self) -> bool:
        """Writes as much waiting output as possible. Returns False if the client was lost."""
        try:
            written = self.outbox.flush(self._sock.send)
        except OSError:
            self._lose("it has gone")
            return False
        if self._stuck is not None and (written or not self.outbox.queued):
            self._stuck.cancel()
            self._stuck = None
        if self.outbox.queued and self._stuck is None:
            self._stuck = self._loop.call_later(self._stuck_s, self._give_up)
        return True

    def _give_up(self) -> None:
        self._stuck = None
        if self.is_open:
            self._lose(f"it has read nothing for {self._stuck_s:g} s while {self.outbox.queued} bytes wait for it")

    def _watch(self) -> None:
        if self.is_open:
            wanted = (not self._ended and not self._lines and not self.is_slow, bool(self.outbox.queued))
            if wanted != self._watched:
                self._watched = wanted
                self._loop.watch(self, read=wanted[0], write=wanted[1])

    # --- end ----------------------------------------------------------------------------------------------

    def _lose(self, reason: str) -> None:
        self.close()
        self._on_gone(reason)

    def _lose_soon(self, reason: str) -> None:
        """Tells of the loss in a later pass: the sender is not done with its clients yet."""
        self.close()
        self._loop.call_later(0, lambda: self._on_gone(reason))

    def close(self) -> None:
        """Closes the connection and drops waiting lines and output."""
        if not self.is_open:
            return
        for timer in (self._work, self._stuck, self._hang_up_poll):
            if timer is not None:
                timer.cancel()
        self._work = self._stuck = self._hang_up_poll = None
        self._loop.watch(self)
        self._lines.clear()
        self.outbox.clear()
        self._sock.close()
