"""Turns the lines of a recording, which count CPU seconds, into CPU use over time.

A point has all CPU use since the point before, so bursts between two lines are not missed.
"""

from __future__ import annotations

from array import array
from math import isnan
from typing import TYPE_CHECKING, NamedTuple

from cli.report.input.recorded_run import ABSENT, Track

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SANE = 1e15
"""Maximum accepted value, more than any machine reaches. Sums of higher values could be infinite."""
SHORTEST_S = 0.2
"""Minimum of seconds between two points. The kernel counts CPU in hundredths of a second, and the last use of a process
is known only after its end: over a shorter time both would look like a burst."""
ROWS_HELD = 256

Gauges = tuple[float, float]
"""CPU seconds so far, and bytes of memory."""


class Use(NamedTuple):
    """Use at the points of the charts."""

    times: array[float]
    spans_s: tuple[float, ...]
    """The length in seconds of the span before each point, in which its CPU was used."""
    tracks: dict[str, Track]
    host: Track
    total: Track


class UseOverTime:
    """Takes the figures of one run in the order of their times, which are seconds since the host's start."""

    def __init__(self) -> None:
        self.times = array("d")
        self.offsets = array("d")
        """The system's clock minus the host's, at each line."""
        self.now: dict[str, Gauges] = {}
        self.host_now: Gauges = (0.0, 0.0)
        self._host = _UseCounts()
        self._total_rss = array("d")
        self._counted: dict[str, _UseCounts] = {}
        self._columns: list[str] = []  # names of the columns of the rows
        self._first_row = 0
        self._rows: list[list[Gauges]] = []

    @property
    def latest(self) -> float:
        """The time of the last line; 0 before the first."""
        return self.times[-1] if self.times else 0.0

    def add(self, at: float, offset: float, host: Gauges, extensions: dict[str, Gauges]) -> None:
        before = len(self.times)
        self.times.append(max(0.0, min(at, SANE), self.latest))
        self.offsets.append(offset)
        self._host.cpu_s.append(min(host[0], SANE))
        self._host.rss_bytes.append(min(host[1], SANE))
        self.now, self.host_now = extensions, host
        names = list(extensions)
        if names != self._columns:
            self._move_to_tracks()
            self._columns, self._first_row = names, before
        row = list(extensions.values())
        if max((max(gauges) for gauges in row), default=0.0) > SANE:
            row = [(min(cpu_s, SANE), min(rss, SANE)) for cpu_s, rss in row]
        self._rows.append(row)
        self._total_rss.append(sum(rss for _, rss in row))
        if len(self._rows) >= ROWS_HELD:
            self._move_to_tracks()
            self._first_row = before + 1

    def stay_until(self, at: float) -> None:
        """Adds a point at `at` with the values of the last line: nothing has changed in between."""
        if self.times and at > self.latest + SHORTEST_S:
            self.add(at, self.offsets[-1], self.host_now, self.now)

    def _move_to_tracks(self) -> None:
        """Appends the rows, one per line, to the tracks, one per extension; many at once take a third of the time."""
        for name, column in zip(self._columns, zip(*self._rows, strict=True), strict=True) if self._rows else ():
            counted = self._counted.setdefault(name, _UseCounts())
            counted.pad(self._first_row - len(counted.cpu_s))
            cpu_s, rss = zip(*column, strict=True)
            counted.cpu_s.extend(cpu_s)
            counted.rss_bytes.extend(rss)
        self._rows = []

    def use(self) -> Use:
        """The use at all points."""
        self._move_to_tracks()
        groups = point_groups(self.times)
        times = array("d", (self.times[end - 1] for _, end in groups))
        spans_s = [max(SHORTEST_S, at - before) for before, at in zip([0.0, *times], times, strict=False)]
        tracks = {}
        for name, counted in self._counted.items():
            counted.pad(len(self.times) - len(counted.cpu_s))
            tracks[name] = counted.track(groups, spans_s)
        cpu = [track.cpu_percent for track in tracks.values()]
        total = [sum(value for value in point if not isnan(value)) for point in zip(*cpu, strict=True)]
        highest = array("d", (max(self._total_rss[first:end]) for first, end in groups))
        return Use(
            times=times,
            spans_s=tuple(spans_s),
            tracks=tracks,
            host=self._host.track(groups, spans_s, known_s=self._host.cpu_s[0] if self.times else 0.0),
            total=Track(array("d", total or [0.0] * len(times)), highest),
        )


class _UseCounts:
    """The use of one process tree up to each line; `ABSENT` where it did not run."""

    def __init__(self) -> None:
        self.cpu_s = array("d")
        self.rss_bytes = array("d")

    def pad(self, missing: int) -> None:
        self.cpu_s.extend([ABSENT] * missing)
        self.rss_bytes.extend([ABSENT] * missing)

    def track(self, groups: Sequence[tuple[int, int]], spans_s: Sequence[float], *, known_s: float = 0.0) -> Track:
        """The use at each point. `known_s` are the CPU seconds before the first line."""
        spent = array("d", _spent_seconds(self.cpu_s, known_s))
        cpu, rss = array("d"), array("d")
        for (first, end), span_s in zip(groups, spans_s, strict=True):
            there = [value for value in spent[first:end] if not isnan(value)]
            cpu.append(min(SANE, 100 * sum(there) / span_s) if there else ABSENT)
            rss.append(max((value for value in self.rss_bytes[first:end] if not isnan(value)), default=ABSENT))
        return Track(cpu, rss)


def _spent_seconds(cpu_s: Iterable[float], before: float) -> Iterable[float]:
    """The CPU seconds since the line before. A lower count than before has begun again from 0."""
    for value in cpu_s:
        if isnan(value):
            yield ABSENT
        else:
            yield value - before if value >= before else value
            before = value


def point_groups(times: Sequence[float]) -> list[tuple[int, int]]:
    """Ranges of lines (first, end). Each range becomes one point, at the time of its last line. Points are at least
    `SHORTEST_S` apart. A line that follows closely belongs to the point before: it may tell of an exit."""
    groups: list[tuple[int, int]] = []
    first, closed_at, before = 0, -SHORTEST_S, -SHORTEST_S
    for index, at in enumerate(times):
        is_close = first == index and at - closed_at < SHORTEST_S
        if is_close:
            groups[-1] = (groups[-1][0], index + 1)
        elif at - before >= SHORTEST_S:
            groups.append((first, index + 1))
            closed_at = at
        else:
            continue
        first, before = index + 1, at
    if first < len(times):  # the last lines are too close to the point before: they belong to it
        groups[-1] = (groups[-1][0], len(times))
    return groups
