"""Writes what a host knows to files while it runs: stats lines, and metrics for a collector.

A file that cannot be written costs nothing but itself: it is said once, and tried again with the next sample.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.loop.timestamp import Timestamp
from supervisor.monitoring import openmetrics
from wire import stats
from wire.stats import Mark, Stats

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.extension.extension import Extension
    from supervisor.extension.notices import Kind
    from wire.stats import ExtensionStats, HostStats

SHORTEST_S = 1.0
"""Between two stats lines, or two versions of the metrics, up to `PER_SECOND` extensions; in proportion with more."""
PER_SECOND = 50
MARKS_LIMIT = 20_000
"""Of verdicts and calls in one file: the timeline of a longer run is cut, its figures are not."""
MARKED_KINDS = frozenset({"started", "exited", "restarted", "reloaded", "failed", "limit", "no_verdict", "warning"})


class RecordingError(OSError):
    """A file that cannot be begun; the text names it and says why."""


class Recording:
    """Writes after each `sampled`, and once more at the end. `on_error` gets a line for the user. Raises
    `RecordingError`."""

    def __init__(
        self,
        clock: Callable[[], float],
        host_stats: Callable[[], HostStats],
        extension_stats: Callable[[], dict[str, ExtensionStats]],
        *,
        stats_file: Path | None,
        metrics_file: Path | None,
        on_error: Callable[[str], None],
    ) -> None:
        self._clock = clock
        self._host_stats = host_stats
        self._extension_stats = extension_stats
        self._on_error = on_error
        self._stats_path = stats_file
        self._metrics_path = metrics_file
        self._complained: set[str] = set()
        self._written_at: float | None = None
        self._pause_s = SHORTEST_S
        self._marks = 0
        self._fd = -1 if stats_file is None else _begin(stats_file)
        if metrics_file is not None:
            self._write_metrics(self._now(), first=True)

    def _now(self) -> Stats:
        return Stats(time.time(), self._host_stats(), self._extension_stats())

    def sampled(self, *, is_last: bool = False) -> None:
        """The supervisor has new figures. They are written unless the last ones were written a moment ago."""
        now = self._clock()
        if self._written_at is None or now - self._written_at >= self._pause_s or is_last:
            self._written_at = now
            self._write()

    def _write(self) -> None:
        record = self._now()
        self._pause_s = SHORTEST_S * max(1.0, len(record.extensions) / PER_SECOND)
        if self._stats_path is not None:
            self._append(stats.encode(record))
        if self._metrics_path is not None:
            self._write_metrics(record)

    def close(self) -> None:
        """The last state of everything; when all has been stopped."""
        self._write()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    # --- the timeline -------------------------------------------------------------------------------------

    def mark(
        self, kind: str, name: str, extension: str, began: Timestamp, *, ended: bool = True, detail: str = ""
    ) -> None:
        """What has `ended` lasted until now."""
        if self._fd < 0:
            return
        if kind not in MARKED_KINDS:
            self._marks += 1
            if self._marks > MARKS_LIMIT:
                return
            if self._marks == MARKS_LIMIT:
                kind, name, ended, detail = "warning", "", False, f"the timeline ends here, after {MARKS_LIMIT} calls"
        duration = round(began.age_ms, 3) if ended else None
        self._append(stats.encode(Mark(began.wall, kind, name, extension, duration, detail)))  # type: ignore[arg-type]

    def asked(self, kind: str, name: str, extension: str, began: Timestamp, detail: str) -> None:
        """A tool call or a verdict has ended: see `Supervisor.on_asked`."""
        self.mark(kind, name, extension, began, detail=detail)

    def notice(self, extension: Extension, kind: Kind, message: str) -> None:
        """Something that a user was told of an extension."""
        if kind in MARKED_KINDS:
            self.mark(kind, "", extension.name, Timestamp.now(), ended=False, detail=message)

    # --- files --------------------------------------------------------------------------------------------

    def _append(self, line: bytes) -> None:
        if self._fd < 0:
            return
        try:
            written = 0
            while written < len(line):  # a short write is followed by the reason for it
                written += os.write(self._fd, line[written:])
        except OSError as error:
            self._take_back(written)
            self._complain(f"cannot write {self._stats_path}: {error.strerror}; what comes meanwhile is not in it")

    def _take_back(self, count: int) -> None:
        """Half a line would spoil the next one too. From a pipe nothing can be taken back."""
        if not count:
            return
        try:
            os.ftruncate(self._fd, os.lseek(self._fd, -count, os.SEEK_CUR))
        except OSError:
            pass

    def _write_metrics(self, record: Stats, *, first: bool = False) -> None:
        """By renaming: a collector sees the whole of the old file or the whole of the new one. So a device, which must
        not be replaced, cannot be written this way; a link stays and leads to the new file."""
        assert self._metrics_path is not None
        path = Path(os.path.realpath(self._metrics_path))
        if path.exists() and not path.is_file():
            reason = f"{self._metrics_path}: not a regular file, and metrics are written by replacing the file"
            if first:
                raise RecordingError(f"--metrics {reason}")
            self._complain(f"cannot write {reason}")
            return
        unfinished = path.with_name(f".{path.name}.{os.getpid()}.new")
        try:
            unfinished.write_text(openmetrics.render(record), encoding="utf-8")
            os.replace(unfinished, path)
        except OSError as error:
            unfinished.unlink(missing_ok=True)
            if first:
                raise RecordingError(f"--metrics {self._metrics_path}: {error.strerror}") from None
            self._complain(f"cannot write {self._metrics_path}: {error.strerror}")

    def _complain(self, text: str) -> None:
        if text not in self._complained:
            self._complained.add(text)
            self._on_error(text)


def _begin(path: Path) -> int:
    """An empty file. Not to block on a pipe that nobody reads."""
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
    except OSError as error:
        raise RecordingError(f"--stats {path}: {error.strerror}") from None
