"""RUNDIR, the folder of one batch: where its files lie, and what the batch is.

batch.json        what this batch is (`BatchFile`)
tasks.jsonl       its tasks, as they were taken: one `wire.batch.task.Task` a line
journal.jsonl     what was done (`wire.batch.journal_lines`); journal.torn has what was cut off it, journal.checkpoint
                  the state after most of it
results.jsonl     the final outcome of each task, in the order of the tasks, as the last start has left them
batch.log         the batch's own log
runs/NAME/        N.events.jsonl and N.stderr of each attempt N; NAME is made of the task's id
diffs/NAME.diff   what a task has changed; workspaces/NAME its copy of the project
batches/          with --batch-api: NONCE.jsonl has the requests of a message batch, until its results are recorded
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from agent.batch.journal.errors import FolderError, JournalError
from agent.batch.journal.lock import is_locked
from agent.batch.journal.reader import read_journal
from agent.batch.journal.rundir_files import (
    IN_RUNS,
    check_rundir_entry,
    open_rundir_file,
    read_rundir_file,
    rundir_lines,
)
from agent.batch.journal.writer import JOURNAL
from supervisor.home.safe_files import replacement
from wire.batch.link import WorktreeBase  # noqa: TC001  (msgspec reads the annotations)
from wire.batch.task import TaskError, decode_task, encode_task, encode_tasks, safe_name
from wire.lenient_json import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from wire.batch.task import Task

VERSION = 1
BATCH = "batch.json"
OWN_FOLDERS = frozenset({"runs", "diffs", "workspaces", "batches"})
OWN_NAMES = OWN_FOLDERS | {
    *(BATCH, "tasks.jsonl", JOURNAL, "journal.torn", "journal.lock", "journal.checkpoint"),
    *("results.jsonl", "batch.log"),
}
"""Names of the batch's own files; other files in its folder are left alone."""


class BatchFile(msgspec.Struct, frozen=True, kw_only=True):
    """`batch.json`."""

    kind: Literal["zot batch"] = "zot batch"
    v: int = VERSION
    version: str
    """Version of zot that made the folder."""
    created: str
    """RFC 3339, UTC."""
    tasks: int
    tasks_digest: str = ""
    """Hash of `tasks.jsonl`."""
    settings: dict[str, Any] = {}
    """The flags on which the results depend."""
    bases: tuple[WorktreeBase, ...] = ()
    """With `--workspace worktree`: one for each repository, since its first task."""


class RunFolder:
    """The paths of one batch. It reads and writes nothing but what a method says."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.batch_file = path / BATCH
        self.tasks_file = path / "tasks.jsonl"
        self.journal = path / JOURNAL
        self.results_file = path / "results.jsonl"
        self.log = path / "batch.log"
        self.runs = path / "runs"
        self.diffs = path / "diffs"
        self.workspaces = path / "workspaces"
        self.batches = path / "batches"

    @classmethod
    def for_batch(cls, path: Path) -> RunFolder:
        """A folder to run a batch in: one of the user's that has a batch, is empty, or does not exist. Makes nothing.
        Raises `FolderError` for a folder with other things in it, with links for its own names, and of another user;
        root may have the folder of anybody, and anybody one of root's."""
        folder = cls(path)
        try:
            names = {name.removeprefix(".").removesuffix(".new") for name in os.listdir(path)}
            owner, user = os.stat(path).st_uid, os.geteuid()
            for name in sorted(names & OWN_NAMES):
                check_rundir_entry(path / name, is_folder=name in OWN_FOLDERS)
        except FileNotFoundError:
            return folder
        except OSError as error:
            raise FolderError(f"{path}: cannot be used as the folder of a batch: {error.strerror}") from None
        if user and owner not in (user, 0):
            raise FolderError(
                f"{path}: belongs to user {owner}, and you are user {user}; name a folder of yours with -o"
            )
        if foreign := "" if BATCH in names else min(names - OWN_NAMES, default=""):
            raise FolderError(
                f"{path}: is no folder of a batch and not empty (it has {foreign}); name a new folder with -o"
            )
        return folder

    @classmethod
    def existing(cls, path: Path) -> RunFolder:
        """The folder of a batch that was begun. Raises `FolderError`."""
        folder = cls(path)
        if folder.read_batch() is None:
            what = "has no batch.json: it is no folder of a batch" if path.is_dir() else "there is no such folder"
            raise FolderError(f"{path}: {what}; name the one that was given to zot batch with -o")
        return folder

    # --- what it is ---------------------------------------------------------------------------------------

    def read_batch(self) -> BatchFile | None:
        """None if there is no such file. Raises `FolderError` for one that is damaged or of a newer version."""
        try:
            text = read_rundir_file(self.batch_file)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise FolderError(f"{self.batch_file}: cannot be read: {error.strerror}") from None
        try:
            version = msgspec.json.decode(text, type=_Version).v
            if version > VERSION:
                raise FolderError(
                    f"{self.batch_file}: a newer version of zot has made this folder (version {version}); use that one"
                )
            return msgspec.json.decode(text, type=BatchFile)
        except UNREADABLE as error:
            raise FolderError(f"{self.batch_file}: is not what zot batch has written: {error}") from None

    def write_batch(self, batch: BatchFile) -> None:
        """Raises `OSError`."""
        with replacement(self.batch_file) as file:
            file.write(msgspec.json.format(msgspec.json.encode(batch), indent=2) + b"\n")

    def write_tasks(self, tasks: Iterable[Task]) -> None:
        """Raises `OSError`."""
        with replacement(self.tasks_file) as file:
            file.writelines(map(encode_task, tasks))

    def has_tasks(self, tasks: Sequence[Task]) -> bool:
        """Whether `tasks.jsonl` has exactly these tasks, in this order. Raises `FolderError`."""
        try:
            with open(open_rundir_file(self.tasks_file), "rb") as file:
                return file.read() == encode_tasks(tasks)
        except OSError:
            return False

    def read_tasks(self) -> Iterator[Task]:
        """In their order. Raises `FolderError`."""
        try:
            for number, line in enumerate(rundir_lines(self.tasks_file), 1):
                try:
                    yield decode_task(line)
                except TaskError as error:
                    raise FolderError(f"{self.tasks_file}, line {number}: {error}") from None
        except OSError as error:
            raise FolderError(f"{self.tasks_file}: cannot be read: {error.strerror}") from None

    def running(self) -> tuple[bool, int | None]:
        """Whether a batch process works on the folder now, and its pid if that is known. Takes no lock where the system
        lists them. Raises `FolderError`."""
        try:
            is_running, pid = is_locked(self.journal)
        except OSError:
            return False, None
        if is_running and pid is None:
            try:
                opened = read_journal(self.journal).state.opened
            except JournalError:
                return True, None
            pid = opened.pid if opened else None
        return is_running, pid

    # --- files of one task --------------------------------------------------------------------------------

    def run(self, task: str) -> Path:
        """The folder with the files of its attempts."""
        return self.runs / safe_name(task)

    def events(self, task: str, attempt: int) -> Path:
        return self.run(task) / f"{attempt}.events.jsonl"

    def stderr(self, task: str, attempt: int) -> Path:
        return self.run(task) / f"{attempt}.stderr"

    def diff(self, task: str) -> Path:
        return self.diffs / f"{safe_name(task)}.diff"

    def workspace(self, task: str) -> Path:
        return self.workspaces / safe_name(task)


