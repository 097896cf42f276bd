"""Reads the tasks of a batch, from JSON Lines or CSV, a file or stdin. All faults are told at once."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING

import msgspec
from msgspec.structs import force_setattr, replace

from agent.batch.tasks import csv_rows, json_lines
from agent.batch.tasks.faults import Faults, TasksError
from agent.batch.tasks.template import PromptTemplate
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from wire.batch.task import Task

CSV = ".csv"
JSON_LINES = (".jsonl", ".ndjson", ".json")


class Places(Mapping[str, str]):
    """Where each id stands, for messages: `tasks.jsonl:17`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.numbers: dict[str, int] = {}
        """The line of each id, from 1."""

    def __getitem__(self, task_id: str) -> str:
        return f"{self._name}:{self.numbers[task_id]}"

    def __iter__(self) -> Iterator[str]:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)


class TaskList(msgspec.Struct, frozen=True):
    """The tasks of a file, in its order."""

    tasks: list[Task]
    """Each with its id, and with absolute paths."""
    lines: Places
    remarks: tuple[str, ...] = ()
    """Lines for the user."""


def read_tasks(source: str, *, template: str | None, base: Path, stdin: IO[bytes] | None = None) -> TaskList:
    """`source` is a file, or `-` for stdin. `base` is the absolute working folder of the batch, at which relative paths
    of tasks start. `template` is a text, or `@FILE`. Nothing that a task names is looked at: `check_tasks` does that.
    Raises `TasksError`."""
    made = None if template is None else PromptTemplate.load(template)
    name, content = read_source(source, sys.stdin.buffer if stdin is None else stdin)
    faults, remarks = Faults(), list[str]()
    if _is_csv(source, content, made):
        found = csv_rows.tasks_in(name, content, made, faults, remarks)
    else:
        found = json_lines.tasks_in(name, content, made, faults)
    paths = _Paths(str(base))
    tasks: list[Task] = []
    lines = Places(name)
    number_of, add, absolute = lines.numbers.setdefault, tasks.append, paths.absolute
    for number, read in found:
        task_id = read.id or str(number)
        if (first := number_of(task_id, number)) != number:
            hint = "" if read.id else " (a task without an id has the number of its line)"
            faults.add(f"{name}:{number}", f"id: {task_id!r} is the id of line {first}, too{hint}")
            continue
        add(absolute(read, task_id))
    faults.raise_any()
    if not tasks:
        faults.add(name, "there is no task in it")
    faults.raise_any()
    return TaskList(tasks, lines, tuple(remarks))


def _is_csv(source: str, content: bytes, template: PromptTemplate | None) -> bool:
    """By the name of the file; without a name that tells, a template means CSV, unless the content begins as JSON."""
    ending = os.path.splitext(source)[1].lower()
    if ending == CSV or ending in JSON_LINES:
        return ending == CSV
    return template is not None and content.lstrip()[:1] not in (b"{", b"[")


class _Paths:
    """Makes the paths of tasks absolute."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._joined: dict[tuple[str, str], str] = {}

    def absolute(self, task: Task, task_id: str) -> Task:
        """The task with this id and absolute paths; `cwd` is then never None."""
        cwd = self._base if task.cwd is None else self._join(self._base, task.cwd)
        if not task.files and not task.ext and task.replay is None and task.output_schema is None:
            force_setattr(task, "id", task_id)  # nobody else has this task
            force_setattr(task, "cwd", cwd)
            return task
        changed: dict[str, object] = {}
        if task.files:
            changed["files"] = tuple([self._join(cwd, file) for file in task.files])
        if task.ext:
            changed["ext"] = tuple([self._join(cwd, folder) for folder in task.ext])
        if task.replay is not None:
            changed["replay"] = self._join(cwd, task.replay)
        if isinstance(task.output_schema, str) and not task.output_schema.lstrip().startswith("{"):
            changed["output_schema"] = self._join(cwd, task.output_schema)
        return replace(task, id=task_id, cwd=cwd, **changed)

    def _join(self, folder: str, path: str) -> str:
        """Most tasks name the same few paths: each is joined once."""
        found = self._joined.get((folder, path))
        if found is None:
            found = self._joined[folder, path] = os.path.normpath(os.path.join(folder, path))
        return found


STDIN = "-"
SIZE_LIMIT = 1024 * 1024 * 1024
"""Bytes of all tasks together. They are in memory for as long as the batch runs."""
CHUNK = 1024 * 1024
"""Bytes."""
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
MARK = b"\xef\xbb\xbf"
"""A byte order mark, which spreadsheets put before UTF-8. It has no meaning."""


def read_source(source: str, stdin: IO[bytes]) -> tuple[str, bytes]:
    """The name of the source for messages, and its content without a byte order mark. Waits for the end of a pipe.
    Raises `TasksError`."""
    if source == STDIN:
        if stdin.isatty():
            raise TasksError(["-: stdin is a terminal: pipe the tasks in, or name their file"])
        return "stdin", _content("stdin", stdin)
    name = valid_text(source)
    try:
        mode = os.stat(source).st_mode
        if stat.S_ISDIR(mode):
            raise TasksError([f"{name}: it is a folder; name a file with tasks"])
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise TasksError([f"{name}: it is neither a file nor a pipe"])
        with open(source, "rb") as file:
            return name, _content(name, file)
    except FileNotFoundError:
        raise TasksError([f"{name}: no such file"]) from None
    except OSError as error:
        raise TasksError([f"{name}: cannot be read: {error.strerror}"]) from None
    except ValueError as error:
        if isinstance(error, TasksError):
            raise
        raise TasksError([f"{name!r}: cannot be read: {error}"]) from None


def _content(name: str, file: IO[bytes]) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while chunk := file.read(CHUNK):
        chunks.append(chunk)
        size += len(chunk)
        if size > SIZE_LIMIT:
            raise TasksError([f"{name}: it is larger than {SIZE_LIMIT >> 20:,} MiB: split it, and run its parts"])
    content = b"".join(chunks)
    if content.startswith(UTF_16):
        raise TasksError([f"{name}:1: it is UTF-16: save it as UTF-8"])
    content = content.removeprefix(MARK)
    if not content.strip():
        raise TasksError([f"{name}: it is empty: there is no task"])
    return content
