"""Shows the output of a running command in pieces: rate and size are bounded as for extensions, and gaps are named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.extension.connection.pending_requests import PROGRESS_BURST, PROGRESS_LENGTH, PROGRESS_PER_SECOND
from supervisor.loop.rate_limit import TokenBucket

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.loop.loop import Loop, Timer


class Progress:
    """Passes on a burst of `PROGRESS_BURST` pieces at once and then `PROGRESS_PER_SECOND` a second, each of at most
    `PROGRESS_LENGTH` characters of output. Output that comes faster waits; if more waits than one piece holds, its
    beginning is dropped, and the piece begins with a line that says how much."""

    def __init__(self, loop: Loop, show: Callable[[str], None]) -> None:
        self._loop = loop
        self._show = show
        self._gate = TokenBucket(loop.clock(), PROGRESS_BURST, PROGRESS_PER_SECOND)
        self._waiting = ""
        self._dropped = 0
        """Characters since the last piece."""
        self._timer: Timer | None = None

    def add(self, text: str) -> None:
        """Takes the next output of the command."""
        self._waiting += text
        if self._timer is None:
            self._show_what_may_pass()
        if (over := len(self._waiting) - PROGRESS_LENGTH) > 0:
            self._dropped += over
            self._waiting = self._waiting[over:]

    def end(self) -> None:
        """Shows what waits. Nothing may be added afterwards."""
        if self._timer is not None:
            self._timer.cancel()
        if self._waiting:
            self._show_piece()

    def _show_what_may_pass(self) -> None:
        self._timer = None
        while self._waiting:
            if not self._gate.admits(self._loop.clock()):
                self._timer = self._loop.call_at(self._gate.next_at(), self._show_what_may_pass)
                return
            self._show_piece()

    def _show_piece(self) -> None:
        piece, self._waiting = self._waiting[:PROGRESS_LENGTH], self._waiting[PROGRESS_LENGTH:]
        dropped, self._dropped = self._dropped, 0
        self._show(f"... [{dropped} characters are not shown]\n{piece}" if dropped else piece)