class _Version(msgspec.Struct):
    v: int = VERSION


TAIL = 4096
"""Bytes of standard error that are read for the last lines."""
LINES = 5
LINE_LENGTH = 500
"""Characters."""


class RunFilesError(OSError):
    """A file in the folder of the batch cannot be written; the text names it."""


class RunFiles:
    """Open from the start of an attempt to its end. Events are written as whole lines, as they come: a killed batch
    leaves what was written so far, and a killed run leaves no half line."""

    def __init__(self, events: Path, stderr: Path) -> None:
        """Makes the folder. Raises `RunFilesError`."""
        self._events_path = events
        self._stderr_path = stderr
        self._rest = bytearray()
        self._events = self.stderr = -1
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        try:
            self._events = open_rundir_file(events, flags, depth=IN_RUNS)
            self.stderr = open_rundir_file(stderr, flags | os.O_APPEND, depth=IN_RUNS)
        except (OSError, FolderError) as error:
            self.close()
            reason = f"{error.filename or events}: {error.strerror}" if isinstance(error, OSError) else str(error)
            raise RunFilesError(reason) from None

    def write(self, chunk: bytes) -> Iterator[bytes]:
        """Writes the lines that the chunk completes and returns them, LF included. Raises `RunFilesError`."""
        end = chunk.rfind(b"\n") + 1
        if not end:
            self._rest += chunk
            return iter(())
        whole = bytes(self._rest) + chunk[:end] if self._rest else chunk[:end]
        self._rest[:] = chunk[end:]
        try:
            view = memoryview(whole)
            while view:
                view = view[os.write(self._events, view) :]
        except OSError as error:
            raise RunFilesError(f"{self._events_path}: {error.strerror}") from None
        return iter(_lines(whole))

    def close_stderr(self) -> None:
        """The process has the descriptor."""
        if self.stderr >= 0:
            os.close(self.stderr)
            self.stderr = -1

    def last_words(self) -> list[str]:
        """The last lines of standard error."""
        try:
            with open(open_rundir_file(self._stderr_path, depth=IN_RUNS), "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
                text = file.read(TAIL).decode("utf-8", "replace")
        except (OSError, FolderError):
            return []
        lines = (line.strip() for line in text.splitlines())
        return [line[:LINE_LENGTH] for line in lines if line.strip("^~ ")][-LINES:]

    def close(self) -> None:
        if self._events >= 0:
            os.close(self._events)
            self._events = -1
        self.close_stderr()


def _lines(whole: bytes) -> list[bytes]:
    """Only LF ends a line."""
    return [line + b"\n" for line in whole.split(b"\n")[:-1]]
