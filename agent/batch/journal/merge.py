"""Makes one batch of several: shards of one tasks file that ran on several machines, or parts that ran one by one.

Each task is in the merged batch once, and has one final outcome. If several batches have one for a task, all with the
same status and digest, the first counts; else they contradict each other, and the merge is refused unless it is told
whom to prefer. What every attempt has used counts, also of those whose outcome does not. Attempts of a task that is in
several batches are numbered anew. Workspaces stay where they are.
"""

from __future__ import annotations

import os
import shutil
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from agent.batch.journal.errors import BusyError, FolderError
from agent.batch.journal.folder import BatchFile, RunFolder
from agent.batch.journal.own_files import IN_DIFFS, IN_RUNS, make_own_folder, open_own
from agent.batch.journal.reader import JournalReader, read_journal
from agent.batch.journal.results import write_results
from supervisor.home.files import make_folder, sync, sync_folder
from wire.batch.journal_lines import AnyLine, Closed, Finished, Opened, Paused, Reopened, Resumed, Started, encode_line
from wire.batch.outcome import TaskStatus
from wire.batch.task import encode_task

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import IO, Any

    from agent.batch.journal.state import BatchState, TaskHistory
    from wire.batch.outcome import Outcome

Prefer = Literal["first", "last", "ok"]
"""Whose outcome counts: that of the first folder that has one, of the last, or of the first with `ok`; if none has, of
the first."""
SHOWN = 5
"""Conflicts that an error names."""

_lines: msgspec.json.Decoder[AnyLine] = msgspec.json.Decoder(AnyLine)


class MergeError(FolderError):
    """Batches contradict each other."""

    def __init__(self, text: str, tasks: tuple[str, ...]) -> None:
        super().__init__(text)
        self.tasks = tasks
        """Ids of the tasks."""


class Merged(msgspec.Struct, frozen=True):
    """What a merge has made."""

    tasks: int
    done: int
    attempts: int
    """That have ended, of all folders."""
    contradicting: int
    """Tasks for which the outcome of one folder was preferred to another one's."""


BUDGETS = ("max_cost_usd", "max_tokens")
"""Flags of limits that count all starts of a batch."""


class _Part(msgspec.Struct, frozen=True):
    """One of the batches."""

    folder: RunFolder
    state: BatchState

    def history(self, task: str) -> TaskHistory:
        return self.state.history(task)


class _Plan(msgspec.Struct):
    """Pure: which outcome of which part counts for each task."""

    tasks: dict[str, bytes] = {}
    """Each task once, as a line."""
    winners: dict[str, int] = {}
    """The part whose final outcome counts, for each task that is done."""
    conflicts: list[str] = []
    """Tasks with outcomes, or definitions, that contradict each other."""


