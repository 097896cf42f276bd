"""Writes stats lines and metrics to files while a host runs.

A file that cannot be written stops nothing else: the user is told once, and the next sample is tried again.
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
    from supervisor.extension.notices import NoticeKind
    from wire.stats import ExtensionStats, HostStats

SHORTEST_S = 1.0
"""Seconds between two writes with up to `PER_SECOND` extensions. With more extensions the pause grows in proportion."""
PER_SECOND = 50
MARKS_LIMIT = 20_000
"""Most verdicts and calls in one file. Later ones are left out; the stats lines go on."""
MARKED_KINDS = frozenset({"started", "exited", "restarted", "reloaded", "failed", "limit", "no_verdict", "warning"})


class StatsFileError(OSError):
    """A file that cannot be created; the text names it and says why."""


class StatsFile:
    """Writes the figures on `sampled`, and once more on `close`. `on_error` gets a line for the user. Raises
    `StatsFileError` if a file cannot be created."""

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
        self._reported: set[str] = set()
        self._written_at: float | None = None
        self._pause_s = SHORTEST_S
        self._marks = 0
        self._fd = -1 if stats_file is None else _create(stats_file)
        if metrics_file is not None:
            self._write_metrics(self._now(), first=True)

    def _now(self) -> Stats:
        return Stats(time.time(), self._host_stats(), self._extension_stats())

    def sampled(self, *, is_last: bool = False) -> None:
        """Writes the figures of a new sample, unless the last write was less than the pause ago. With `is_last` it
        always writes."""
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
        """Writes the final figures. Call it after all extensions have been stopped."""
        self._write()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    # --- the timeline -------------------------------------------------------------------------------------

    def mark(
        self, kind: str, name: str, extension: str, began: Timestamp, *, ended: bool = True, detail: str = ""
    ) -> None:
        """Adds a mark to the timeline. With `ended` the mark has a duration, from `began` until now."""
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

    def notice(self, extension: Extension, kind: NoticeKind, message: str) -> None:
        """Marks a notice of one of `MARKED_KINDS`."""
        if kind in MARKED_KINDS:
            self.mark(kind, "", extension.name, Timestamp.now(), ended=False, detail=message)

    # --- files --------------------------------------------------------------------------------------------

    def _append(self, line: bytes) -> None:
        if self._fd < 0:
            return
        try:
            written = 0
            while written < len(line):  # after a short write the next write raises the reason
                written += os.write(self._fd, line[written:])
        except OSError as error:
            self._take_back(written)
            self._report(f"cannot write {self._stats_path}: {error.strerror}; what comes meanwhile is not in it")

    def _take_back(self, count: int) -> None:
        """Removes the last `count` bytes: an unfinished line would spoil the next. From a pipe nothing is removed."""
        if not count:
            return
        try:
            os.ftruncate(self._fd, os.lseek(self._fd, -count, os.SEEK_CUR))
        except OSError:
            pass

    def _write_metrics(self, record: Stats, *, first: bool = False) -> None:
        """Writes a new file and renames it, so that a collector sees either the whole old file or the whole new one. A
        symlink stays and leads to the new file. A device must not be replaced and is refused."""
        assert self._metrics_path is not None
        path = Path(os.path.realpath(self._metrics_path))
        if path.exists() and not path.is_file():
            reason = f"{self._metrics_path}: not a regular file, and metrics are written by replacing the file"
            if first:
                raise StatsFileError(f"--metrics {reason}")
            self._report(f"cannot write {reason}")
            return
        unfinished = path.with_name(f".{path.name}.{os.getpid()}.new")
        try:
            unfinished.write_text(openmetrics.render(record), encoding="utf-8")
            os.replace(unfinished, path)
        except OSError as error:
            unfinished.unlink(missing_ok=True)
            if first:
                raise StatsFileError(f"--metrics {self._metrics_path}: {error.strerror}") from None
            self._report(f"cannot write {self._metrics_path}: {error.strerror}")

    def _report(self, text: str) -> None:
        if text not in self._reported:
            self._reported.add(text)
            self._on_error(text)


def _create(path: Path) -> int:
    """Creates or empties a file and opens it. A pipe without a reader does not block this. Raises `StatsFileError`."""
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
    except OSError as error:
        raise StatsFileError(f"--stats {path}: {error.strerror}") from None
