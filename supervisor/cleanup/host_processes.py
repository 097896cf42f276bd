"""All processes of one host: marks them, finds those that have left their trees, and ends them with the host."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from supervisor.cleanup.env_marks import EXTENSION, START, TOKEN, environment_of
from supervisor.cleanup.tracker import ProcessTracker
from supervisor.process import fd_limit
from supervisor.process.shared_table import SharedProcessTable
from supervisor.process.teardown import end_descendants, stop_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from supervisor.cleanup.keeper import Keeper
    from supervisor.loop.loop import Loop
    from supervisor.process.stop_policy import Patience
    from supervisor.process.table import Identity, Process, ProcessTable
    from supervisor.process.teardown import Stoppable

Origin = tuple[str, str]
"""The name of an extension, and the mark of one start of its workers."""


class Orphans:
    """Reads each orphan's environment once. An orphan that has emptied its environment belongs to no extension: the
    sweep at the end of the host ends this orphan."""

    def __init__(self, loop: Loop, token: str, tracker: ProcessTracker | None = None, *, adopts: bool = True) -> None:
        """Without `adopts` this process is no subreaper: none of its children is an orphan."""
        self._adopts = adopts
        self._tracker = tracker
        self._loop = loop
        self._token = token
        self._known: dict[Identity, Origin | None] = {}
        self._table: ProcessTable | None = None
        self._found: dict[str, list[tuple[int, str]]] = {}

    def of(self, table: ProcessTable, extension: str, start: str | None = None) -> list[int]:
        """Returns the pids of the orphans in this table that belong to this extension, or to one worker start."""
        if not self._adopts:
            return []
        if table is not self._table:
            self._table, self._found = table, self._sort(table)
        return [pid for pid, mark in self._found.get(extension, ()) if start is None or mark == start]

    def _sort(self, table: ProcessTable) -> dict[str, list[tuple[int, str]]]:
        known: dict[Identity, Origin | None] = {}
        found: dict[str, list[tuple[int, str]]] = {}
        for pid in table.children_of(os.getpid()):
            if pid in self._loop.children or table.by_pid[pid].is_zombie:
                continue
            identity = table.by_pid[pid].identity
            origin = self._known[identity] if identity in self._known else self._read(pid)
            known[identity] = origin
            if origin is not None:
                found.setdefault(origin[0], []).append((pid, origin[1]))
        if self._tracker is not None:
            for identity in known.keys() - self._known.keys():
                self._tracker.adopted(identity)
            for identity in self._known.keys() - known.keys():
                self._tracker.collected(identity)
        self._known = known
        return found

    def _read(self, pid: int) -> Origin | None:
        values = dict(entry.partition(b"=")[::2] for entry in environment_of(pid).split(b"\0"))
        if values.get(TOKEN.encode()) != self._token.encode():
            return None
        name = values.get(EXTENSION.encode())
        if name is None:
            return None
        return name.decode("utf-8", "replace"), values.get(START.encode(), b"").decode("utf-8", "replace")


class HostProcesses:
    """One per host: `open` it before the first child starts, `stop` the children, then `close` it. `owns_process`,
    `runtime_folder`, `keeper` and `say` are those of the `Supervisor`."""

    def __init__(
        self,
        loop: Loop,
        *,
        version: str,
        owns_process: bool,
        runtime_folder: Path | None,
        keeper: Keeper | None,
        say: Callable[[str], None] | None,
    ) -> None:
        self._loop = loop
        self._owns_process = owns_process
        self.token, self.task = (os.urandom(16).hex(), "") if keeper is None else (keeper.token, keeper.task)
        """Every child has the token in its environment. It identifies the children of a killed host. The task is the
        work of a kept host, for people."""
        self.table = SharedProcessTable(loop)
        self.tracker: ProcessTracker | None = None
        if runtime_folder is not None:
            self.tracker = ProcessTracker(
                loop, self.token, folder=runtime_folder, version=version, owns_process=owns_process,
                is_kept=keeper is not None, say=say or (lambda _line: None),
            )  # fmt: skip
        self.adopted = Orphans(loop, self.token, self.tracker, adopts=owns_process).of
        """Returns the pids of an extension's processes that have left its process trees."""

    def open(self) -> None:
        """With cgroups, to be called before this process starts its first child."""
        if self._owns_process:
            self.table.adopt_orphans()
            os.environ[TOKEN] = self.token  # marks all children of this process
        self.table.hold()
        if self.tracker is not None:
            self.tracker.open()

    def marks(self, extension: str) -> dict[str, str]:
        """The variables that identify the processes of an extension."""
        return {EXTENSION: extension, TOKEN: self.token}

    def provide_for(self, workers: int) -> None:
        """Raises the limit of descriptors, if needed, for this number of workers in all."""
        if self._owns_process:
            fd_limit.provide(workers)

    def tell_reaper(self) -> None:
        """Tells the reaper of the newest child. Call it after a number of starts."""
        if self.tracker is not None:
            self.tracker.tell_reaper()

    def stop(
        self,
        owners: Sequence[Stoppable],
        *,
        at_once: bool,
        known: Mapping[Stoppable, Iterable[Process]],
        patience_with: Mapping[Stoppable, Patience],
    ) -> list[Stoppable]:
        """Stops the children of all owners, see `stop_all`, and where the process is the host's own all other
        descendants. Returns the owners whose processes could not be killed."""
        stuck = stop_all(
            self._loop, owners, at_once=at_once, known=known, patience_with=patience_with, shared_table=self.table
        )
        if self._owns_process:
            end_descendants(self._loop, shared_table=self.table)
        return stuck

    def close(self) -> None:
        if self.tracker is not None:
            self.tracker.close()
        self.table.close()
