"""Writes stats lines and metrics to files while a host runs.

A file that cannot be written stops nothing else: the user is told once, and the next sample is tried again.
"""

from __future__ import annotations

import time
from math import inf
from typing import TYPE_CHECKING

from msgspec.structs import replace

from supervisor.loop.loop import Timestamp
from supervisor.monitoring.rotated_file import RotatedFile
from wire import stats
from wire.stats import Mark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from supervisor.extension.extension import Extension
    from supervisor.extension.notices import NoticeKind
    from supervisor.loop.loop import Loop
    from supervisor.monitoring.metrics_file import MetricsFile
    from wire.stats import Stats

METRICS_S = 1.0
"""Seconds between two writes of the metrics; more if they cost more than `SHARE`."""
INTERVAL_S = {"run": 1.0, "host": 10.0, "mcp": 10.0}
"""Default of the seconds between two lines: a run is short, a host is not."""
YOUNG_S = 10.0
"""Seconds in which every sample is written, from the start of the file and from each start and exit of an extension:
extensions use most at their start, and a run may be over soon."""
FULL_S = 1800.0
"""Seconds after which a line has all figures again, so that a reader can begin with it."""
SHARE = 0.01
"""Fraction of one core that each of the two files may use on average."""
MARKS_LIMIT = 20_000
"""Maximum number of verdicts and calls in one part of the file. Later ones are left out; the other lines go on."""
STARTS = frozenset({"started", "restarted", "reloaded"})
MARKED_KINDS = frozenset({
    "started", "exited", "stopped", "restarted", "reloaded", "failed", "limit", "no_verdict", "warning",
})  # fmt: skip
BEGINNING = b'{"type":"'
"""Beginning of each line."""


class StatsFile:
    """Writes the figures on `sampled`, and once more on `close`. `on_error` gets a line for the user. Raises
    `StatsFileError` if a file cannot be created."""

    def __init__(
        self,
        loop: Loop,
        snapshot: Callable[[], Stats],
        *,
        stats_file: Path | None,
        interval_s: float | None = None,
        metrics_file: Path | None,
        openmetrics: bool = False,
        on_error: Callable[[str], None],
        extensions: Iterable[Extension] = (),
    ) -> None:
        self._clock = loop.clock
        self._now = snapshot
        self._on_error = on_error
        self._path = stats_file
        self._reported: set[str] = set()
        self._marks = 0
        self._run: stats.Run | None = None
        self._extensions = extensions
        self._before: dict[str, int] = {}
        """The memory of extensions just before an exit that no line has told yet."""
        first = self._now()
        self._interval_s = INTERVAL_S[first.host.kind] if interval_s is None else interval_s
        self._latest = first
        """The figures of the file's last line."""
        self._young_at = self._looked_at = self._full_at = self._clock()
        self._pause_s = 0.0
        self._file = None if stats_file is None else RotatedFile(stats_file, BEGINNING)
        self._append(stats.encode(first))
        self._metrics: MetricsFile | None = None
        self._metrics_at = self._clock()
        if metrics_file is not None:
            from supervisor.monitoring.metrics_file import MetricsFile  # takes 0.1 s, and most hosts write none

            self._metrics = MetricsFile(loop, metrics_file, first, openmetrics=openmetrics, on_error=self._report)

    def sampled(self, *, is_last: bool = False) -> None:
        """Writes the figures of a new sample to each file whose pause since its last write is over; with `is_last`, to
        both."""
        now = self._clock()
        for extension in self._extensions:
            if rss := extension.account.take_rss_at_exit():
                self._before[extension.name] = max(rss, self._before.get(extension.name, 0))
                self._young_at = now
        interval_s = 0.0 if now - self._young_at < YOUNG_S else self._interval_s
        if self._file is not None and (is_last or now - self._looked_at >= max(interval_s, self._pause_s)):
            self._write_change(now)
        if self._metrics is not None:
            pause_s = max(METRICS_S, self._metrics.cost_s / SHARE)
            if (is_last or now - self._metrics_at >= pause_s) and not self._metrics.is_busy:
                self._metrics_at = now
                self._metrics.begin(self._now())

    def _write_change(self, now: float) -> None:
        began = time.process_time()
        record = self._with_exits(self._now())
        line: stats.StatsLine | None = record
        if now - self._full_at < FULL_S:
            line = stats.find_change(self._latest, record, now - self._looked_at)
        else:
            self._full_at = now
        self._looked_at = now
        if line is not None:
            self._latest = record
            self._append(stats.encode(line))
        self._pause_s = (time.process_time() - began) / SHARE

    def _with_exits(self, record: Stats) -> Stats:
        """The figures, with the memory just before an exit for each extension that has ended: only so the line of its
        memory goes up to the exit, and falls there."""
        ended, self._before = self._before, {}
        extensions = {
            name: replace(known, rss_bytes=max(rss, known.rss_bytes))
            for name, rss in ended.items()
            if (known := record.extensions.get(name)) is not None
        }
        return replace(record, extensions=record.extensions | extensions) if extensions else record

    def close(self) -> None:
        """Writes the final figures. Call it after all extensions have been stopped."""
        record = self._now()
        self._append(stats.encode(record))
        if self._metrics is not None:
            self._metrics.write(record)
        if self._file is not None:
            self._file.close()
            self._file = None

    # --- the timeline -------------------------------------------------------------------------------------

    def mark(
        self, kind: str, name: str, extension: str, began: Timestamp, *, ended: bool = True, detail: str = ""
    ) -> None:
        """Adds a mark to the timeline. With `ended` the mark has a duration, from `began` until now."""
        if self._file is None:
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
        if kind in STARTS:
            self._young_at = self._clock()
        if kind in MARKED_KINDS:
            self.mark(kind, "", extension.name, Timestamp.now(), ended=False, detail=message)

    def run(self, run: stats.Run) -> None:
        """Adds the use of a run's agent so far."""
        self._run = run
        self._append(stats.encode(run))

    # --- the file -----------------------------------------------------------------------------------------

    def _append(self, line: bytes) -> None:
        if self._file is None or not self._file.is_open:
            return
        try:
            if self._file.is_full(len(line)):
                self._rotate()
            self._file.append(line)
        except OSError as error:
            self._full_at = -inf  # the next line has all figures
            lost = "it misses what happens meanwhile" if self._file.is_open else "nothing more is written to it"
            self._report(f"cannot write {self._path}: {error.strerror}; {lost}")

    def _rotate(self) -> None:
        assert self._file is not None
        self._file.rotate()
        self._marks = 0
        self._file.append(stats.encode(self._latest))  # a reader can begin with any part
        if self._run is not None:
            self._file.append(stats.encode(self._run))

    def _report(self, text: str) -> None:
        if text not in self._reported:
            self._reported.add(text)
            self._on_error(text)
