"""CPU and memory over time: as many points as a screen can show, and which extensions the charts name."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from math import isnan
from typing import TYPE_CHECKING

from cli.report.markup import NAME_CHARACTERS

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Sequence

    from cli.report.input.recorded_run import ExtensionFigures, RecordedRun, Track

POINTS = 240
"""The most points along the time axis."""
ALL_POINTS = 54_000
"""The most points of all lines together; with many lines there are fewer along the axis."""
NAMED = 8
"""The most extensions with a line and a colour of their own."""
AT_ZERO = 0.02
"""A line lies at zero if its highest value is at most this share of the highest of all lines, in both charts."""
EMBEDDED = 400
"""The most extensions whose points are in the page; a reader can add them to the charts."""

MIB = 2.0**20

Values = tuple[float | None, ...]
"""A value for each point; None where the extension did not run."""


@dataclass(frozen=True)
class ChartLine:
    """The points of one line: CPU in percent of one core, memory in bytes."""

    cpu_percent: Values
    rss_bytes: Values


@dataclass(frozen=True)
class Series:
    """The lines of the charts. All have the same points in time."""

    times: tuple[float, ...]
    """Seconds since the start. A point of several samples has their mean time."""
    samples: int
    """Count of the samples that the points were made from."""
    lines: dict[str, ChartLine]
    """The lines of the extensions by name, the heaviest first."""
    named: tuple[str, ...]
    at_zero: int
    """The number of lines that lie at zero: the last ones of `lines`."""
    total: ChartLine
    host: ChartLine
    peak_cpu_percent: float
    """The highest sum of all extensions between any two samples."""
    peak_rss_bytes: float
    """The highest sum of all extensions in any sample."""


def series_of(recording: RecordedRun) -> Series | None:
    """The lines of a recording; None without samples."""
    if not recording.times or recording.total is None or recording.host is None:
        return None
    order, zeros = zeros_last(heaviest(recording.figures, recording.tracks), recording.tracks)
    groups = point_groups(recording.times, min(POINTS, ALL_POINTS // max(1, min(len(order), EMBEDDED))))
    spans_s = recording.spans_s
    return Series(
        times=tuple(_mean(recording.times[first:end]) for first, end in groups),
        samples=len(recording.times),
        lines={name: thin_out(recording.tracks[name], groups, spans_s) for name in order[:EMBEDDED]},
        named=tuple(order[: min(NAMED, len(order) - zeros)]),
        at_zero=max(0, min(len(order), EMBEDDED) - (len(order) - zeros)),
        total=thin_out(recording.total, groups, spans_s),
        host=thin_out(recording.host, groups, spans_s),
        peak_cpu_percent=max(recording.total.cpu_percent),
        peak_rss_bytes=max(recording.total.rss_bytes),
    )


def point_groups(times: Sequence[float], most: int) -> list[tuple[int, int]]:
    """Ranges of samples, first and end; each range becomes one point. All ranges cover the same time; empty ranges are
    left out. If there are at most `most` samples, each sample is a point."""
    if len(times) <= most:
        return [(index, index + 1) for index in range(len(times))]
    first, span = times[0], times[-1] - times[0]
    if span <= 0:
        return [(0, len(times))]
    groups = []
    at = 0
    for _, members in groupby(times, key=lambda time: min(int((time - first) / span * most), most - 1)):
        size = sum(1 for _ in members)
        groups.append((at, at + size))
        at += size
    return groups


def thin_out(track: Track, groups: Sequence[tuple[int, int]], spans_s: Sequence[float]) -> ChartLine:
    """The track with one point per group: the mean CPU over the time of the group, which keeps the sum, and the highest
    memory, because limits are compared with that. `spans_s` are the seconds that each sample stands for."""
    cpu: list[float | None] = []
    rss: list[float | None] = []
    for first, end in groups:
        known = [at for at in range(first, end) if not isnan(track.cpu_percent[at])]
        spent = sum(track.cpu_percent[at] * spans_s[at] for at in known)
        cpu.append(spent / sum(spans_s[at] for at in known) if known else None)
        rss.append(max((value for value in track.rss_bytes[first:end] if not isnan(value)), default=None))
    return ChartLine(tuple(cpu), tuple(rss))


def heaviest(figures: Iterable[ExtensionFigures], tracks: dict[str, Track]) -> list[str]:
    """Names of the extensions with samples, the heaviest first. The larger share, of CPU time or of memory, decides."""
    cpu = {extension.name: max(0.0, extension.cpu_s) for extension in figures if extension.name in tracks}
    rss = {name: _total_use(tracks[name].rss_bytes) for name in cpu}
    all_cpu, all_rss = sum(cpu.values()) or 1.0, sum(rss.values()) or 1.0
    return sorted(cpu, key=lambda name: (-max(cpu[name] / all_cpu, rss[name] / all_rss), name))


def zeros_last(names: Sequence[str], tracks: dict[str, Track]) -> tuple[list[str], int]:
    """The names, those of lines at zero behind all others, and the number of these; 0 if all lie at zero."""
    highest = {name: (_highest(tracks[name].cpu_percent), _highest(tracks[name].rss_bytes)) for name in names}
    most = [AT_ZERO * max(values) for values in zip(*highest.values(), strict=True)]
    zeros = [name for name in names if all(value <= least for value, least in zip(highest[name], most, strict=True))]
    if len(zeros) == len(names):
        return list(names), 0
    return [*(name for name in names if name not in set(zeros)), *zeros], len(zeros)


def _highest(values: array[float]) -> float:
    return max((value for value in values if not isnan(value)), default=0.0)


def _total_use(values: array[float]) -> float:
    total = sum(values)
    return total if not isnan(total) else sum(value for value in values if not isnan(value))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def chart_data(series: Series, ids: dict[str, str]) -> dict[str, object]:
    """The data of the charts of CPU and memory. `ids` has the id of each extension's row in the table of costs."""

    def packed(line: ChartLine) -> list[list[float | None]]:
        mib = [None if value is None else value / MIB for value in line.rss_bytes]
        return [[None if value is None else round_digits(value) for value in row] for row in (line.cpu_percent, mib)]

    return {
        "times": [round(time, 6) for time in series.times],
        "names": [extension[:NAME_CHARACTERS] for extension in series.lines],
        "ids": [ids[extension] for extension in series.lines],
        "lines": [packed(line) for line in series.lines.values()],
        "total": packed(series.total),
        "host": packed(series.host),
        "named": len(series.named),
        "zeros": series.at_zero,
        "peaks": [series.peak_cpu_percent, series.peak_rss_bytes / MIB],
    }


def round_digits(value: float) -> float:
    """Three significant digits, which is finer than a screen; as an integer if it is one."""
    short = float(f"{value:.3g}")
    return int(short) if short == int(short) else short
