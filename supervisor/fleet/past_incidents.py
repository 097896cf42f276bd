"""The events that the traces of hosts tell of."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast, get_args

from supervisor.traces.places import TRACE, runs_folder
from supervisor.traces.sweep import is_being_written
from supervisor.traces.trace_reader import FILE, TraceError, pid_of, read_trace, run_ids
from wire.traces.incident import Incident, IncidentKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from supervisor.traces.trace_reader import RunTrace

TOLD = frozenset(get_args(IncidentKind))


def incidents_of(trace: RunTrace) -> Iterator[Incident]:
    """The events of one host, the oldest first, except that it has ended."""
    yield _of_host(trace, trace.header.time, "host_started", f"zot {trace.header.version}")
    for mark in sorted(trace.marks, key=lambda mark: mark.time):
        if mark.kind in TOLD and mark.extension and mark.name != FILE:
            text = mark.detail
            if not text and mark.duration_ms is not None:
                text = f"ready after {mark.duration_ms:.0f} ms"
            event = cast("IncidentKind", mark.kind)
            yield _of_host(trace, mark.time, event, text, mark.extension)


def end_of(trace: RunTrace, now: float) -> Incident:
    """The event of its end; for a host that was killed it is at `now`, which is when that was seen."""
    return _of_host(trace, trace.ended_at or now, "host_ended", trace.outcome)


def _of_host(trace: RunTrace, time: float, event: IncidentKind, text: str, extension: str = "") -> Incident:
    head = trace.header
    return Incident(
        time=time, pid=head.pid, host=head.kind, cwd=head.cwd, extension=extension, event=event, text=text
    )  # fmt: skip


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
