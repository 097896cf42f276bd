"""The conversation with a running `zot batch`: its records, its results, and requests to drain or stop it. Shared by
programs with threads and with asyncio.
"""

from __future__ import annotations

import signal
import sys
import threading

from ..connection.channel import tell
from ..connection.command_line import default_program, environment
from ..connection.decoder import event, members_of
from ..connection.engine_process import EXIT_S, STDERR_LINES, EngineProcess
from ..connection.pending_answer import PendingAnswer
from ..errors import BatchError, BusyError, ClosedError, ProtocolError, RuntimeDied
from .command_line import command, lines_of
from .inboxes import FolderResults, GivenResults, LiveResults
from .results import BatchSummary, TaskResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from ..errors import ZotError
    from ..events import AnyEvent
    from ..flags import Place
    from .inboxes import ResultInbox

    OnEvent = Callable[[str, int, AnyEvent], None]

OWN = frozenset(
    {
        *("batch_start", "batch_shared", "batch_changed", "batch_end"),
        *("task_start", "task_paused", "task_resumed", "task_end"),
    }
)
"""Types of the batch's own records; all others are records of runs."""
FOREIGN = "this batch belongs to the process that this one was forked from"
CLOSED = "the batch is closed"
KILL_RUNS_S = 8.0
"""Seconds from the signal that stops the runs to the one that kills them."""


class BatchProcess(EngineProcess):
    """`zot batch` as a child process. It reads only its tasks, so it is controlled by signals. Raises the same errors
    as `EngineProcess`. It always ends at once: the runs are stopped, and run again when the batch is continued.
    """

    _is_told = False
    """Whether it was told to stop: one more signal would kill the runs."""

    def drain(self) -> None:
        """Starts no more tasks."""
        self.send_signal(signal.SIGINT)

    def stop(self) -> None:
        """Stops the runs. A second call does nothing."""
        if not self._is_told:
            self._is_told = True
            self.send_signal(signal.SIGTERM)

    def end(self, *, at_once: bool = True) -> None:  # noqa: ARG002
        super().end(at_once=True)

    def _steps_from(self, first: float) -> list[tuple[float, signal.Signals | None]]:
        told: list[tuple[float, signal.Signals | None]] = [] if self._is_told else [(first, signal.SIGTERM)]
        self._is_told = True
        kill = first + KILL_RUNS_S
        return [*told, (kill, signal.SIGTERM), (kill + EXIT_S, signal.SIGKILL), (kill + 2 * EXIT_S, None)]


