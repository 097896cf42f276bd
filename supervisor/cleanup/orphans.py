"""Finds the extension of an orphan. An orphan is a daemon whose parents have ended; the host, as subreaper, has adopted
it.

The environment of an orphan still names the extension, and the start of its worker.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from supervisor.cleanup.env_marks import EXTENSION, START, TOKEN, environment_of

if TYPE_CHECKING:
    from supervisor.cleanup.tracker import ProcessTracker
    from supervisor.loop.loop import Loop
    from supervisor.process.table import Identity, ProcessTable

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
        """Returns the pids of the orphans in this table that belong to this extension, or to one start of its
        workers."""
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
