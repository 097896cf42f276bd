"""Reads the traces of runs, the newest first, each only when it is asked for.

A last line that is cut off is left out: the run was killed while it wrote, or writes now. Lines of unknown types are
skipped; a later version has written them. Other faults are named with their line.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from supervisor.accounting.fall import FallKind
from supervisor.home.safe_files import read_file
from supervisor.traces.places import BLACK_BOX, ID, PROFILE, TRACE, extension_of, id_of, runs_folder
from supervisor.traces.sweep import is_being_written
from wire import stats
from wire.exit_codes import Status
from wire.lenient_json import UNREADABLE, reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

RUNNING = "running"
"""The outcome of a run without an end whose process lives."""
KILLED = "killed"
"""The outcome of a run without an end whose process is gone."""
UNKNOWN = "unknown"
"""The outcome of a run that has not told its status."""
STOPPED = "stopped"
"""The outcome of a host without an agent that has ended in order."""
DONE = "done"
"""The status of a batch of which all tasks have run."""
LAST = "last"
"""Names the newest run."""
FILE = "file"
"""The name of a mark that names a file beside the trace."""
FALLS = frozenset(get_args(FallKind))
LIMIT = 64 * 2**20
"""Maximum size of a trace in bytes. It has a thousand marks at most, and the figures of its extensions once."""
IDS_SHOWN = 5
_PID = re.compile(r"\d{8}-\d{6}-(\d+)")


class TraceError(ValueError):
    """The trace cannot be read. The text names the file and the line."""


class NoSuchRunError(ValueError):
    """The word names no run, or more than one."""


class BesideFile(msgspec.Struct, frozen=True):
    """A file that lies beside a trace."""

    path: Path
    kind: str
    """`BLACK_BOX` or `PROFILE`."""
    extension: str


@dataclass(frozen=True)
class RunTrace:
    """A run as its trace tells it."""

    path: Path
    header: stats.Trace
    marks: tuple[stats.Mark, ...] = ()
    run: stats.Run | None = None
    """The use of the agent; None before the end, and for a host without an agent."""
    last: stats.Stats | None = None
    """The figures at its end; None before that, and for a batch."""
    beside: tuple[BesideFile, ...] = ()
    faults: tuple[str, ...] = ()
    """Lines that cannot be read, each with its place and why."""

    @property
    def id(self) -> str:
        return self.header.id

    @property
    def has_ended(self) -> bool:
        return self.run is not None or self.last is not None

    @cached_property
    def outcome(self) -> str:
        """The status of the run, or one of the words above. Looks for the process of a run without an end."""
        return decide_outcome(
            self.run, has_ended=self.has_ended, goes_on=not self.has_ended and is_being_written(self.path)
        )

    @property
    def has_failed(self) -> bool:
        """Whether it was killed, or its exit status was not 0."""
        return bool(self.run.exit_code) if self.run is not None else self.outcome == KILLED

    @property
    def ended_at(self) -> float | None:
        """Seconds since the epoch; None without an end."""
        end = self.run or self.last
        return None if end is None else end.time

    @property
    def took_s(self) -> float | None:
        """Seconds from its start to its end; None without an end."""
        return None if self.ended_at is None else max(0.0, self.ended_at - self.header.time)

    @cached_property
    def falls(self) -> tuple[stats.Mark, ...]:
        """The marks of falls, in order of their times. Runs of a batch add theirs to one trace."""
        return tuple(sorted((mark for mark in self.marks if mark.name in FALLS), key=lambda mark: mark.time))

    @cached_property
    def files_of_falls(self) -> tuple[tuple[BesideFile, ...], ...]:
        """The files beside the trace that belong to each fall: each was kept at nearly the same time."""
        files = {file.path.name: file for file in self.beside}
        found: list[list[BesideFile]] = [[] for _ in self.falls]
        for mark in self.marks:
            own = [at for at, fall in enumerate(self.falls) if fall.extension == mark.extension]
            if mark.name == FILE and mark.detail in files and own:
                nearest = min(own, key=lambda at: abs(self.falls[at].time - mark.time))
                found[nearest].append(files[mark.detail])
        return tuple(map(tuple, found))

    @cached_property
    def extensions(self) -> tuple[str, ...]:
        """Names of all extensions that it tells of, sorted."""
        named = {mark.extension for mark in self.marks if mark.extension}
        return tuple(sorted(named.union(self.last.extensions if self.last is not None else ())))


def decide_outcome(run: stats.Run | None, *, has_ended: bool, goes_on: bool) -> str:
    """The outcome by the end in the trace; without one the run `goes_on`, or was killed. Pure."""
    if run is not None and run.status == DONE and run.exit_code:
        return Status.PARTIAL_BATCH.value
    if run is not None:
        return run.status or UNKNOWN
    if has_ended:
        return STOPPED
    return RUNNING if goes_on else KILLED


# --- one trace ----------------------------------------------------------------------------------------------


def parse_trace(path: Path, text: bytes, beside: Sequence[BesideFile] = ()) -> RunTrace | None:
    """The run that a trace tells of; None if not even its first line was written. Raises `TraceError` if the first line
    is not that of a trace."""
    *lines, cut = text.split(b"\n")
    if _is_whole(cut):
        lines.append(cut)
    if not lines:
        return None
    header = _decode(lines[0], path, 1)
    if not isinstance(header, stats.Trace):
        raise TraceError(f"{path}:1: not the first line of a trace")
    if header.format != stats.TRACE_FORMAT:
        raise TraceError(f"{path}:1: format {header.format}; this zot reads format {stats.TRACE_FORMAT}")
    marks: list[stats.Mark] = []
    run: stats.Run | None = None
    last: stats.Stats | None = None
    faults: list[str] = []
    for number, line in enumerate(lines[1:], 2):
        try:
            value = _decode(line, path, number) if line.strip() else None
        except TraceError as error:
            faults.append(str(error))
            continue
        match value:
            case stats.Mark():
                marks.append(value)
            case stats.Run():
                run = value
            case stats.Stats():
                last = value
    return RunTrace(path, header, tuple(marks), run, last, tuple(beside), tuple(faults))


def _is_whole(line: bytes) -> bool:
    """Whether a last line lacks its line feed only."""
    try:
        return bool(line) and _typed.decode(line) is not None
    except UNREADABLE:
        return False


def _decode(line: bytes, path: Path, number: int) -> stats.StatsLine | None:
    """The line; None for one of a later version."""
    try:
        return stats.decode(line)
    except stats.StatsError as error:
        try:
            kind = _typed.decode(line).type
        except UNREADABLE as unreadable:
            raise TraceError(f"{path}:{number}: not a readable line: {reason(unreadable)}") from None
        if kind in KNOWN:
            raise TraceError(f"{path}:{number}: not a readable line: {error}") from None
        return None


class _Typed(msgspec.Struct):
    type: str


_typed: msgspec.json.Decoder[_Typed] = msgspec.json.Decoder(_Typed)
KNOWN: frozenset[Any] = frozenset(kind.__struct_config__.tag for kind in get_args(stats.StatsLine))


def read_trace(path: Path) -> RunTrace:
    """Raises `OSError` and `TraceError`."""
    return _read(path, _names(path.parent))


def _read(path: Path, names: Sequence[str]) -> RunTrace:
    id_ = path.name.removesuffix(TRACE)
    beside = sorted(name for name in names if name.startswith(f"{id_}.") and id_of(name) == id_)
    files = [
        BesideFile(path.with_name(name), kind, extension)
        for name in beside
        for kind in (BLACK_BOX, PROFILE)
        if (extension := extension_of(name, kind))
    ]
    trace = parse_trace(path, read_file(path, LIMIT), files)
    if trace is None:
        raise TraceError(f"{path}:1: it is empty: the run was killed when it began, or its disk is full")
    if trace.header.id != id_:
        raise TraceError(f"{path}:1: it is the trace of another run")
    return trace


# --- all traces ---------------------------------------------------------------------------------------------


def run_ids(home: Path) -> list[str]:
    """The ids of all runs with a trace, the newest first; empty without any."""
    return _ids(_names(runs_folder(home)))


def read_traces(home: Path, say: Callable[[str], None]) -> Iterator[RunTrace]:
    """All runs, the newest first. `say` gets a line for each trace that is skipped, and for each line that is."""
    folder = runs_folder(home)
    names = _names(folder)
    beside: dict[str, list[str]] = {}
    for name in names:
        beside.setdefault(id_of(name), []).append(name)
    for id_ in _ids(names):
        path = folder / f"{id_}{TRACE}"
        try:
            trace = _read(path, beside[id_])
        except FileNotFoundError:
            continue  # removed since
        except OSError as error:
            say(f"{path}: {error.strerror}; skipped")
            continue
        except TraceError as error:
            say(f"{error}; the trace is skipped")
            continue
        for fault in trace.faults:
            say(f"{fault}; the line is skipped")
        yield trace


def find_trace(home: Path, word: str) -> Path:
    """The trace of the run that `word` names: `last`, its id, the beginning of its id, or its pid. Raises
    `NoSuchRunError`."""
    ids = run_ids(home)
    word = word.strip().removesuffix(TRACE)
    if word == LAST:  # an empty file is that of a run which was killed at once
        folder = runs_folder(home)
        found = [id_ for id_ in islice(ids, IDS_SHOWN) if _size(folder / f"{id_}{TRACE}")][:1]
    else:
        found = [id_ for id_ in ids if id_ == word] or [id_ for id_ in ids if word and id_.startswith(word)]
        found = found or [id_ for id_ in ids if pid_of(id_) == word]
    if len(found) == 1:
        return runs_folder(home) / f"{found[0]}{TRACE}"
    if found:
        more = f" and {len(found) - IDS_SHOWN} more" if len(found) > IDS_SHOWN else ""
        raise NoSuchRunError(f"{word[:80]!r} may be {', '.join(found[:IDS_SHOWN])}{more}; give more of it")
    raise NoSuchRunError(f"there is no run {word[:80]!r}; zot runs lists those that left a trace")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def pid_of(id_: str) -> str:
    found = _PID.match(id_)
    return "" if found is None else found[1]


def _names(folder: Path) -> list[str]:
    """Raises `OSError`, but not for a missing folder."""
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _ids(names: Sequence[str]) -> list[str]:
    found = (name.removesuffix(TRACE) for name in names if name.endswith(TRACE))
    return sorted((id_ for id_ in found if ID.fullmatch(id_)), key=_by_start, reverse=True)


def _by_start(id_: str) -> tuple[str, list[int]]:
    return id_[:15], [int(number) for number in id_[16:].split("-")]
