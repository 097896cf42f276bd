"""The display of a running batch on stderr, for a person: the live view or a line for each finished task, messages, and
the summary."""

from __future__ import annotations

import os
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from agent.output.fd_writer import FdWriter
from cli.batch.output.live import STDERR, LiveView
from cli.batch.output.summary import Failures, changed_line, finished_line, summary
from cli.terminal import is_in_front, is_screen, is_terminal
from wire.batch.records import BatchChanged, BatchEnd, BatchStart, TaskEnd
from wire.text import printable, valid_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.batch.request import BatchControls, BatchView
    from supervisor.loop.loop import Loop
    from wire.batch.records import AnyRecord


class ProgressStyle(Enum):
    AUTO = "auto"
    """The live view on a terminal, else a line for each finished task."""
    LINES = "lines"
    NOTHING = "nothing"
    """Only faults of the batch itself."""


FLUSH_S = 2.0
"""Seconds that the end waits for a reader that does not read; on stdout only if the batch was stopped."""


class _Place(Protocol):
    """A destination of lines."""

    def begin(self) -> None: ...
    def say(self, line: str) -> None: ...
    def end(self) -> None: ...


class _Lines:
    """Writes lines as they come. The batch goes on without a reader, and does not wait for a slow one."""

    def __init__(self, loop: Loop, fd: int) -> None:
        self._loop = loop
        self._writer = FdWriter(loop, fd, lambda _reason: None, lossy=True)

    def begin(self) -> None:
        pass

    def say(self, line: str) -> None:
        self._writer.write(line.encode("utf-8", "replace") + b"\n")

    def end(self) -> None:
        self._loop.run_until(lambda: self._writer.is_flushed, self._loop.clock() + FLUSH_S)
        self._writer.close()


class StderrOutput:
    """`begin` when the batch has begun, `end` when it has ended, however it has: the terminal is then as it was."""

    def __init__(
        self,
        loop: Loop,
        view: Callable[[], BatchView],
        controls: BatchControls,
        *,
        show: ProgressStyle,
        folder: str,
        has_stream: bool = False,
        fd: int = STDERR,
    ) -> None:
        """`folder` is named in the summary. With `has_stream` stdout gets records: if it is a terminal, too, there is
        no live view."""
        self._loop = loop
        self._fd = fd
        self._show = show
        self._folder = folder
        self._done = self._tasks = 0
        self._failures = Failures()
        self._ended: BatchEnd | None = None
        self._has_estimates = False
        """Whether tasks of this start have repetitions or scores."""
        is_live = (
            show is ProgressStyle.AUTO and is_screen(fd) and is_in_front(fd) and not (has_stream and is_terminal(1))
        )
        self._live = is_live
        self._place: _Place = LiveView(loop, view, controls, fd=fd) if is_live else _Lines(loop, fd)

    def begin(self) -> None:
        self._place.begin()

    def say(self, line: str) -> None:
        """Writes a line about the batch itself."""
        self._place.say(printable(valid_text(line)).replace("\n", " "))

    def tell(self, record: AnyRecord) -> None:
        match record:
            case BatchStart():
                self._done, self._tasks = record.done, record.tasks
            case BatchChanged():
                self._changed(record)
            case TaskEnd():
                self._task_end(record)
            case BatchEnd():
                self._ended = record

    def _changed(self, change: BatchChanged) -> None:
        if change.what == "requeue" and not change.now:
            self._done -= 1
            self._failures.remove(change.task)
        if self._show is not ProgressStyle.NOTHING and (change.by != "key" or not self._live):
            self._place.say(changed_line(change))

    def _task_end(self, end: TaskEnd) -> None:
        if end.final:
            self._done += 1
            self._failures.add(end.outcome)
            self._has_estimates |= bool(end.outcome.repeat) or end.outcome.score is not None
        is_news = not self._live or end.outcome.status.value != "ok"  # the live view counts those that are ok
        if self._show is not ProgressStyle.NOTHING and is_news:
            self._place.say(finished_line(end, self._done, self._tasks, self._width()))

    def _width(self) -> int | None:
        """Columns of the terminal; None without a terminal."""
        try:
            return os.get_terminal_size(self._fd).columns or None
        except OSError:
            return None

    def end(self) -> None:
        """Ends the view, and writes the summary if the batch has told its end."""
        if self._live:
            self._place.end()
            self._place = _Lines(self._loop, self._fd)
        if self._ended is not None and self._show is not ProgressStyle.NOTHING:
            estimates = _estimates(self._folder) if self._has_estimates else ""
            for line in summary(self._ended, self._folder, self._failures, self._width(), estimates):
                self._place.say(line)
        self._place.end()


def _estimates(folder: str) -> str:
    """Of all results in the folder, those of earlier starts included; empty if they cannot be read."""
    from agent.batch.journal.errors import FolderError, JournalError
    from cli.batch.evaluation.estimate_text import line_of
    from cli.batch.folder.shared_options import read_results

    try:
        return line_of(read_results([folder]))
    except (FolderError, JournalError, OSError):
        return ""
