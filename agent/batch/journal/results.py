"""The final outcomes of a batch, in the order of its tasks; read from the folder, also while the batch runs."""

from __future__ import annotations

import os
from copy import copy
from typing import TYPE_CHECKING, Any

import msgspec

from agent.batch.journal.errors import JournalError
from agent.batch.journal.own_files import open_own
from agent.batch.journal.reader import JournalReader, read_journal
from supervisor.home.files import replacing
from wire.batch.journal_lines import AnyLine, Finished, JournalLineError, Line, UnknownLineError, decode_with

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from agent.batch.journal.folder import RunFolder
    from agent.batch.journal.state import BatchState
    from wire.batch.outcome import Outcome, TaskStatus

READ = 4 * 1024
"""Bytes of a line that are read at once."""


class RawFinished(Line, frozen=True, kw_only=True, tag="finished"):
    """A `Finished` whose outcome is not decoded."""

    task: str
    attempt: int
    final: bool
    outcome: msgspec.Raw


_finished = msgspec.json.Decoder(Finished)
_raw_finished = msgspec.json.Decoder(RawFinished)
_any_line: msgspec.json.Decoder[AnyLine] = msgspec.json.Decoder(AnyLine)


class BatchResults:
    """What a batch has come to so far. It keeps ids in memory, and reads each outcome when it is asked for."""

    def __init__(self, folder: RunFolder, state: BatchState | None = None) -> None:
        """`state` is what the journal amounts to, for who knows it; else it is read. Raises `JournalError` and
        `FolderError`."""
        self.folder = folder
        self.state = read_journal(folder.journal).state if state is None else state
        listed = [task.id for task in folder.read_tasks()]
        self.listed = len(listed)
        """Tasks in the tasks file."""
        known = set(listed)
        histories = self.state.tasks
        self.done = [task for task in listed if task in histories and histories[task].is_done]
        """Ids of the tasks with a final outcome, in the order of the tasks; those that the tasks file has no more come
        last."""
        self.done += [task for task, history in histories.items() if history.is_done and task not in known]
        self.not_run = [task for task in listed if task not in histories or not histories[task].is_done]
        """Ids of the tasks without one."""

    def only(self, statuses: Collection[TaskStatus], *, not_run: bool = False) -> BatchResults:
        """The same without the tasks that are done with other statuses, and unless `not_run` without those that are not
        done."""
        found = copy(self)
        found.done = [task for task in self.done if self.state.tasks[task].status in statuses]
        found.not_run = self.not_run if not_run else []
        return found

    def statuses(self) -> dict[str, int]:
        """How many tasks of `done` have each status, by its word."""
        counts: dict[str, int] = {}
        for task in self.done:
            status = self.state.tasks[task].status
            assert status is not None
            counts[status.value] = counts.get(status.value, 0) + 1
        return counts

    def outcomes(self) -> Iterator[Outcome]:
        """Of the tasks in `done`. Raises `JournalError`."""
        return (line.outcome for line in self._lines(_finished))

    def outcome_texts(self) -> Iterator[bytes]:
        """As `outcomes`, each as one line of JSON, LF included."""
        return (bytes(line.outcome) + b"\n" for line in self._lines(_raw_finished))

    def attempts(self) -> Iterator[tuple[Outcome, bool]]:
        """Each attempt that has ended, in the order of the journal, and whether it is the one that counts. Raises
        `JournalError`."""
        with self._opened() as file:
            for line, offset in JournalReader[AnyLine](self.folder.journal, file.fileno(), _any_line):
                if isinstance(line, Finished):
                    yield line.outcome, self.state.history(line.task).offset == offset

    def _lines(self, decoder: msgspec.json.Decoder[Any]) -> Iterator[Any]:
        path = self.folder.journal
        with self._opened() as file:
            for task in self.done:
                text = _line_at(file.fileno(), self.state.tasks[task].offset)
                try:
                    yield decode_with(decoder, text)
                except (JournalLineError, UnknownLineError) as error:
                    raise JournalError(f"{path}: the result of task {task} cannot be read: {error}") from None

    def _opened(self) -> Any:
        try:
            return open(open_own(self.folder.journal), "rb", buffering=0)
        except OSError as error:
            raise JournalError(f"{self.folder.journal}: cannot be read: {error.strerror}") from None


def write_results(folder: RunFolder, state: BatchState | None = None) -> int:
    """Writes `results.jsonl`: whole, in the place of the one before. Returns how many lines it has. Raises
    `JournalError`, `FolderError`, `OSError`; the file is then as it was."""
    results = BatchResults(folder, state)
    with replacing(folder.results_file) as file:
        file.writelines(results.outcome_texts())
    return len(results.done)


def _line_at(fd: int, offset: int) -> bytes:
    """The line that begins at this byte, without its LF."""
    pieces = []
    while chunk := os.pread(fd, READ, offset):
        text, end, _rest = chunk.partition(b"\n")
        pieces.append(text)
        if end:
            break
        offset += len(chunk)
    return b"".join(pieces)
