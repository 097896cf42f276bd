"""Keeps the black boxes of extensions that fall, beside the trace of their run.

A few of each extension are kept: the first ones and the last. A run writes a bounded number of bytes, and tells once
of a file that cannot be written; it goes on.
"""

from __future__ import annotations

from enum import Enum
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from supervisor.cleanup.host_record import unlink

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from supervisor.accounting.fall import Fall
    from supervisor.extension.extension import Extension
    from supervisor.extension.worker import Worker
    from supervisor.home.config import Config
    from supervisor.traces.mask import Masking
    from supervisor.traces.trace_file import TraceFile

KEPT = 3
"""Maximum number of black boxes of one extension and run. Later falls replace the last one."""
RUN_LIMIT = 16 * 2**20
"""Maximum number of bytes that one run writes to black boxes within an hour, replaced ones included."""
HOUR_S = 3600.0


class Keeping(Enum):
    """The file into which the black box of a fall goes."""

    NEW = "a new file"
    REPLACE = "in place of the last file"
    NONE = "not kept"


def choose_keeping(fall: Fall, *, kept: int, is_empty: bool) -> Keeping:
    """Chooses by the fall and the number of files that its extension has. An end in good order leaves none if no
    request was lost, nor does a leak, which ends nothing. A guard may give no verdict thousands of times: such a fall
    replaces no file."""
    if fall.kind == "leak" or (fall.kind == "ended" and not fall.pending):
        return Keeping.NONE
    if is_empty and fall.kind in ("no_verdict", "refused"):
        return Keeping.NONE  # it was not running
    if kept < KEPT:
        return Keeping.NEW
    return Keeping.NONE if fall.kind == "no_verdict" else Keeping.REPLACE


class _Kept(NamedTuple):
    """The files of one extension, and the moment of the last one."""

    paths: tuple[Path, ...] = ()
    last: int = 0
    """The number of the last file."""
    moment: tuple[float, object] = (0.0, None)
    """The start of the worker, and its last frame."""


class BlackBoxes:
    """The black boxes of one run, beside its trace. `clock` is that of the loop."""

    def __init__(self, trace: TraceFile, config: Config, version: str, clock: Callable[[], float]) -> None:
        self._trace, self._config, self._version, self._clock = trace, config, version, clock
        self._kept: dict[str, _Kept] = {}
        self._left, self._counted_at = float(RUN_LIMIT), clock()
        """The bytes that may be written, and since when they grow again."""
        self._is_full = False
        self._maskings: dict[str, Masking] = {}

    def fell(self, extension: Extension, worker: Worker, fall: Fall) -> None:
        """Takes each fall of an extension."""
        box = worker.requests.black_box
        kept = self._kept.get(extension.name, _Kept())
        keeping = choose_keeping(fall, kept=len(kept.paths), is_empty=not box)
        moment = (worker.started_at, box[-1] if box else None)
        if keeping is Keeping.NONE or _is_same(moment, kept.moment) or self._trace.is_lost:
            return  # at the same moment: one crash is a fall of the process, and one of the guard in it
        now = self._clock()
        if not self._has_room(now):
            return
        from supervisor.traces import black_box_file  # most runs see no fall

        try:
            text = black_box_file.make_box(
                extension.found, worker, fall, run=self._trace.id, version=self._version, now=now,
                masking=self._masking_of(extension), form=self._config.black_box,
            )  # fmt: skip
        except Exception as error:  # its frames are the extension's: a fault of ours with them must not end the host
            self._trace.say(f"no black box of {extension.name}: {error!r}; the run goes on")
            return
        self._left -= len(text)
        try:
            written = black_box_file.write_box(self._trace.path, extension.name, text, kept.last + 1)
        except OSError as error:
            self._left, self._counted_at = 0.0, inf
            place = error.filename or self._trace.path.parent
            self._trace.say(f"no black box of {extension.name}: {place}: {error.strerror}; the run goes on")
            return
        if written is None:
            return
        path, number = written
        paths = kept.paths
        if keeping is Keeping.REPLACE:
            unlink(paths[-1])
            paths = paths[:-1]
        self._kept[extension.name] = _Kept((*paths, path), number, moment)
        self._trace.link(extension.name, path)

    def _has_room(self, now: float) -> bool:
        """Whether another black box may be written now. Says once for each time that none may."""
        grown = max(0.0, now - self._counted_at) * RUN_LIMIT / HOUR_S
        self._left = min(RUN_LIMIT, self._left + grown)
        self._counted_at = max(now, self._counted_at)
        was_full, self._is_full = self._is_full, self._left <= 0
        if self._is_full and not was_full and self._counted_at != inf:
            self._trace.say(f"no black boxes for some minutes: {RUN_LIMIT >> 20} MiB of them were written in an hour")
        return not self._is_full

    def _masking_of(self, extension: Extension) -> Masking:
        if extension.name not in self._maskings:
            from supervisor.traces import black_box_file

            self._maskings[extension.name] = black_box_file.make_masking(self._config, extension.found)
        return self._maskings[extension.name]


def _is_same(moment: tuple[float, object], other: tuple[float, object]) -> bool:
    return moment[0] == other[0] and moment[1] is other[1]