def merge(
    sources: Sequence[Path], into: Path, *, version: str, prefer: Prefer | None = None, now: float | None = None
) -> Merged:
    """Makes the folder `into`, which must not be there yet, from the folders of several batches, which stay as they
    are. `version` is that of zot, `now` seconds since 1970.

    Raises `MergeError` if they contradict each other and there is no `prefer`, `BusyError` if one of them is running,
    `FolderError` and `JournalError` if one cannot be read or `into` cannot be written.
    """
    if os.path.lexists(into):
        raise FolderError(f"{into}: is there already; name a new folder to merge into")
    if len({path.resolve() for path in sources}) < len(sources):
        raise FolderError("the same folder is named twice; name each folder to merge once")
    parts = [_part(RunFolder.existing(path)) for path in sources]
    plan = _plan(parts, prefer)
    if plan.conflicts and prefer is None:
        raise _contradiction(plan, parts)
    new = into.with_name(f".{into.name}.new")
    now = time.time() if now is None else now
    try:
        shutil.rmtree(new, ignore_errors=True)
        make_folder(new.parent)
        new.mkdir(0o700)  # not `make_folder`: what is there and cannot be deleted is not written to
        made = RunFolder(new)
        _write_tasks(made, plan)
        attempts = _write_journal(made, plan, parts, version, now)
        created = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        merged_from = tuple(str(path.absolute()) for path in sources)
        made.write_batch(
            BatchFile(
                version=version, created=created, tasks=len(plan.tasks), merged_from=merged_from,
                settings=_settings(parts),
            )
        )  # fmt: skip
        write_results(made)
        os.rename(new, into)
        sync_folder(into.parent)
    except OSError as error:
        raise FolderError(f"{error.filename or into}: cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return Merged(len(plan.tasks), len(plan.winners), attempts, len(plan.conflicts))


def _part(folder: RunFolder) -> _Part:
    is_running, pid = folder.running()
    if is_running:
        who = "another process" if pid is None else f"process {pid}"
        raise BusyError(f"{folder.path}: {who} runs this batch; merge it when that has ended", pid)
    return _Part(folder, read_journal(folder.journal).state)


# --- what counts --------------------------------------------------------------------------------------------


def _plan(parts: Sequence[_Part], prefer: Prefer | None) -> _Plan:
    plan = _Plan()
    differing = set()
    for part in parts:
        for task in part.folder.read_tasks():
            line = encode_task(task)
            if plan.tasks.setdefault(task.id, line) != line:
                differing.add(task.id)
    ids = dict.fromkeys([*plan.tasks, *(task for part in parts for task in part.state.tasks)])
    for one in ids:
        finals = [(number, part.history(one)) for number, part in enumerate(parts) if part.history(one).is_done]
        if finals:
            plan.winners[one] = preferred(finals, prefer)
        if one in differing or len({(history.status, history.digest) for _number, history in finals}) > 1:
            plan.conflicts.append(one)
    if differing:
        _take_definitions(plan, parts, differing)
    return plan


def preferred(finals: Sequence[tuple[int, TaskHistory]], prefer: Prefer | None) -> int:
    """The part whose outcome counts, of those that have one; at least one has."""
    if prefer == "ok":
        finals = [(number, history) for number, history in finals if history.status is TaskStatus.OK] or finals
    return finals[-1 if prefer == "last" else 0][0]


def _take_definitions(plan: _Plan, parts: Sequence[_Part], differing: set[str]) -> None:
    """A task that is not the same in all parts is as in the one whose outcome counts."""
    for number, part in enumerate(parts):
        for task in part.folder.read_tasks():
            if task.id in differing and plan.winners.get(task.id) == number:
                plan.tasks[task.id] = encode_task(task)


def _contradiction(plan: _Plan, parts: Sequence[_Part]) -> MergeError:
    said = []
    for task in plan.conflicts[:SHOWN]:
        ends = [
            f"{status.value} in {part.folder.path}"
            for part in parts
            if (status := part.history(task).status) is not None
        ]
        said.append(f"{task} ({', '.join(ends) if len(ends) > 1 else 'not the same task in all of them'})")
    more = f" and {len(plan.conflicts) - SHOWN} more" if len(plan.conflicts) > SHOWN else ""
    return MergeError(
        f"{len(plan.conflicts)} tasks contradict each other in these batches: {'; '.join(said)}{more}. Nothing was "
        "written; say with --prefer first, last or ok whose outcome counts",
        tuple(plan.conflicts),
    )


# --- what is written ----------------------------------------------------------------------------------------


def _settings(parts: Sequence[_Part]) -> dict[str, Any]:
    """The flags that all parts share, to go on with; none if those of their runs differ. Of budgets the highest counts,
    if each part has one."""
    each = [batch.settings.get("flags") for part in parts if (batch := part.folder.read_batch()) is not None]
    first, *others = all_flags = [flags if isinstance(flags, dict) else {} for flags in each] or [{}]
    shared = {name: value for name, value in first.items() if all(name in o and o[name] == value for o in others)}
    for name in BUDGETS:
        if all(isinstance(flags.get(name), int | float) for flags in all_flags):
            shared[name] = max(flags[name] for flags in all_flags)
    return {"flags": shared} if "run" in shared else {}


def _write_tasks(made: RunFolder, plan: _Plan) -> None:
    with open(open_own(made.tasks_file, os.O_WRONLY | os.O_CREAT), "wb") as file:
        file.writelines(plan.tasks.values())
        file.flush()
        sync(file.fileno())


def _write_journal(made: RunFolder, plan: _Plan, parts: Sequence[_Part], version: str, now: float) -> int:
    """Returns how many attempts have ended."""
    attempts = 0
    offset_of: dict[str, int] = {}
    """By how much the attempts of a task are higher here than in the part that is being written."""
    with open(open_own(made.journal, os.O_WRONLY | os.O_CREAT), "wb") as file:
        writer = _Lines(file)
        writer.write(Opened(seq=0, t=now, version=version, pid=os.getpid(), tasks=len(plan.tasks), jobs=0))
        for number, part in enumerate(parts):
            for line, at in _of(part):
                if not isinstance(line, Started | Finished | Paused | Resumed):
                    continue
                task, attempt = line.task, line.attempt + offset_of.get(line.task, 0)
                if isinstance(line, Finished):
                    attempts += 1
                    counts = plan.winners.get(task) == number and part.history(task).offset == at
                    outcome = _moved(line.outcome, attempt, part, made, counts=counts)
                    writer.write(replace(line, attempt=attempt, final=counts, outcome=outcome))
                else:
                    writer.write(replace(line, attempt=attempt))
                if isinstance(line, Started):
                    _link_files(part.folder, made, task, line.attempt, attempt)
            for task, history in part.state.tasks.items():
                offset_of[task] = offset_of.get(task, 0) + history.attempts
        for task in {task for part in parts for task, history in part.state.tasks.items() if history.reopened_at}:
            if task not in plan.winners:
                writer.write(Reopened(seq=0, t=now, task=task))
        is_done = all(task in plan.winners for task in plan.tasks)
        writer.write(Closed(seq=0, t=now, reason="done" if is_done else "drained"))
        file.flush()
        sync(file.fileno())
    return attempts


class _Lines:
    """Writes lines with their numbers."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._seq = 0

    def write(self, line: AnyLine) -> None:
        self._seq += 1
        self._file.write(encode_line(replace(line, seq=self._seq, commit=0)))


def _of(part: _Part) -> Iterator[tuple[AnyLine, int]]:
    with open(open_own(part.folder.journal), "rb", buffering=0) as file:
        yield from JournalReader[AnyLine](part.folder.journal, file.fileno(), _lines)


def _moved(outcome: Outcome, attempt: int, part: _Part, made: RunFolder, *, counts: bool) -> Outcome:
    """The outcome with its number here. A task has one diff, that of the outcome that counts."""
    diff = outcome.diff if counts else ""
    if diff:
        _link(part.folder.diff(outcome.id), made.diff(outcome.id), IN_DIFFS)
    return replace(outcome, attempt=attempt, diff=diff)


def _link_files(source: RunFolder, made: RunFolder, task: str, old: int, new: int) -> None:
    _link(source.events(task, old), made.events(task, new), IN_RUNS)
    _link(source.stderr(task, old), made.stderr(task, new), IN_RUNS)


def _link(source: Path, target: Path, own: int) -> None:
    """A second name for a file, or on another file system a copy. A file that is missing stays missing. Raises
    `FolderError` for a name in the batch that is no file of its own."""
    try:
        os.close(open_own(source, own=own))
    except FileNotFoundError:
        return
    make_own_folder(target.parent, own=own - 1)
    try:
        os.link(source, target)
    except FileExistsError:
        return
    except OSError:
        shutil.copyfile(source, target)
