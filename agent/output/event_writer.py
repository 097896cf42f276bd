"""Passes records of the run to its readers in order, at most as fast as the output takes them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from supervisor.loop.loop import FAIR_S
from wire.events import ExtNotify, PanelRender

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.abort import Abort
    from agent.output.fd_writer import FdWriter
    from supervisor.loop.loop import Loop
    from wire.events import Record

FLUSH_S = 2.0
"""Maximum wait of an aborted run for a slow reader, in seconds."""
PROGRESS_WAITING = 256
"""The number of waiting posted records from which tool progress and notes are dropped."""


class EventWriter:
    """Passes each record to all `readers`. With `output`, `emit` waits while that is full: its reader is behind.

    Callbacks of the loop must not wait, so they post their records. Posted records are emitted before the next record
    of the run, or while the run waits.
    """

    def __init__(
        self, loop: Loop, abort: Abort, *readers: Callable[[Record], None], output: FdWriter | None = None
    ) -> None:
        self._loop = loop
        self.clock = loop.clock
        self.abort = abort
        """Ends the writer's waits. Each prompt sets its own."""
        self.readers = [*readers]
        self.on_begun: Callable[[], None] | None = None
        """Called once, after the first record."""
        self._output = output
        self._posted: deque[Record] = deque()
        self._open = False

    @property
    def is_behind(self) -> bool:
        """Whether so many posted records wait that no callback should post more than it must."""
        return len(self._posted) >= PROGRESS_WAITING

    def begin(self, first: Record) -> None:
        """Emits the first record; records that were posted before follow it."""
        self._pass_on(first)
        self._open = True
        if self.on_begun is not None:
            self.on_begun()

    def post(self, record: Record) -> None:
        """Queues a record from a callback."""
        self._posted.append(record)

    def post_progress(self, record: Record) -> None:
        """Queues a record from a callback; drops it if the reader is far behind."""
        if len(self._posted) < PROGRESS_WAITING:
            self._posted.append(record)

    def post_shown(self, record: Record) -> None:
        """Queues a note or a panel of an extension. While the reader is behind, only the newest content of each panel
        waits; notes are dropped while `PROGRESS_WAITING` records wait."""
        if isinstance(record, ExtNotify):
            self.post_progress(record)
            return
        if isinstance(record, PanelRender):
            for index, waiting in enumerate(self._posted):
                if isinstance(waiting, PanelRender) and _panel_of(waiting) == _panel_of(record):
                    del self._posted[index]
                    break
        self._posted.append(record)

    def emit(self, record: Record) -> None:
        """Emits the posted records and this one, and waits while the reader is behind."""
        self._flush_posted()
        self._pass_on(record)
        self._keep_pace()

    def wait(self, predicate: Callable[[], bool], deadline: float | None = None) -> bool:
        """Waits until the predicate holds (True), or until the deadline or an abort (False).

        Even if it always holds at once, the loop serves its other work every `FAIR_S`: a replayed reply is complete
        from the start, and no signal or request may wait for its end.
        """
        while True:
            self._flush_posted()
            if predicate():
                if self._loop.clock() - self._loop.pass_time >= FAIR_S:
                    self._loop.run_until(lambda: False, self._loop.clock())
                return True
            if self.abort.requested or (deadline is not None and self._loop.clock() >= deadline):
                return False
            self._loop.run_until(lambda: predicate() or self.abort.requested or self._has_posted(), deadline)

    def finish(self) -> bool:
        """Waits until the reader has all records, after an abort at most `FLUSH_S`. Returns whether it has them."""
        self._flush_posted()
        if self._output is None:
            return True
        output = self._output
        if not self.abort.requested:
            self._loop.run_until(lambda: output.is_flushed or self.abort.requested)
        self._loop.run_until(lambda: output.is_flushed, self._loop.clock() + FLUSH_S)
        return output.is_flushed and not output.broken

    def _has_posted(self) -> bool:
        return self._open and bool(self._posted)

    def _flush_posted(self) -> None:
        while self._open and self._posted:
            self._pass_on(self._posted.popleft())
            self._keep_pace()

    def _pass_on(self, record: Record) -> None:
        for reader in self.readers:
            reader(record)

    def _keep_pace(self) -> None:
        output = self._output
        if output is not None and output.is_full and not self.abort.requested:
            self._loop.run_until(lambda: not output.is_full or self.abort.requested)


def _panel_of(record: PanelRender) -> tuple[str, str]:
    return record.extension, record.panel_id
