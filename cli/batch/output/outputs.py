"""Delivers the records of a batch: to a person on stderr, and to a program on stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from agent.output.fd_writer import FdWriter
from cli.batch.output.stderr import FLUSH_S, StderrOutput
from cli.terminal import say
from wire.batch.records import BatchEnd, BatchStart, add_task, encode_record
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.batch.request import BatchControls, BatchView
    from cli.batch.output.stderr import ProgressStyle
    from supervisor.loop.loop import Loop
    from wire.batch.records import AnyRecord

INTERRUPTED = Status.INTERRUPTED.exit_code
READER_GONE = "zot batch: the reader of stdout has gone: running tasks end, and no new ones start"


class BatchEngine(Protocol):
    """The part of `agent.batch.batch.Batch` that is used here. It heeds signals before it tells its start: only then
    may the terminal be changed. Its loop lives until it has told its end."""

    controls: BatchControls

    @property
    def loop(self) -> Loop: ...
    def view(self) -> BatchView: ...
    def run(self) -> BatchEnd: ...


class Outputs:
    """Takes the records of a batch, from its creation on, and shows them: to a person on stderr, with `as_json` to a
    program on stdout."""

    def __init__(self, show: ProgressStyle, folder: str, *, as_json: bool) -> None:
        """`folder` is named in the summary."""
        self._show = show
        self._folder = folder
        self._as_json = as_json
        self._controls: BatchControls | None = None
        self._person: StderrOutput | None = None
        self._stream: RecordStream | None = None
        self._early: list[str] = []  # said while the batch was made
        self._is_complete = True
        self._has_ended = False
        self.broken: str | None = None
        """Why stdout can no longer be written: "" if its reader has gone. None if it can."""

    def say(self, line: str) -> None:
        if self._has_ended:
            say(line)
        elif self._person is None:
            self._early.append(line)
        else:
            self._person.say(line)

    def tell(self, record: AnyRecord) -> None:
        if self._stream is not None:
            self._stream.tell(record)
        if self._person is not None:
            self._person.tell(record)
            if isinstance(record, BatchStart):
                self._person.begin()
        if isinstance(record, BatchEnd):
            self._end(record.exit_code)

    def on_event(self, task: str, attempt: int, line: bytes) -> None:
        if self._stream is not None:
            self._stream.on_event(task, attempt, line)

    def is_full(self) -> bool:
        """Whether the reader of stdout is behind."""
        return self._stream is not None and self._stream.is_full

    def run(self, batch: BatchEngine) -> int:
        """Runs the batch and returns the exit status of the process. The terminal is as before at any end."""
        self._controls = batch.controls
        if self._as_json:
            self._stream = RecordStream(batch.loop, self._on_broken)
        self._person = StderrOutput(
            batch.loop, batch.view, batch.controls, show=self._show, folder=self._folder, has_stream=self._as_json
        )
        for line in self._early:
            self._person.say(line)
        try:
            status = batch.run().exit_code
        finally:
            self._end(INTERRUPTED)
        if self._is_complete:
            return status
        return status or (Status.ERROR.exit_code if self.broken else INTERRUPTED)

    def _end(self, status: int) -> None:
        """Gives the terminal back, and waits for the reader of stdout; only for a moment if the batch was stopped. A
        second call does nothing."""
        self._has_ended = True
        person, self._person = self._person, None
        stream, self._stream = self._stream, None
        if person is not None:
            person.end()
        if stream is not None:
            self._is_complete = stream.finish(most_s=FLUSH_S if status == INTERRUPTED else None)

    def _on_broken(self, reason: str) -> None:
        """Tasks that run are paid for, so they end; no new ones start."""
        self.broken = reason
        self.say(READER_GONE if not reason else f"zot batch: cannot write to stdout: {reason}; no new tasks start")
        assert self._controls is not None
        self._controls.is_draining = True


class RecordStream:
    """Writes to stdout. `on_broken` is called once, when stdout can no longer be written: with "" if the reader has
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
        self._writer.write(add_task(line.rstrip(b"\n"), task, attempt) + b"\n")

    def finish(self, *, most_s: float | None = None) -> bool:
        """Waits until the reader has everything, for `most_s` seconds at most. Returns whether it has."""
        deadline = None if most_s is None else self._loop.clock() + most_s
        self._loop.run_until(lambda: self._writer.is_flushed, deadline)
        is_complete = self._writer.is_flushed and not self._writer.broken
        self._writer.close()
        return is_complete
