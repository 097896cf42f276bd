"""`zot batch --json`: the batch's records and the events of all runs on stdout, no faster than their reader takes
them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.output.fd_writer import FdWriter
from wire.batch.records import encode_record, tagged

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.loop.loop import Loop
    from wire.batch.records import AnyRecord

FLUSH_S = 2.0
"""Seconds that a batch that was stopped waits at its end for a reader that does not read."""


class RecordStream:
    """Writes to stdout. `on_broken` is called once, when nothing can be written any more: with "" if the reader has
    gone, else with the reason."""

    def __init__(self, loop: Loop, on_broken: Callable[[str], None], *, fd: int = 1) -> None:
        self._loop = loop
        self._writer = FdWriter(loop, fd, on_broken)

    @property
    def is_full(self) -> bool:
        """Whether the reader is behind: then no more events should be read from the runs."""
        return self._writer.is_full

    def tell(self, record: AnyRecord) -> None:
        self._writer.write(encode_record(record))

    def on_event(self, task: str, attempt: int, line: bytes) -> None:
        """Writes one line of a run's events."""
        self._writer.write(tagged(line.rstrip(b"\n"), task, attempt) + b"\n")

    def finish(self, *, most_s: float | None = None) -> bool:
        """Waits until the reader has everything, for `most_s` seconds at most. Returns whether it has."""
        deadline = None if most_s is None else self._loop.clock() + most_s
        self._loop.run_until(lambda: self._writer.is_flushed, deadline)
        is_complete = self._writer.is_flushed and not self._writer.broken
        self._writer.close()
        return is_complete
