"""Finds the batch that runs in a folder, and asks it by its control socket. Blocking; each wait has a timeout."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from agent.batch.journal.errors import FolderError, JournalError
from agent.batch.journal.lock import owner_of
from agent.batch.journal.reader import read_journal
from agent.batch.journal.rundir_files import IN_RUNS, open_rundir_file
from agent.batch.tasks.repeat import base_id
from supervisor.control.client import ControlClient, ControlError, Endpoint, GoneError
from supervisor.home.runtime_dir import BATCH_CONTROL_SUFFIX, runtime_dirs, socket_of, sockets_in
from wire.batch import control
from wire.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent.batch.journal.folder import RunFolder
    from wire.batch.task import Task

Answer = control.Changed | control.BatchState | control.TaskState
START_S = 2.0
"""Seconds in which a batch that has just started makes its socket."""
POLL_S = 0.05
ANSWER_S = 10.0
SURVEY_S = 2.0
"""Seconds for the answer of each of several batches."""
LAST_EVENT = 64 * 1024
"""Maximum size of the last event that is shown, in bytes."""


class BatchControlError(Exception):
    """The batch cannot be asked, or refuses; the text says why and what to do."""

    def __init__(self, text: str, *, is_misuse: bool = False) -> None:
        super().__init__(text)
        self.is_misuse = is_misuse
        """Whether the command line is wrong: no batch runs there, or it has no such task."""


def ask(folder: RunFolder, request: control.Request) -> Answer:
    """Returns the answer of the batch that runs in this folder. Raises `BatchControlError`, `FolderError`."""
    pid = _running_pid(folder)
    expected: type[Answer] = control.Changed
    if isinstance(request, control.GetState):
        expected = control.BatchState
    elif isinstance(request, control.Show):
        expected = control.TaskState
    try:
        with _connect(folder, pid) as client:
            return client.ask(request, expected)
    except GoneError:
        raise BatchControlError(f"the batch has ended before it answered; {_what_now(folder)}") from None
    except ControlError as error:
        is_unknown = control.UNKNOWN_TASK in str(error)
        asked = getattr(request, "task", "")
        hint = hint_for(asked, folder.read_tasks()) if is_unknown else ""
        raise BatchControlError(f"{error}{hint and '; ' + hint}", is_misuse=is_unknown) from None


def hint_for(asked: str, tasks: Iterable[Task]) -> str:
    """The hint for the id of a task that is not there: an id like it, or that the task is repeated."""
    ids = []
    for task in tasks:
        if task.repeat and base_id(task.id, task.repeat) == asked:
            return f"it is repeated: name one of its repetitions, such as {task.id!r}"
        ids.append(task.id)
    return did_you_mean(asked, ids)


def running_states() -> Iterator[control.BatchState]:
    """The states of all batches of this user that run and answer, by pid."""
    for place in runtime_dirs():
        for pid, path in sockets_in(place, BATCH_CONTROL_SUFFIX):
            try:
                with ControlClient(Endpoint(pid, path), SURVEY_S, decode=control.decode_reply) as client:
                    yield client.ask(control.GetState("1"), control.BatchState)
            except ControlError:
                continue


def _running_pid(folder: RunFolder) -> int:
    """The pid of the batch process. Raises `BatchControlError` if none runs, or none that can be asked."""
    owner = owner_of(folder.journal)
    if owner is not None and owner.host != socket.gethostname():
        raise BatchControlError(
            f"{folder.path}: a batch process on {owner.host} (pid {owner.pid}) works on it: give the command there"
        )
    is_running, pid = folder.running()
    if not is_running:
        raise BatchControlError(f"{folder.path}: no batch runs there; {_what_now(folder)}", is_misuse=True)
    if pid is None:
        raise BatchControlError(f"{folder.path}: a batch runs there, and the system does not tell its process")
    try:
        user = psutil.Process(pid).uids().effective
    except psutil.Error:
        return pid
    if user != os.geteuid():
        raise BatchControlError(
            f"{folder.path}: the batch process {pid} belongs to user {user}, who alone can change it; you are user"
            f" {os.geteuid()}"
        )
    return pid


def _connect(folder: RunFolder, pid: int) -> ControlClient:
    """Raises `GoneError`, `ControlError`, `BatchControlError`."""
    deadline = time.monotonic() + START_S
    while True:
        if (path := _socket(folder, pid)) is not None:
            return ControlClient(
                Endpoint(pid, path), ANSWER_S, name=f"batch process {pid}", decode=control.decode_reply
            )
        if not folder.running()[0]:
            raise GoneError
        if time.monotonic() >= deadline:
            raise BatchControlError(
                f"{folder.path}: the batch process {pid} has no control socket: an older zot runs it, or batch.log says"
                f" why; kill -INT {pid} lets it drain"
            )
        time.sleep(POLL_S)


def _socket(folder: RunFolder, pid: int) -> Path | None:
    """The control socket of the batch process; None if it has none, or not yet. It may have been started with another
    runtime folder than this process has: then the journal tells."""
    for place in runtime_dirs():
        if os.path.lexists(path := socket_of(place, pid, BATCH_CONTROL_SUFFIX)):
            return path
    try:
        opened = read_journal(folder.journal).state.opened
    except JournalError:
        return None
    if opened is None or opened.pid != pid or not opened.socket or not os.path.lexists(opened.socket):
        return None
    return Path(opened.socket)


def _what_now(folder: RunFolder) -> str:
    return f"zot batch status {folder.path} shows it, zot batch retry {folder.path} --status not_run goes on with it"


def last_event(folder: RunFolder, task: control.TaskState) -> bytes:
    """The last whole line of the events of the last attempt, without LF; empty if there is none or it is too long."""
    if not task.attempts:
        return b""
    try:
        with open(open_rundir_file(folder.events(task.task, task.attempts), depth=IN_RUNS), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - LAST_EVENT))
            lines = file.read(LAST_EVENT).rpartition(b"\n")[0].split(b"\n")
    except (OSError, FolderError):
        return b""
    return lines[-1] if lines[-1].startswith(b"{") else b""
