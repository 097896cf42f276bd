"""The batch's end of the link to one run: a socket with one JSON object per line, both ways."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from supervisor.loop.outbox import Outbox
from wire.framing import LineSplitter, Oversize

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.loop.loop import Loop

LINE_LIMIT = 256 * 1024 * 1024
"""Bytes of a line from the run: a request has the whole conversation, images included."""
OUTBOX_LIMIT = 64 * 1024 * 1024
"""Bytes that may wait for a run that does not read."""
BEHIND = 1024 * 1024
"""Bytes that wait for a run that is behind."""
READ = 64 * 1024
DRAINED = 16 * 1024 * 1024
"""Most bytes that are still read when the run has ended."""


class RunLink:
    """`on_line` gets each line, without its LF. `on_end` is called once, when the run has closed its end or the link is
    broken, with the reason; it is empty for a run that has closed it. `on_pace` is told when the run falls behind in
    reading, and when it has caught up. `theirs` is the run's end: pass it on, then call `give`. Raises OSError if no
    descriptors are left."""

    def __init__(
        self,
        loop: Loop,
        *,
        on_line: Callable[[bytes], None],
        on_end: Callable[[str], None],
        on_pace: Callable[[bool], None] = lambda _is_behind: None,
    ) -> None:
        self._loop = loop
        self._on_line = on_line
        self._on_end = on_end
        self._on_pace = on_pace
        self._is_behind = False
        self._is_held = False
        self._ours, self.theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._lines = LineSplitter(LINE_LIMIT)
        self._outbox = Outbox()
        self._waits = False
        """Whether bytes wait until the run reads."""
        loop.watch(self, read=True)

    def give(self) -> None:
        """The run has its end; or there will be no run."""
        self.theirs.close()

    @property
    def is_open(self) -> bool:
        return self._ours.fileno() >= 0

    def fileno(self) -> int:
        return self._ours.fileno()

    def send(self, data: bytes) -> bool:
        """Sends whole lines. Returns False if the run has gone or does not read: then the link is closed."""
        if not self.is_open:
            return False
        if self._outbox.queued + len(data) > OUTBOX_LIMIT and self._outbox.queued:
            self._break("it does not read what it is sent")
            return False
        self._outbox.append(data)
        self.on_writable()
        return self.is_open

    def on_readable(self, budget: int) -> None:
        try:
            data = self._ours.recv(min(budget, READ))
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._break("")
            return
        self._take(data)

    def on_writable(self) -> None:
        try:
            self._outbox.flush(self._ours.send)
        except OSError:
            self._outbox.clear()  # the run has gone; what it said may still be read
        if self._waits != bool(self._outbox.queued):
            self._waits = not self._waits
            self._watch()
        if self._outbox.queued > BEHIND if not self._is_behind else not self._outbox.queued:
            self._is_behind = not self._is_behind
            self._on_pace(self._is_behind)

    def hold(self, *, held: bool) -> None:
        """Whether the run is not read: then it waits once the socket is full."""
        self._is_held = held
        if self.is_open:
            self._watch()

    def _watch(self) -> None:
        self._loop.watch(self, read=not self._is_held, write=self._waits)

    def drain(self) -> None:
        """Takes what the run has said before it ended, then closes. Does not call `on_end`."""
        taken = 0
        while self.is_open and taken < DRAINED:
            try:
                data = self._ours.recv(READ)
            except OSError:
                break
            if not data:
                break
            taken += len(data)
            self._take(data)
        self.close()

    def close(self) -> None:
        """Closes this end, which tells the run to stop. Does not call `on_end`."""
        if self.is_open:
            self._loop.watch(self)
            self._ours.close()
            self._outbox.clear()

    def _take(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            if not self.is_open:
                return
            if isinstance(line, Oversize):
                self._break(f"it has sent a line of {line.size} bytes")
                return
            self._on_line(bytes(line))

    def _break(self, reason: str) -> None:
        self.close()
        self._on_end(reason)
