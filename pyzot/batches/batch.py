"""`Batch`: many tasks in, their results out as they come. A client of `zot batch --json` in a child process."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections import deque

from ..connection.channel import tell
from ..connection.command_line import environment
from ..connection.decode import event, members_of
from ..connection.engine_process import EngineProcess
from ..errors import BatchError, ProtocolError, RuntimeDied
from .command_line import command
from .results import BatchSummary, TaskResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, Self, Unpack

    from ..connection.command_line import Place
    from ..errors import ZotError
    from ..events import AnyEvent
    from .command_line import BatchOptions

OWN = frozenset({"batch_start", "task_start", "task_paused", "task_resumed", "task_end", "batch_end"})
"""The types of the batch's own records; the others are of runs."""


class Batch:
    """Runs tasks, each in a process of its own, and gives their results as they come.

        with Batch(["Is 91 prime?", "Is 97 prime?"], "runs/primes", jobs=4) as batch:
            for result in batch:
                print(result.id, result.status, result.text)
        print(batch.summary.cost_usd)

    A task is a prompt, or a mapping with the fields of a task (`zot schema batch.task`). `folder` keeps the results:
    the same tasks with the same folder go on where an earlier batch has ended, and what is done is not run again.
    Options are the flags of `zot batch`, by their names.
    """

    def __init__(
        self,
        tasks: Iterable[str | Mapping[str, Any]],
        folder: Place,
        *,
        on_event: Callable[[str, int, AnyEvent], None] | None = None,
        on_stderr: Callable[[str], None] | None = None,
        env: Mapping[str, str] | None = None,
        program: Sequence[str] | None = None,
        **options: Unpack[BatchOptions],
    ) -> None:
        """Starts the batch.

        - `on_event`: gets each event of each run, with the id of its task and the number of the attempt, in a thread of
          the batch;
        - `on_stderr`: gets the lines for a person, in the same thread (default: they go to `sys.stderr`);
        - `env`: added to the environment of the batch;
        - `program`: the command line that is run instead of this Python's zot, before `batch` and the flags.

        Raises `TypeError` for a wrong option or task, and `OSError` if the program cannot be started. What `zot batch`
        finds wrong with a task comes with the results, as `BatchError`."""
        self.summary: BatchSummary | None = None
        """How the batch has ended; None until then."""
        self._on_event = on_event
        self._on_stderr = on_stderr or (lambda line: print(line, file=sys.stderr))  # noqa: T201
        self._results: deque[TaskResult] = deque()
        self._changed = threading.Condition()
        self._end: ZotError | None = None
        lines = b"".join(_line(number, task) for number, task in enumerate(tasks, 1))
        self._process = EngineProcess(
            command(options, folder, with_events=on_event is not None, program=program),
            environment(options, env),
            on_line=self._on_line,
            on_stderr=lambda line: tell(self._on_stderr, line),
            on_end=self._finish,
            cwd=options.get("cwd"),
        )
        self._process.write(lines)
        self._process.end_input()
        self._process.start()

    def __iter__(self) -> Iterator[TaskResult]:
        """The final result of each task, as they come; also of those that an earlier batch has done, first. Ends when
        the batch has ended. Raises `BatchError` if it has not begun or not ended in good order."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._results or self._end is not None)
                if not self._results:
                    break
                result = self._results.popleft()
            yield result
        if self.summary is None and self._end is not None:
            raise self._end

    def wait(self) -> BatchSummary:
        """Waits for the end without looking at the results. Raises as the iteration does."""
        for _ in self:
            pass
        if self.summary is None:
            raise ProtocolError("the batch has ended without a summary")
        return self.summary

    def drain(self) -> None:
        """Starts no more tasks; those that run end by themselves. May be called from any thread."""
        self._process.send_signal(signal.SIGINT)

    def stop(self) -> None:
        """Aborts the runs; their tasks are run again when the batch goes on. May be called from any thread."""
        self._process.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """Stops the batch if it still runs, and waits until no process of it is left."""
        self._process.end(at_once=True)
        self._process.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # --- in the thread of the pipes ---------------------------------------------------------------------------

    def _on_line(self, line: bytes) -> None:
        members = members_of(line)
        kind = members["type"]
        if kind == "task_end" and members.get("final"):
            self._put(TaskResult.read(members["outcome"]))
        elif kind == "batch_end":
            self.summary = BatchSummary.read(members)
        elif kind not in OWN and self._on_event is not None:
            task, attempt = str(members.pop("task", "")), int(members.pop("attempt", 0))
            tell(lambda found: self._on_event and self._on_event(task, attempt, found), event(members, line))

    def _put(self, result: TaskResult) -> None:
        with self._changed:
            self._results.append(result)
            self._changed.notify_all()

    def _finish(self, why: ZotError) -> None:
        with self._changed:
            self._end = BatchError(why.exit_status, why.stderr) if isinstance(why, RuntimeDied) else why
            self._changed.notify_all()


def _line(number: int, task: str | Mapping[str, Any]) -> bytes:
    """A line of a tasks file. Raises `TypeError`."""
    fields = {"prompt": task} if isinstance(task, str) else dict(task)
    try:
        return json.dumps(fields, default=_plain).encode() + b"\n"
    except (TypeError, ValueError) as error:
        raise TypeError(f"task {number}: {error}") from None


def _plain(value: object) -> Any:
    if isinstance(value, os.PathLike):
        return os.fsdecode(os.fspath(value))
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    raise TypeError(f"{value!r} is no JSON")
