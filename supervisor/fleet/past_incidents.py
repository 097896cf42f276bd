"""The events that the traces of hosts tell of."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, cast, get_args

from supervisor.accounting.fall import OVER_LIMITS
from supervisor.traces.places import TRACE, runs_folder
from supervisor.traces.sweep import is_being_written
from supervisor.traces.trace_reader import FILE, TraceError, pid_of, read_trace, run_ids
from wire.stats import Mark, StatsError, Trace, decode
from wire.traces.incident import Incident, IncidentKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from supervisor.traces.trace_reader import RunTrace

TOLD = frozenset(get_args(IncidentKind))
READ = 1 << 20
"""Maximum of bytes of a batch's trace that are read at once."""
_OF_RUN = re.compile(r"\(task .*, process (\d+)\)$")
"""How a run of a batch ends its marks, see `agent.engine.run_trace`."""


def incidents_of(trace: RunTrace) -> Iterator[Incident]:
    """The events of one host, the oldest first, except that it has ended."""
    yield start_of(trace.header)
    yield from _of_marks(trace.header, trace.marks)


def start_of(head: Trace) -> Incident:
    return _of_host(head, head.time, "host_started", f"zot {head.version}")


def end_of(trace: RunTrace, now: float) -> Incident:
    """The event of its end; for a host that was killed it is at `now`, which is when that was seen."""
    return _of_host(trace.header, trace.ended_at or now, "host_ended", trace.outcome)


def run_of_batch(incident: Incident) -> int | None:
    """The pid of the run that the trace of a batch tells of; None for other events."""
    found = _OF_RUN.search(incident.text) if incident.host == "batch" else None
    return None if found is None else int(found[1])


def _of_marks(head: Trace, marks: Iterable[Mark]) -> Iterator[Incident]:
    for mark in sorted(marks, key=lambda mark: mark.time):
        if mark.kind in TOLD and mark.extension and mark.name != FILE:
            text = incident_text(mark.kind, mark.detail)
            if not text and mark.duration_ms is not None:
                text = f"ready after {mark.duration_ms:.0f} ms"
            yield _of_host(head, mark.time, cast("IncidentKind", mark.kind), text, mark.extension)


def incident_text(event: str, text: str) -> str:
    """The text without a beginning that only says the event again."""
    text = text.removeprefix(f"{event.replace('_', ' ')}: ")
    return text.removeprefix(OVER_LIMITS) if event == "limit" else text


def _of_host(head: Trace, time: float, event: IncidentKind, text: str, extension: str = "") -> Incident:
    return Incident(
        time=time, pid=head.pid, host=head.kind, cwd=head.cwd, extension=extension, event=event, text=text
    )  # fmt: skip


class BatchTail:
    """Reads the trace of a batch as its runs add to it: they have none of their own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self._head: Trace | None = None

    def read(self) -> Iterator[Incident]:
        """The events since the last call: first the start of the batch. Lines that cannot be read are skipped."""
        while lines := self._new_lines():
            marks = []
            for line in lines:
                try:
                    found = decode(line)
                except StatsError:
                    continue
                if isinstance(found, Mark):
                    marks.append(found)
                elif isinstance(found, Trace):
                    self._head = found
                    yield start_of(found)
            if self._head is not None:
                yield from _of_marks(self._head, marks)

    def _new_lines(self) -> list[bytes]:
        """Whole lines, `READ` bytes at most; empty if there are none or the file is gone."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._position)
                text, end, _ = file.read(READ).rpartition(b"\n")
        except OSError:
            return []
        self._position += len(text) + len(end)
        return text.split(b"\n") if end else []


class Traces:
    """Reads the traces of hosts. `say` gets a line about each that cannot be read."""

    def __init__(self, home: Path, say: Callable[[str], None]) -> None:
        self._home = home
        self._say = say

    def ids(self) -> list[str]:
        """The newest first."""
        return run_ids(self._home)

    def changed_at(self) -> int:
        """When the set of traces last changed; 0 if there is none."""
        try:
            return os.stat(runs_folder(self._home)).st_mtime_ns
        except OSError:
            return 0

    def is_open(self, id_: str) -> bool:
        """Whether its host lives."""
        return is_being_written(self._path(id_))

    def has_news(self, id_: str, since: float) -> bool:
        """Whether it was written after the time `since`, in seconds since the epoch."""
        try:
            return self._path(id_).stat().st_mtime >= since
        except OSError:
            return False

    def id_of(self, pid: int) -> str:
        """The id of the newest trace of this process; empty without one."""
        return next((id_ for id_ in self.ids() if pid_of(id_) == str(pid)), "")

    def tail(self, id_: str) -> BatchTail:
        return BatchTail(self._path(id_))

    def read(self, id_: str) -> RunTrace | None:
        """None for a missing or unreadable one."""
        try:
            return read_trace(self._path(id_))
        except FileNotFoundError:
            return None
        except OSError as error:
            self._say(f"{self._path(id_)}: {error.strerror}; skipped")
        except TraceError as error:
            self._say(f"{error}; skipped")
        return None

    def _path(self, id_: str) -> Path:
        return runs_folder(self._home) / f"{id_}{TRACE}"
