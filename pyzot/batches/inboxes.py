"""Results that wait for the program: of this start of the batch, and from its folder."""

from __future__ import annotations

import threading

from ..connection.decoder import object_of
from ..connection.engine_process import EngineProcess
from ..connection.inbox import Inbox
from ..errors import BatchError, ProtocolError, RuntimeDied
from .results import TaskResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..errors import ZotError
    from ..flags import Place

KEPT_BYTES = 64 * 1024 * 1024
"""Maximum size in bytes of the results in memory. Further results are read from the folder at the end."""
READ_AHEAD_BYTES = 4 * 1024 * 1024
"""Maximum size in bytes of results that were read from the folder and not taken."""


class GivenResults:
    """The tasks of a batch, and those whose results were returned or wait: each result is returned once."""

    def __init__(self, ids: frozenset[str]) -> None:
        self._ids = ids
        self._taken: set[str] = set()
        self._lock = threading.Lock()

    def take(self, task: str) -> bool:
        """Claims the result of this task. Returns True the first time."""
        with self._lock:
            if task in self._taken:
                return False
            self._taken.add(task)
            return True

    def give_back(self, task: str) -> None:
        """Takes back the claim."""
        with self._lock:
            self._taken.discard(task)

    def __contains__(self, task: str) -> bool:
        """Whether it is a task of the batch: the folder may have others, too."""
        return task in self._ids


class ResultInbox(Inbox):
    """Results, and the size of their lines in bytes."""

    bytes = 0

    def put(self, result: TaskResult, size: int) -> None:
        with self._changed:
            self._waiting.append((result, size))
            self.bytes += size
            callbacks = self._notify()
        for callback in callbacks:
            callback()

    def _next(self) -> TaskResult:
        result: TaskResult
        result, size = self._waiting.popleft()
        self.bytes -= size
        return result


class LiveResults(ResultInbox):
    """The results of this start. Results without room stay only in the folder: a batch never waits for its reader."""

    def __init__(self, given: GivenResults) -> None:
        super().__init__()
        self.has_left = False
        """Whether results were left in the folder."""
        self._given = given
        self._has_room = True

    def add(self, result: TaskResult, size: int) -> None:
        if not self._has_room or self.bytes + size > KEPT_BYTES:
            self.has_left = True
        elif self._given.take(result.id):
            self.put(result, size)

    def leave_all(self) -> None:
        """Leaves waiting and later results in the folder."""
        self._has_room = False
        with self._changed:
            while self._waiting:
                self.has_left = True
                self._given.give_back(self._next().id)


class FolderResults(ResultInbox):
    """The results in the folder. `zot batch results` reads them as fast as they are taken."""

    def __init__(
        self,
        given: GivenResults,
        program: Sequence[str],
        folder: str,
        env: Mapping[str, str],
        cwd: Place | None,
        *,
        without: frozenset[str] = frozenset(),
    ) -> None:
        """Leaves out the results of the tasks in `without`: they are run again. Raises `OSError`."""
        super().__init__()
        self._given = given
        self._without = without
        self.process = EngineProcess(
            [*program, "batch", "results", "--format=jsonl", "--", folder],
            env,
            on_line=self._on_line,
            on_stderr=lambda _line: None,
            on_end=self._on_end,
            cwd=cwd,
        )
        self.process.end_input()
        self.process.start()

    def _next(self) -> TaskResult:
        result = super()._next()
        if self.bytes <= READ_AHEAD_BYTES:
            self.process.resume()
        return result

    def _on_line(self, line: bytes) -> None:
        try:
            result = TaskResult.read(object_of(line))
        except (KeyError, TypeError, AttributeError, ProtocolError):
            self.fail(ProtocolError(f"not a result of a batch: {line[:200]!r}"))
            self.process.end(at_once=True)
            return
        if result.id in self._given and result.id not in self._without and self._given.take(result.id):
            self.put(result, len(line))
            if self.bytes > READ_AHEAD_BYTES:
                self.process.pause()
                if self.bytes <= READ_AHEAD_BYTES:  # everything was taken meanwhile
                    self.process.resume()

    def _on_end(self, why: ZotError) -> None:
        if not isinstance(why, RuntimeDied):
            self.fail(why)
        elif why.exit_status:
            self.fail(BatchError(why.exit_status, why.stderr))
        else:
            self.finish()
