"""The final outcomes of a batch, in the order of its tasks; read from its folder, also while the batch runs.

Several folders are read as one batch: shards of one tasks file that ran on several machines, or parts that ran one by
one. Each task is in it once and has one final outcome. If several folders have one for a task, all with the same status
and digest, the first counts; else they contradict each other, and nothing is read without a word on whom to prefer.
All attempts of all folders count in the costs. Attempts of a task that is in several folders are numbered through.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from copy import copy
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from agent.batch.journal.errors import FolderError, JournalError
from agent.batch.journal.reader import JournalReader, read_journal
from agent.batch.journal.rundir_files import open_rundir_file
from agent.batch.reserve import Spent, rule_in
from supervisor.home.safe_files import replacement, sync
from wire.batch.journal_lines import AnyLine, Finished, JournalLineError, Line, Scored, UnknownLineError, decode_with
from wire.batch.outcome import Outcome, TaskStatus
from wire.batch.task import encode_task
from wire.text import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from typing import IO

    from agent.batch.journal.folder import RunFolder
    from agent.batch.journal.state import BatchState, TaskHistory
    from agent.batch.reserve import Rule
    from wire.batch.outcome import Score
    from wire.batch.task import Task

Prefer = Literal["first", "last", "ok"]
"""The folder whose outcome counts: the first that has one, the last, or the first with `ok`, if none the first."""
NAMED = 5
"""Contradicting tasks that an error names."""
READ = 4 * 1024
"""Bytes of a line that are read at once."""
TASKS_PER_STEP = 200
"""Tasks between two steps of `write_results`."""
BYTES_PER_SYNC = 2 << 20


class ContradictionError(FolderError):
    """Several folders have different outcomes, or definitions, of a task."""

    def __init__(self, text: str, tasks: tuple[str, ...]) -> None:
        super().__init__(text)
        self.tasks = tasks
        """Ids of the tasks."""


class RawFinished(Line, frozen=True, kw_only=True, tag="finished"):
    """A `Finished` whose outcome is not decoded."""

    task: str
    attempt: int
    final: bool
    outcome: msgspec.Raw


_finished = msgspec.json.Decoder(Finished)
_scored = msgspec.json.Decoder(Scored)
_outcome = msgspec.json.Decoder(Outcome)
_raw_finished = msgspec.json.Decoder(RawFinished)
_any_line: msgspec.json.Decoder[AnyLine] = msgspec.json.Decoder(AnyLine)


class Shard(msgspec.Struct, frozen=True):
    """One folder of a batch, as it is read."""

    folder: RunFolder
    state: BatchState
    """The state after the last line of its journal."""
    definitions: dict[str, int]
    """A hash of each task in its tasks file, by its id."""

    def has_result(self, task: str) -> bool:
        """Whether a task has a final outcome."""
        return task in self.state.tasks and self.state.tasks[task].is_done

    def rule(self) -> Rule:
        """The rule of `--reserve` of the last start. Raises `FolderError`."""
        batch = self.folder.read_batch()
        return rule_in({} if batch is None else batch.settings)


def read_shard(folder: RunFolder, state: BatchState | None = None) -> Shard:
    """Reads the journal, unless the caller has its `state`. Raises `JournalError` and `FolderError`."""
    state = read_journal(folder.journal).state if state is None else state
    return Shard(folder, state, definitions(folder.read_tasks()))


def definitions(tasks: Iterable[Task]) -> dict[str, int]:
    """The `definitions` of a shard with these tasks."""
    return {task.id: hash(encode_task(task)) for task in tasks}


class BatchResults:
    """The results so far of a batch in one or several folders. Keeps ids in memory, and reads outcomes on demand."""

    def __init__(self, shards: Sequence[Shard], prefer: Prefer | None = None) -> None:
        """Raises `ContradictionError` if they contradict each other and there is no `prefer`, and `FolderError` for a
        folder that is named twice."""
        if len({shard.folder.path.resolve() for shard in shards}) < len(shards):
            raise FolderError("the same folder is named twice; name each folder once")
        self.shards = tuple(shards)
        self.prefer = prefer
        self._chosen: dict[str, int] = {}
        """The number of the shard whose outcome counts, for each task that is done."""
        listed = dict.fromkeys(task for shard in shards for task in shard.definitions)
        known = dict.fromkeys([*listed, *(task for shard in shards for task in shard.state.tasks)])
        contradicting = []
        for task in known:
            finals = [(at, shard.state.tasks[task]) for at, shard in enumerate(shards) if shard.has_result(task)]
            if finals:
                self._chosen[task] = _preferred(finals, prefer)
            if len(shards) > 1 and (
                len({(history.status, history.digest) for _at, history in finals}) > 1
                or len({shard.definitions[task] for shard in shards if task in shard.definitions}) > 1
            ):
                contradicting.append(task)
        if contradicting and prefer is None:
            raise _contradiction(contradicting, self.shards)
        self.listed = len(listed)
        """Tasks in the tasks files."""
        self.done = list(self._chosen)
        """Ids of the tasks with a final outcome, in their order; those that no tasks file has now come last."""
        self.not_run = [task for task in listed if task not in self._chosen]
        """Ids of the tasks without one."""

    def history(self, task: str) -> TaskHistory:
        """The history of a task in `done`, in the folder whose outcome counts."""
        return self.shards[self._chosen[task]].state.tasks[task]

    def folder_of(self, task: str) -> RunFolder:
        """The folder whose outcome counts, of a task in `done`."""
        return self.shards[self._chosen[task]].folder

    def locate(self, task: str, attempt: int) -> tuple[RunFolder, int]:
        """The folder with the files of an attempt, and its number there. `attempt` is numbered through all folders."""
        for shard in self.shards[:-1]:
            there = shard.state.history(task).attempts
            if attempt <= there:
                return shard.folder, attempt
            attempt -= there
        return self.shards[-1].folder, attempt

    def spent(self) -> Spent:
        """By all attempts of all folders that have ended, each folder by its own rule of `--reserve`."""
        total = Spent()
        for shard in self.shards:
            total += shard.state.spent(shard.rule())
        return total

    def only(self, statuses: Collection[TaskStatus], *, not_run: bool = False) -> BatchResults:
        """The same, of done tasks only those with these statuses; with `not_run`, all tasks that are not done, too."""
        found = copy(self)
        found.done = [task for task in self.done if self.history(task).status in statuses]
        found.not_run = self.not_run if not_run else []
        return found

    def of(self, tasks: Iterable[str]) -> BatchResults:
        """The same, of done tasks only these."""
        found = copy(self)
        found.done = list(tasks)
        return found

    def statuses(self) -> dict[str, int]:
        """How many tasks of `done` have each status, by its word."""
        counts: dict[str, int] = {}
        for task in self.done:
            status = self.history(task).status
            assert status is not None
            counts[status.value] = counts.get(status.value, 0) + 1
        return counts

    def folders_of(self, tasks: Iterable[str]) -> list[RunFolder]:
        """The folders to run these tasks again in: the one whose outcome counts, else the first that has the task."""
        numbers = set()
        for task in tasks:
            has_task = (number for number, shard in enumerate(self.shards) if task in shard.definitions)
            numbers.add(self._chosen[task] if task in self._chosen else next(has_task, 0))
        return [self.shards[number].folder for number in sorted(numbers)]

    def outcomes(self) -> Iterator[Outcome]:
        """The outcomes of the tasks in `done`, each with the score that counts; with several folders, each `diff` is
        absolute. Raises `JournalError`."""
        for line, score, shard in self._lines(_finished):
            outcome: Outcome = line.outcome
            if score is not None:
                outcome = replace(outcome, score=score)
            if outcome.diff and len(self.shards) > 1:
                outcome = replace(outcome, diff=str(shard.folder.path.absolute() / outcome.diff))
            yield outcome

    def outcome_texts(self) -> Iterator[bytes]:
        """As `outcomes`, each as one line of JSON, LF included."""
        if len(self.shards) > 1:
            return (msgspec.json.encode(outcome) + b"\n" for outcome in self.outcomes())
        return (_text(line.outcome, score) for line, score, _ in self._lines(_raw_finished))

    def _lines(self, decoder: msgspec.json.Decoder[Any]) -> Iterator[tuple[Any, Score | None, Shard]]:
        """The line of each outcome, and its new score if it was scored again."""
        with ExitStack() as opened:
            files = [opened.enter_context(_open(shard.folder)) for shard in self.shards]
            for task in self.done:
                shard, file = self.shards[self._chosen[task]], files[self._chosen[task]]
                yield *_read(decoder, shard.folder, file, task, shard.state.tasks[task]), shard


def _read(
    decoder: msgspec.json.Decoder[Any], folder: RunFolder, journal: IO[bytes], task: str, history: TaskHistory
) -> tuple[Any, Score | None]:
    """The line with the result of a task, and its new score if it was scored again. Raises `JournalError`."""
    line = _read_line(decoder, folder, journal, task, history.offset)
    if history.scored < 0:
        return line, None
    return line, _read_line(_scored, folder, journal, task, history.scored).score


def _text(outcome: msgspec.Raw, score: Score | None) -> bytes:
    """The outcome as a line of JSON, LF included, with this score if there is one."""
    if score is None:
        return bytes(outcome) + b"\n"
    return msgspec.json.encode(replace(_outcome.decode(outcome), score=score)) + b"\n"


def _read_line(
    decoder: msgspec.json.Decoder[Any], folder: RunFolder, journal: IO[bytes], task: str, offset: int
) -> Any:
    """The line of the journal about the result of a task, which begins at this byte. Raises `JournalError`."""
    try:
        return decode_with(decoder, _line_at(journal.fileno(), offset))
    except (JournalLineError, UnknownLineError) as error:
        raise JournalError(f"{folder.journal}: the result of task {task} cannot be read: {error}") from None


def _preferred(finals: Sequence[tuple[int, TaskHistory]], prefer: Prefer | None) -> int:
    """The number of the shard whose outcome counts, of those that have one; at least one has."""
    if prefer == "ok":
        finals = [(number, history) for number, history in finals if history.status is TaskStatus.OK] or finals
    return finals[-1 if prefer == "last" else 0][0]


def _contradiction(tasks: Sequence[str], shards: Sequence[Shard]) -> ContradictionError:
    said = []
    for task in tasks[:NAMED]:
        ends = [
            f"{status.value} in {shard.folder.path}"
            for shard in shards
            if (status := shard.state.history(task).status) is not None
        ]
        said.append(f"{task} ({', '.join(ends) if len(ends) > 1 else 'not the same task in all of them'})")
    more = f" and {len(tasks) - NAMED} more" if len(tasks) > NAMED else ""
    return ContradictionError(
        f"these batches contradict each other in {counted(len(tasks), 'task')}: {'; '.join(said)}{more}. Say with "
        "--prefer first, last or ok whose outcome counts",
        tuple(tasks),
    )


def read_outcome(folder: RunFolder, task: str, history: TaskHistory) -> Outcome:
    """The final outcome of a task that is done, with the score that counts; reads only its lines. Raises
    `JournalError`."""
    with _open(folder) as file:
        line, score = _read(_finished, folder, file, task, history)
    outcome: Outcome = line.outcome
    return outcome if score is None else replace(outcome, score=score)


def outcome_of_attempt(folder: RunFolder, task: str, attempt: int) -> Outcome | None:
    """How this attempt ended, with its last score; None if it has not. Raises `JournalError`."""
    found: Outcome | None = None
    with _open(folder) as file:
        for line, _ in JournalReader[AnyLine](folder.journal, file.fileno(), _any_line):
            if isinstance(line, Finished | Scored) and (line.task, line.attempt) == (task, attempt):
                if isinstance(line, Finished):
                    found = found or line.outcome
                elif found is not None:
                    found = replace(found, score=line.score)
    return found


def write_results(folder: RunFolder, state: BatchState) -> Iterator[None]:
    """Writes `results.jsonl`, in steps: whole, in the place of the one before. Results of tasks that the tasks file no
    longer has come last. Raises `JournalError`, `FolderError`, `OSError`; the file is then as it was."""
    left = {task: history for task, history in state.tasks.items() if history.is_done}
    unsafe = 0
    with _open(folder) as journal, replacement(folder.results_file) as file:
        for number, task in enumerate(chain((task.id for task in folder.read_tasks()), _ids_in(left))):
            if (history := left.pop(task, None)) is not None:
                line, score = _read(_raw_finished, folder, journal, task, history)
                unsafe += file.write(_text(line.outcome, score))
            if unsafe >= BYTES_PER_SYNC:  # all at once could take seconds
                file.flush()
                sync(file.fileno())
                unsafe = 0
            if not number % TASKS_PER_STEP:
                yield


def _ids_in(tasks: dict[str, TaskHistory]) -> Iterator[str]:
    """The ids that are left when the first one is asked for."""
    yield from tuple(tasks)


def _open(folder: RunFolder) -> IO[bytes]:
    try:
        return open(open_rundir_file(folder.journal), "rb", buffering=0)
    except OSError as error:
        raise JournalError(f"{folder.journal}: cannot be read: {error.strerror}") from None


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
