"""Checks before anything starts what tasks name: folders, files, schemas, tools, models. Each is looked at once."""

from __future__ import annotations

import os
import stat
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from agent.batch.tasks.check_provider import CredentialCheck, ModelCheck
from agent.batch.tasks.faults import Faults
from agent.tools.catalogue import SPECS
from supervisor.cleanup.env_marks import EXTENSION, START, TOKEN
from supervisor.discovery.discover import read_manifest
from supervisor.discovery.environment import NEVER
from wire.batch.task import Task
from wire.manifest import ManifestError
from wire.suggestions import not_one_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from agent.batch.request import BatchRequest
    from agent.batch.tasks.faults import TasksError

TOOLS = tuple(spec.name for spec in SPECS)
OURS = frozenset({TOKEN, EXTENSION, START}) | NEVER
"""Variables by which processes are found again, or that open something: no task may set them."""


def check_tasks(tasks: Sequence[Task], lines: Mapping[str, str], request: BatchRequest) -> TasksError | None:
    """The faults of these tasks; None if there are none. Their paths are absolute. `lines` has the line of each id.
    Reads the settings and the models of the user. A schema is read whole; other files are only looked at."""
    faults, look = Faults(), _Look()
    checked = set[str]()
    models, credentials = ModelCheck(request), CredentialCheck(request)
    of_batch_api = _batch_api_check(request) if request.batch_api else _no_faults
    good: tuple[Any, ...] = ()
    for task in tasks:
        if (values := _checked(task)) == good and not request.batch_api:
            continue  # most tasks are as the one before
        place = lines.get(task.id, f"task {task.id!r}")
        if place in checked:
            continue  # another repetition of the same line
        checked.add(place)
        found = [*filter(None, (*_faults_of(task, look, models), credentials.fault(task), *of_batch_api(task)))]
        for fault in found:
            faults.add(place, fault)
        if not found:
            good = values
    return faults.error()


_checked = attrgetter(*(name for name in Task.__struct_fields__ if name not in ("id", "prompt", "meta", "repeat")))


def _batch_api_check(request: BatchRequest) -> Callable[[Task], Iterable[str]]:
    from agent.batch.tasks.check_batch_api import BatchApiCheck  # looks for extensions

    return BatchApiCheck(request).faults


def _no_faults(_task: Task) -> Iterable[str]:
    return ()


def _faults_of(task: Task, look: _Look, models: ModelCheck) -> Iterator[str]:
    for field, path, check in _named(task):
        if fault := look.at(path, check):
            yield f"{field}: {fault}"
    for tool in task.tools or ():
        if tool not in TOOLS:
            yield f"tools: {not_one_of(tool, TOOLS)}"
    for name, command in (("setup", task.setup), ("check", task.check), ("score", task.score)):
        if command is not None and "\0" in command:
            yield f"{name}: a command cannot have a NUL character"
    for name, value in task.env.items():
        if fault := _variable(name, value):
            yield f"env: {fault}"
    if fault := models.fault(task):
        yield fault


def _named(task: Task) -> Iterator[tuple[str, str, Callable[[str], str]]]:
    """Yields for each file, folder or schema of the task: the field, the value, and its check."""
    if task.cwd is not None:
        yield "cwd", task.cwd, _folder
    for path in task.files:
        yield "files", path, _file
    for path in task.ext or ():
        yield "ext", path, _extension
    if task.replay is not None:
        yield "replay", task.replay, _file
    if task.output_schema is not None:
        yield "output_schema", _schema_text(task.output_schema), _schema


class _Look:
    """Remembers the fault of each thing that was looked at."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, Callable[[str], str]], str] = {}

    def at(self, what: str, check: Callable[[str], str]) -> str:
        """The fault of `what` by this check; "" if it has none. Each pair is checked once."""
        fault = self._seen.get((what, check))
        if fault is None:
            fault = self._seen[what, check] = check(what)
        return fault


def _folder(path: str) -> str:
    mode = _mode(path)
    if isinstance(mode, str):
        return mode
    if not stat.S_ISDIR(mode):
        return f"{path}: not a folder"
    return "" if os.access(path, os.R_OK | os.X_OK) else f"{path}: Permission denied"


def _file(path: str) -> str:
    mode = _mode(path)
    if isinstance(mode, str):
        return mode
    if not stat.S_ISREG(mode):
        return f"{path}: {'it is a folder' if stat.S_ISDIR(mode) else 'not a regular file'}"
    return "" if os.access(path, os.R_OK) else f"{path}: cannot be read: Permission denied"


def _mode(path: str) -> int | str:
    """The mode, or what is wrong."""
    if "\0" in path:
        return f"{path!r}: a path cannot have a NUL character"
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        hint = "; ~ is no folder here: write the path out" if "/~" in path else ""
        return f"{path}: no such file or folder{hint}"
    except OSError as error:
        return f"{path}: {error.strerror}"


def _extension(path: str) -> str:
    if fault := _folder(path):
        return fault
    from pathlib import Path

    try:
        read_manifest(Path(path))
    except (ManifestError, OSError) as error:
        return f"{path}: {error}"
    return ""


def _schema_text(schema: dict[str, object] | str) -> str:
    return schema if isinstance(schema, str) else msgspec.json.encode(schema).decode()


def _schema(given: str) -> str:
    """`given` is a path, or a schema."""
    from agent.answers.schema import AnswerSchema, AnswerSchemaError, is_inline  # imports the validator

    if not is_inline(given) and (fault := _file(given)):
        return fault
    try:
        AnswerSchema(given)
    except AnswerSchemaError as error:
        return str(error).removeprefix("--output-schema ")
    return ""


def _variable(name: str, value: str) -> str:
    if not name or "=" in name or "\0" in name:
        return f"{name!r} cannot be the name of a variable"
    if name in OURS:
        return f"{name} is set by zot itself: leave it out"
    return f"{name}: a value cannot have a NUL character" if "\0" in value else ""