class BatchClient:
    """A batch and its results. Raises `TypeError` and `ValueError` for a wrong option or task, and `OSError` if the
    program cannot be started."""

    def __init__(
        self,
        tasks: Iterable[str | Mapping[str, Any]],
        folder: Place,
        options: Mapping[str, Any],
        *,
        on_event: OnEvent | None,
        on_stderr: Callable[[str], None] | None,
        env: Mapping[str, str] | None,
        program: Sequence[str] | None,
    ) -> None:
        self.summary: BatchSummary | None = None
        self.failure: ZotError | None = None
        """Why it did not end in good order; None if it did, and while it runs."""
        self._on_event = on_event
        self._on_stderr = on_stderr
        self._early: list[str] = []
        """Lines of stderr before the batch has begun, if the program has no `on_stderr`."""
        self.begun = PendingAnswer("the start of the batch")
        """Its data are the members of `batch_start`."""
        self._is_closed = False
        self._folder_lock = threading.Lock()
        self._folders: dict[str, FolderResults] = {}
        """The folder results that have begun, by name: `earlier` and `left`."""
        lines, ids = lines_of(tasks)
        self._given = GivenResults(ids)
        self._live = LiveResults(self._given)
        self._program = default_program() if program is None else list(program)
        self._env = environment(options, env)
        self._cwd = options.get("cwd")
        self.process = BatchProcess(
            command(options, folder, self._program, with_events=on_event is not None, is_quiet=on_stderr is None),
            self._env,
            on_line=self._on_line,
            on_stderr=self._on_stderr_line,
            on_end=self._finish,
            cwd=self._cwd,
        )
        self.process.write(lines)
        self.process.end_input()
        self.process.start()

    # --- results --------------------------------------------------------------------------------------------

    def inboxes(self) -> Iterator[ResultInbox]:
        """Yields the inboxes in order. The batch must have begun; an inbox must be empty before the next is read."""
        begun = self.begun.read()
        if begun.get("done"):
            yield self._folder("earlier", without=begun["again"])
        yield self._live
        if self._live.has_left or begun.get("again"):
            yield self._folder("left")

    def end(self) -> None:
        """Ends the results. Raises the failure of the batch, if it has failed."""
        if self.failure is not None:
            raise self.failure.with_traceback(None)

    def begin_wait(self) -> None:
        """Leaves later results in the folder: the program waits for the end."""
        self.check_reader()
        self._live.leave_all()

    def ended_summary(self) -> BatchSummary:
        """Returns the summary of the ended batch. Raises its failure."""
        self.end()
        if self.summary is None:
            raise ProtocolError("the batch has ended without a summary")
        return self.summary

    def _folder(self, which: str, without: frozenset[str] = frozenset()) -> FolderResults:
        """Begins to read the folder, once; `without` the results of these tasks."""
        with self._folder_lock:
            if (found := self._folders.get(which)) is None:
                if self._is_closed:
                    raise ClosedError(CLOSED)
                folder = str(self.begun.read()["folder"])
                found = self._folders[which] = FolderResults(
                    self._given, self._program, folder, self._env, self._cwd, without=without
                )
            return found

    # --- control --------------------------------------------------------------------------------------------

    def drain(self) -> None:
        if not self.process.is_foreign:
            self.begun.on_come(self.process.drain)  # before that, a signal would end it at once

    def stop(self) -> None:
        if not self.process.is_foreign:
            self.begun.on_come(self.process.stop)

    def begin_close(self) -> None:
        """Stops it. Does not wait, and may be called from anywhere except in a fork."""
        self._is_closed = True
        for process in self.processes():
            process.end(at_once=True)

    def processes(self) -> list[EngineProcess]:
        """The process of the batch, and those that read its folder."""
        return [self.process, *(inbox.process for inbox in list(self._folders.values()))]

    @property
    def is_over(self) -> bool:
        """Whether none of its processes runs."""
        return all(process.ended.is_come for process in self.processes())

    def check_owner(self) -> None:
        """Raises `ClosedError` in a fork of the process that has started the batch. Takes no lock."""
        if self.process.is_foreign:
            raise ClosedError(FOREIGN)

    def check_reader(self) -> None:
        """Raises `ClosedError` in a fork, and `BusyError` in the thread that brings the results."""
        self.check_owner()
        if self.process.is_own_thread:
            raise BusyError("results would never come in a callback of the batch: take them in another thread")

    def __repr__(self) -> str:
        """The middle of the `repr` of a batch."""
        if self.process.is_foreign or self._is_closed:
            how = "closed"
        elif self.summary is not None:
            how = self.summary.reason
        else:
            how = "ended" if self.process.ended.is_come else "running" if self.begun.is_come else "starting"
        return f"pid={self.process.pid} {how}"

    # --- in the thread of the pipes ---------------------------------------------------------------------------

    def _on_line(self, line: bytes) -> None:
        if self.failure is not None:
            return
        try:
            self._on_record(members_of(line), line)
        except ProtocolError as error:
            self._break_off(error)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            self._break_off(ProtocolError(f"not a line of a batch ({error!r}): {line[:200]!r}"))

    def _on_record(self, members: dict[str, Any], line: bytes) -> None:
        kind = members["type"]
        if kind == "batch_start":
            for text in self._early:
                tell(_print, text)
            self._early = []
            again = frozenset(map(str, members.get("again", ())))
            self.begun.give({"folder": str(members["folder"]), "done": int(members["done"]), "again": again})
        elif not self.begun.is_come:
            raise ProtocolError(f"not a batch: its first line is {line[:200]!r}")
        elif kind == "task_end":
            if members["final"]:
                self._live.add(TaskResult.read(members["outcome"]), len(line))
        elif kind == "batch_end":
            self.summary = BatchSummary.read(members)
        elif kind not in OWN and self._on_event is not None:
            task, attempt, found = str(members.pop("task")), int(members.pop("attempt")), event(members, line)
            on_event = self._on_event
            tell(lambda _: on_event(task, attempt, found), None)

    def _on_stderr_line(self, line: str) -> None:
        if self._on_stderr is not None:
            tell(self._on_stderr, line)
        elif self.begun.is_come:
            tell(_print, line)
        else:  # the exception has them if the batch does not begin
            self._early = [*self._early, line][-STDERR_LINES:]

    def _break_off(self, error: ProtocolError) -> None:
        self.failure = error
        self.process.end()

    def _finish(self, why: ZotError) -> None:
        if self.failure is None and (self.summary is None or self.summary.reason == "failed"):
            died = BatchError(why.exit_status, why.stderr) if isinstance(why, RuntimeDied) else why
            self.failure = ClosedError(CLOSED) if self._is_closed else died
        self.begun.give(error=self.failure or ProtocolError("the batch has ended before it began"))
        self._live.finish()


def _print(line: str) -> None:
    if sys.stderr is not None:
        print(line, file=sys.stderr, flush=True)  # noqa: T201
