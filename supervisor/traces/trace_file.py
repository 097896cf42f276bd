"""Writes the trace of a run while it runs: a few lines of the format in `wire.stats`, each fall at once.

A trace costs no wait: nothing is synced, and a file that cannot be written is told once; the run goes on.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from supervisor.discovery.skipped_extension import SkipCause
from supervisor.extension.lifecycle import WorkerState
from supervisor.home.zot_home import private_folder
from supervisor.traces.places import TRACE, new_id, runs_folder
from supervisor.traces.sweep import sweep
from wire import stats
from wire.text import counted, valid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from supervisor.accounting.fall import Fall
    from supervisor.discovery.skipped_extension import SkippedExtension
    from supervisor.extension.extension import Extension
    from supervisor.extension.notices import NoticeKind
    from supervisor.extension.worker import Worker
    from supervisor.home.config import Keep
    from supervisor.profile.stall_profiles import StallProfiles

SWEEPERS = 8
"""One run of so many, by the millisecond of its start, looks whether old traces are to be removed."""
MARKS_LIMIT = 1000
"""Maximum number of marks of one run; the last one says so. Later falls are in the figures at its end only."""
NO_VERDICTS_LIMIT = 500
"""Maximum number of them that are missing verdicts: a guard may give none thousands of times."""
MARKS = {
    "crashed": "exited", "ended": "exited", "hung": "exited", "refused": "failed", "limit": "limit",
    "given_up": "failed", "no_verdict": "no_verdict",
    "leak": "warning",
}  # fmt: skip
"""The kind of mark of each kind of fall."""
NOTICED = frozenset({"started", "restarted", "reloaded", "stopped"})
UNLOADED = {SkipCause.UNUSABLE: "it cannot be loaded", SkipCause.LACKING: "a program that its start needs is missing"}
"""The causes of extensions that discovery found and could not start, as falls."""
BATCH_LIMIT = 16 * 2**20
"""Size in bytes of the trace of a batch from which on its runs add nothing more."""
SAFE_ALARMS = frozenset({"memory_grows", "near_limit"})
"""Kinds of alarms of which the text has only figures."""


def trace_header(
    kind: stats.HostKind, version: str, cwd: str, flags: dict[str, Any], *, session: str = "", provider: str = "",
    model: str = "", folder: str = "",
) -> stats.Trace:  # fmt: skip
    """The first line of the trace of this process; `TraceFile.begin` sets its id, time and pid."""
    return stats.Trace(
        id="", pid=0, time=0.0, kind=kind, version=version, cwd=valid_text(cwd), flags=flags,
        session=session, provider=provider, model=model, folder=valid_text(folder),
    )  # fmt: skip


def name_profiles(profiles: StallProfiles, home: Path, trace: TraceFile | None, *, always: bool) -> None:
    """Lets profiles of hanging extensions be made, beside the trace and named in it. Without a trace they lie where it
    would be."""
    profiles.always = always
    profiles.trace = str(runs_folder(home) / (new_id(time.time(), os.getpid()) if trace is None else trace.id))
    if trace is not None:
        profiles.on_made = lambda extension, file: trace.link(extension, Path(file))


class TraceFile:
    """The trace of one run. `say` gets a line for the user, once, if it cannot be written."""

    def __init__(
        self, home: Path, keep: Keep, say: Callable[[str], None], header: stats.Trace | None, path: Path | None = None
    ) -> None:
        """`header`: the first line, without id and time. A run of a batch has none; it has the `path` of the trace of
        the batch, to which it adds its falls."""
        self.began_at = time.time()
        self._pid = os.getpid()
        self.path = path or runs_folder(home) / f"{new_id(self.began_at, self._pid)}{TRACE}"
        self._keep, self.say, self._header = keep, say, header
        self.figures: Callable[[], stats.Stats] | None = None
        """Returns the figures at its end; None for a batch, whose runs have their own extensions."""
        self.where = ""
        """In a batch: the task and the process of this run, for its marks."""
        self.skipped: Callable[[], Iterable[SkippedExtension]] = tuple
        """Returns the extensions that were found and not started."""
        self._fd = -1
        self._has_failed = False
        self._waiting = b""
        """Marks of good things, which the next write takes along."""
        self._marks = self._no_verdicts = 0
        self._last_falls: dict[str, str] = {}

    @property
    def id(self) -> str:
        return self.path.name.removesuffix(TRACE)

    @property
    def is_lost(self) -> bool:
        """It cannot be written; the user has been told."""
        return self._has_failed

    def begin(self) -> None:
        """Writes the first line."""
        if self._header is not None:
            self._write(stats.encode(replace(self._header, id=self.id, time=self.began_at, pid=self._pid)))

    def fell(self, extension: Extension, _worker: Worker, fall: Fall) -> None:
        """Takes each fall of an extension."""
        cause = f"{fall.kind.replace('_', ' ')}: {fall.cause}"
        if fall.kind != "leak":  # it goes on
            self._last_falls[extension.name] = cause
        lost = f"{cause}; {counted(fall.pending, 'request')} lost" if fall.pending else cause
        lost += self.where and f" ({self.where})"
        self._mark(MARKS[fall.kind], extension.name, name=fall.kind, detail=lost, is_urgent=True)

    def noticed(self, extension: Extension, kind: NoticeKind, _message: str) -> None:
        """Takes each notice of an extension."""
        lead = extension.lead
        if kind == "late" and lead.state is WorkerState.READY:
            kind = "started"
        if kind in NOTICED and self._header is not None:
            waited_s = lead.state_since - lead.started_at if kind == "started" else None
            detail = "by zot ext stop" if kind == "stopped" else ""
            self._mark(kind, extension.name, detail=detail, duration_s=waited_s, is_urgent=self._header.kind != "run")

    def begun(self) -> None:
        """The run could begin: its extensions are ready, or it did not wait for them. An extension that was found with
        a fault counts as fallen."""
        if self._header is not None:
            for each in self.skipped():
                if each.is_error and each.why.cause in UNLOADED:
                    self._mark("failed", each.name, name="refused", detail=f"refused: {UNLOADED[each.why.cause]}")
            self._mark("started", "", duration_s=time.time() - self.began_at, is_urgent=True)

    def _mark(
        self, kind: str, extension: str, *, name: str = "", detail: str = "", duration_s: float | None = None,
        is_urgent: bool = False,
    ) -> None:  # fmt: skip
        if name == "no_verdict":
            self._no_verdicts += 1
            if self._no_verdicts > NO_VERDICTS_LIMIT:
                return
            if self._no_verdicts == NO_VERDICTS_LIMIT:
                detail += "; later ones are not kept"
        self._marks += 1
        if self._marks > MARKS_LIMIT:
            return
        if self._marks == MARKS_LIMIT:
            kind, name, duration_s = "warning", "", None
            detail = f"the marks end here, after {MARKS_LIMIT}"
        duration = None if duration_s is None else round(duration_s * 1000, 1)
        mark = stats.Mark(time.time(), kind, name, valid_text(extension), duration, detail)  # type: ignore[arg-type]
        self._waiting += stats.encode(mark)
        if is_urgent:
            self._write(b"")

    def link(self, extension: str, file: Path) -> None:
        """Names a file that lies beside the trace."""
        self._mark("warning", extension, name="file", detail=file.name, is_urgent=True)

    def close(self, run: stats.Run | None = None) -> None:
        """Writes the end of the run. `run` is the agent's use; None for a host without an agent."""
        if self._header is not None and self._fd >= 0:
            last = b"" if run is None else stats.encode(run)
            figures = self.figures
            self._write(last if figures is None else last + stats.encode(self._without_texts(figures())))
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        if self._header is not None and not self._has_failed and int(self.began_at * 1000) % SWEEPERS == 0:
            sweep(self.path.parent, self._keep)

    def _without_texts(self, figures: stats.Stats) -> stats.Stats:
        """The figures without texts that may quote an extension."""
        extensions = {}
        for name, each in figures.extensions.items():
            cause = self._last_falls.get(name, "")
            alarms = tuple(alarm if alarm.kind in SAFE_ALARMS else replace(alarm, text=cause) for alarm in each.alarms)
            failure = cause if each.failure else ""
            extensions[name] = each if not (each.failure or alarms) else replace(each, failure=failure, alarms=alarms)
        return replace(figures, extensions=extensions)

    def _write(self, line: bytes) -> None:
        """Appends the waiting marks and this line with one call. After a failure nothing more is written."""
        text, self._waiting = self._waiting + line, b""
        if self._has_failed or not text:
            return
        try:
            if self._fd < 0:
                self._fd = self._open()
            if os.write(self._fd, text) < len(text):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            self._has_failed = True
            self.say(f"no trace of this run: {self.path}: {error.strerror}; it goes on without one (--no-trace)")

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        if self._header is not None:
            flags |= os.O_EXCL
        try:
            fd = os.open(self.path, flags, 0o600)
        except FileNotFoundError:
            private_folder(self.path.parent)
            fd = os.open(self.path, flags, 0o600)
        if self._header is None and os.fstat(fd).st_size > BATCH_LIMIT:
            os.close(fd)
            raise OSError(errno.EFBIG, f"it has {BATCH_LIMIT >> 20} MiB already")
        if self._header is not None:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return fd
