"""Writes a journal: what is appended in one turn of the loop is written and synced once, at the end of the turn.

Nothing is told before it is safe: `when_durable` calls back after the sync. A write that fails ends the journal for
good, and lines that were not safe by then are never told.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from agent.batch.journal.checkpoint import Prefix, write_checkpoint
from agent.batch.journal.errors import JournalError
from agent.batch.journal.lock import Lock
from agent.batch.journal.reader import TornTail, move_torn_tail, read_journal
from agent.batch.journal.rundir_files import open_rundir_file
from supervisor.home.safe_files import make_folder, sync, sync_folder, write_all
from supervisor.loop.steps import Steps
from wire.batch.journal_lines import (
    AnyLine,
    Closed,
    Finished,
    Opened,
    Paused,
    Reopened,
    Resumed,
    Scored,
    Started,
    encode_line,
)
from wire.batch.outcome import cut_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agent.batch.journal.state import BatchState
    from supervisor.loop.loop import Loop, Timer
    from wire.batch.outcome import Outcome, Score

JOURNAL = "journal.jsonl"
CHECKPOINT_BYTES = 4 << 20
"""Least bytes of the journal between two checkpoints while the batch runs; reading so many lines takes about 30 ms."""
CHECKPOINT_SHARE = 16
"""The journal grows by this part of its size from one checkpoint to the next."""
LEAST_BYTES = 1 << 20
"""Bytes of the journal for which its end is worth a checkpoint."""
NO_LOCKS_NOTE = "the file system has no locks: {} marks the folder as in use; another machine cannot be asked"


class JournalState(Enum):
    """The state of a `Journal`."""

    OPEN = "open"
    FAILED = "failed"
    """A write failed. Nothing more is written, and no callback is called."""
    CLOSED = "closed"


class Journal:
    """The journal of one batch folder, locked for this process from `open` to `close`.

    `append` and the methods that are named after lines only take the line; the pass of the loop in which they are
    called ends with the write and the sync. `state` has the lines that are safe.
    """

    def __init__(
        self,
        path: Path,
        fd: int,
        lock: Lock,
        loop: Loop,
        on_failure: Callable[[str], None],
        clock: Callable[[], float],
    ) -> None:
        """For `open`."""
        self.path = path
        self.state: BatchState
        """The state after the lines that are safe on the disk."""
        self.torn: TornTail | None = None
        """The tail that was moved to `journal.torn` when the journal was opened; None if there was none."""
        self.notices: list[str] = []
        """Sentences for the user about the opening."""
        self.commits = 0
        """Writes with their syncs, since it was opened."""
        self._fd = fd
        self._lock = lock
        self._loop = loop
        self._on_failure = on_failure
        self._clock = clock
        self.life = JournalState.OPEN
        self._seq = 0
        self._size = 0
        """Bytes that are safe on the disk; the file has no more between two writes."""
        self._commit = 0
        """The `seq` of the first line that waits."""
        self._waiting: list[tuple[AnyLine, bytes]] = []
        self._callbacks: list[Callable[[], None]] = []
        self._is_unsafe = False
        """Whether bytes were written that are not synced."""
        self._timer: Timer | None = None
        """The timer of the next flush."""
        self._is_flushing = False
        self._prefix = Prefix()
        """The bytes of the last checkpoint that this process has begun."""
        self._checkpoint_at = CHECKPOINT_BYTES
        """The size of the journal at which the next one is due."""

    @classmethod
    def open(
        cls,
        folder: Path,
        loop: Loop,
        *,
        on_failure: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ) -> Journal:
        """Locks the folder for this process, makes missing files, and reads the journal. Moves a torn tail to
        `journal.torn`. `on_failure` is called once, with the reason, if a write fails later. `clock` returns seconds
        since 1970. Raises `BusyError`, `DamagedError`, `NewerError`, `JournalError`, `FolderError`."""
        path = folder / JOURNAL
        try:
            make_folder(folder, 0o700)
            is_new = not path.exists()
            fd = open_rundir_file(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        except OSError as error:
            where = error.filename or path
            raise JournalError(f"{where}: cannot be opened for writing: {error.strerror}") from None
        try:
            lock = Lock.take(path, fd, lambda: _last_pid(path, fd))
        except BaseException as error:
            os.close(fd)
            if isinstance(error, OSError):
                raise JournalError(f"{path}: cannot be locked: {error.strerror}") from None
            raise
        journal = cls(path, fd, lock, loop, on_failure, clock)
        try:
            if is_new:
                sync_folder(folder)
            journal._read()
        except BaseException as error:
            lock.release(fd)
            if isinstance(error, OSError):
                raise JournalError(f"{path}: cannot be written: {error.strerror}") from None
            raise
        return journal

    # --- lines --------------------------------------------------------------------------------------------

    def opened(self, *, version: str, tasks: int, jobs: int, socket: str = "") -> None:
        """This process begins its work."""
        self.append(Opened, version=version, pid=os.getpid(), tasks=tasks, jobs=jobs, socket=socket)

    def started(self, task: str, attempt: int, digest: str = "", node: str = "") -> None:
        """An attempt is about to begin: fork in `when_durable`."""
        self.append(Started, task=task, attempt=attempt, digest=digest, node=node or msgspec.UNSET)

    def paused(self, task: str, attempt: int, reason: str) -> None:
        self.append(Paused, task=task, attempt=attempt, reason=reason)

    def resumed(self, task: str, attempt: int) -> None:
        self.append(Resumed, task=task, attempt=attempt)

    def finished(self, outcome: Outcome, *, final: bool) -> None:
        """An attempt has ended: tell it in `when_durable`. A text that is too long is cut."""
        outcome = cut_texts(outcome)
        self.append(Finished, task=outcome.id, attempt=outcome.attempt, final=final, outcome=outcome)

    def reopened(self, task: str) -> None:
        """The task is to be run again; its result stands until a new attempt has started."""
        self.append(Reopened, task=task)

    def scored(self, task: str, attempt: int, score: Score) -> None:
        """The result of this attempt was scored again."""
        self.append(Scored, task=task, attempt=attempt, score=score)

    def closed(
        self, reason: Literal["done", "drained", "stopped", "budget", "deadline", "failures"], limit: str = ""
    ) -> None:
        """This process ends in good order; `close` the journal after it. `limit` is the flag of a limit used up."""
        self.append(Closed, reason=reason, limit=limit)

    def append(self, kind: type[AnyLine], **fields: Any) -> None:
        """Takes a line; `v`, `seq`, `commit` and `t` are added. After a failure or the close it does nothing."""
        if self.life is not JournalState.OPEN:
            return
        seq = self._seq + 1
        commit = self._commit if self._waiting else seq
        line = kind(seq=seq, commit=commit, t=round(self._clock(), 6), **fields)
        self._waiting.append((line, encode_line(line)))
        self._seq, self._commit = seq, commit
        self._arm()

    def when_durable(self, callback: Callable[[], None]) -> None:
        """Calls back in the loop once all lines so far are safe on the disk; never at once, nor after a failure."""
        if self.life is JournalState.OPEN:
            self._callbacks.append(callback)
            self._arm()

    def sync(self) -> bool:
        """Writes and syncs what waits now, and calls back. Returns False if the journal has failed or is closed."""
        if self.life is JournalState.OPEN:
            self._flush()
        return self.life is JournalState.OPEN

    def close(self) -> None:
        """Writes and syncs what waits, calls back, and gives the lock back."""
        if self.life is JournalState.CLOSED:
            return
        while self.sync() and (self._waiting or self._callbacks):
            pass
        self.life = JournalState.CLOSED
        if self._timer is not None:
            self._timer.cancel()
        self._lock.release(self._fd)
        self._fd = -1

    def checkpoint(self) -> Iterator[None]:
        """Keeps the state after the lines that are safe, in steps, so that the next start does not read them. Does
        nothing for a short journal, and without room on the disk: then the next start takes longer."""
        if self._size - self._prefix.size < LEAST_BYTES:
            return
        while self.life is JournalState.OPEN and self._prefix.grow(self._fd, self._size):
            yield
        if self.life is JournalState.OPEN and self._prefix.size == self._size:
            with suppress(OSError):
                write_checkpoint(self.path, self.state, self._prefix)

    # --- disk ---------------------------------------------------------------------------------------------

    def _read(self) -> None:
        """Reads what is there, and makes sure that it is safe: a process that was killed may have left bytes that the
        system has not written yet. Raises `JournalError`, `OSError`."""
        contents = read_journal(self.path, self._fd)
        self.state, self._seq, self._size = contents.state, contents.lines, contents.end
        self._checkpoint_at = contents.kept + CHECKPOINT_BYTES
        if self._lock.file is not None:
            self.notices.append(NO_LOCKS_NOTE.format(self._lock.file))
        if (torn := contents.torn) is not None:
            aside = move_torn_tail(self.path, self._fd, torn, self._clock())
            self.torn = torn
            self.notices.append(
                f"{self.path}: {torn.size} bytes at the end, from line {torn.line} on, are not whole lines "
                f"({torn.reason}): the last batch process was killed while it wrote them; they are in {aside.name} now"
            )
        if self._size:
            sync(self._fd)

    def _arm(self) -> None:
        """Has the loop flush at the end of its current pass; from a callback of a flush, of the next pass."""
        if self._timer is None:
            loop = self._loop
            self._timer = loop.call_at(loop.clock() if self._is_flushing else loop.pass_time, self._end_of_pass)

    def _end_of_pass(self) -> None:
        self._timer = None
        self.sync()

    def _flush(self) -> None:
        waiting, callbacks = self._waiting, self._callbacks
        self._waiting, self._callbacks = [], []
        if waiting:
            try:
                self._write(b"".join([text for _line, text in waiting]))
            except OSError as error:
                self._fail(f"{self.path}: cannot be written: {error.strerror or error}")
                return
            for line, text in waiting:
                self.state.take(line, self._size)
                self._size += len(text)
            if self._size >= self._checkpoint_at:
                self._checkpoint_at = self._size + max(CHECKPOINT_BYTES, self._size // CHECKPOINT_SHARE)
                Steps(self._loop, self.checkpoint())
        self._is_flushing = True
        try:
            for callback in callbacks:
                callback()
        finally:
            self._is_flushing = False

    def _write(self, text: bytes) -> None:
        status = os.fstat(self._fd)
        if not status.st_nlink:
            raise OSError("the file was removed or replaced")
        if status.st_size != self._size:
            raise OSError(f"another program has changed its size from {self._size} to {status.st_size} bytes")
        self._is_unsafe = True
        write_all(self._fd, text)
        sync(self._fd)
        self._is_unsafe = False
        self.commits += 1

    def _fail(self, reason: str) -> None:
        """Ends the writing. Cuts off unsafe bytes: the system may show them to the next process and lose them later."""
        self.life = JournalState.FAILED
        self._waiting, self._callbacks = [], []
        try:
            if self._is_unsafe:
                os.ftruncate(self._fd, self._size)
                sync(self._fd)
        except OSError:
            pass  # then the next start cuts it aside
        self._on_failure(f"{reason}; no task starts from now on; all results told so far are safe")


def _last_pid(path: Path, fd: int) -> int | None:
    """The pid of the process that has opened the journal last."""
    try:
        opened = read_journal(path, fd).state.opened
    except JournalError:
        return None
    return opened.pid if opened else None
