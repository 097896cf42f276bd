"""Reads the lines of `--stats FILE` into a recording.

Positions follow the host's uptime, because the system's clock can be set. A soak test writes a gigabyte, so the reader
takes all fields from the last sample only, and two gauges from every other one.
"""

from __future__ import annotations

from array import array
from itertools import pairwise

import msgspec

from cli.report.quantities import bytes_text, clock_text, elapsed, plural, short
from cli.report.reading.recording import (
    ABSENT,
    GOOD_STOPS,
    Figures,
    Happening,
    InputError,
    RecordedRun,
    Source,
    Track,
    figures_of,
)
from wire import stats

CLOCK_JUMP_S = 1.0
"""Seconds. If the system's clock and the host's drift apart by more between two samples, a note says so."""
SHARE_FROM_S = 10.0
SANE = 1e15
"""The highest accepted value of a gauge, more than any machine reaches. Sums of higher values could be infinite."""
ROWS_HELD = 256
FARTHEST_S = 86400.0
"""Seconds after the last sample. A mark that claims to be later is placed there."""


class _Gauges(msgspec.Struct, gc=False):
    cpu_percent: float
    rss_bytes: float


class _Host(msgspec.Struct, gc=False):
    pid: int
    uptime_s: float
    cpu_percent: float
    rss_bytes: float


class _Sample(msgspec.Struct, tag_field="type", tag="stats", gc=False):
    time: float
    host: _Host
    extensions: dict[str, _Gauges]


class StatsReader:
    """Takes the lines of one file in order. If it holds several runs, the last run counts."""

    types = frozenset({"stats", "mark"})

    def __init__(self) -> None:
        self.decoder: msgspec.json.Decoder[_Sample | stats.Mark] = msgspec.json.Decoder(_Sample | stats.Mark)
        self._runs = 1
        self._pid: int | None = None
        self._latest = b""
        self._latest_number = 0
        self._marks: list[tuple[int, stats.Mark]] = []
        self._begin_run()

    def _begin_run(self) -> None:
        self._names: set[str] = set()
        self._gone: dict[str, Figures] = {}
        self._times = array("d")
        self._offsets = array("d")  # system's clock minus host's, at each sample
        self._host = Track(array("d"), array("d"))
        self._total = Track(array("d"), array("d"))
        self._tracks: dict[str, Track] = {}
        self._columns: list[str] = []  # names of the columns of the rows
        self._first_row = 0
        self._cpu_rows: list[list[float]] = []
        self._rss_rows: list[list[float]] = []

    @property
    def has_anything(self) -> bool:
        return bool(self._times or self._marks)

    def add(self, value: _Sample | stats.Mark, line: bytes, number: int, is_last: bool) -> None:
        if isinstance(value, stats.Mark):
            self._marks.append((len(self._times), value))
            return
        if is_last:
            _full(line)  # raises before the sample is kept
        self._notice_a_new_run(value)
        if not self._names <= value.extensions.keys():
            self._keep_what_went(value.extensions.keys())
        self._names = set(value.extensions)
        self._latest, self._latest_number = line, number
        self._add_sample(value)

    def _notice_a_new_run(self, sample: _Sample) -> None:
        host = sample.host
        if self._pid is not None and (host.pid != self._pid or host.uptime_s < self._times[-1] - CLOCK_JUMP_S):
            self._runs += 1
            began = sample.time - host.uptime_s - CLOCK_JUMP_S
            since = len(self._times)
            self._marks = [(0, mark) for at, mark in self._marks if at == since and mark.time >= began]
            self._begin_run()
        self._pid = host.pid

    def _keep_what_went(self, names: object) -> None:
        for name, extension in self._full_latest().extensions.items():
            if name not in names:  # type: ignore[operator]
                self._gone[name] = _figures(name, extension)

    def _add_sample(self, sample: _Sample) -> None:
        host = sample.host
        at = max(0.0, min(host.uptime_s, SANE), self._times[-1] if self._times else 0.0)
        before = len(self._times)
        self._times.append(at)
        self._offsets.append(sample.time - host.uptime_s)
        self._host.cpu_percent.append(min(host.cpu_percent, SANE))
        self._host.rss_bytes.append(min(host.rss_bytes, SANE))
        names = list(sample.extensions)
        if names != self._columns:
            self._move_to_tracks()
            self._columns, self._first_row = names, before
        gauges = sample.extensions.values()
        cpu, rss = [gauge.cpu_percent for gauge in gauges], [gauge.rss_bytes for gauge in gauges]
        if max(sum(cpu), sum(rss)) > SANE:
            cpu, rss = [min(value, SANE) for value in cpu], [min(value, SANE) for value in rss]
        self._cpu_rows.append(cpu)
        self._rss_rows.append(rss)
        self._total.cpu_percent.append(sum(cpu))
        self._total.rss_bytes.append(sum(rss))
        if len(self._cpu_rows) >= ROWS_HELD:
            self._move_to_tracks()
            self._first_row = before + 1

    def _move_to_tracks(self) -> None:
        """Appends rows, one per sample, to tracks, one per extension. Many rows at once take a third of the time."""
        columns = zip(self._columns, zip(*self._cpu_rows, strict=True), zip(*self._rss_rows, strict=True), strict=True)
        for name, cpu, rss in columns if self._cpu_rows else ():
            track = self._tracks.setdefault(name, Track(array("d"), array("d")))
            _pad(track, self._first_row - len(track.cpu_percent))
            track.cpu_percent.extend(cpu)
            track.rss_bytes.extend(rss)
        self._cpu_rows, self._rss_rows = [], []

    def finish(self, notes: list[str]) -> RecordedRun:
        """The recording. Raises `InputError` if the last sample lacks a field."""
        last = self._full_latest() if self._times else None
        self._move_to_tracks()
        for track in self._tracks.values():
            _pad(track, len(self._times) - len(track.cpu_percent))
        happenings = self._placed_marks()
        end = max(
            [self._times[-1] if self._times else 0.0, *(happening.end or happening.begin for happening in happenings)]
        )
        figures = dict(self._gone)
        if last is not None:
            figures |= {name: _figures(name, extension) for name, extension in last.extensions.items()}
        for happening in happenings:
            if happening.extension and happening.extension not in figures:
                figures[happening.extension] = Figures(happening.extension)
        return RecordedRun(
            source=Source.STATS,
            title=_title(last),
            facts=_facts(last),
            started=self._offsets[0] if self._times else self._earliest_mark(),
            end=end or 1.0,
            duration_s=end,
            figures=tuple(figures.values()),
            happenings=tuple(happenings),
            notes=(*notes, *self._notes()),
            times=self._times,
            tracks=self._tracks,
            host=self._host,
            total=self._total,
        )

    def _full_latest(self) -> stats.Stats:
        try:
            return _full(self._latest)
        except InputError as error:
            raise InputError(f"line {self._latest_number}: {error}") from None

    def _earliest_mark(self) -> float:
        return min((mark.time for _, mark in self._marks), default=0.0)

    def _placed_marks(self) -> list[Happening]:
        latest = (self._times[-1] if self._times else 0.0) + FARTHEST_S
        placed = []
        for index, mark in self._marks:
            lasts = max(0.0, (mark.duration_ms or 0.0) / 1000)
            begin = min(max(0.0, mark.time - self._offset(index, mark.time + lasts)), latest)
            placed.append(
                Happening(
                    begin=begin,
                    end=None if mark.duration_ms is None else min(begin + lasts, latest),
                    kind=mark.kind,
                    name=mark.name,
                    extension=mark.extension,
                    detail=mark.detail,
                    bad=_is_bad(mark),
                )
            )
        placed.sort(key=lambda happening: happening.begin)
        return placed

    def _offset(self, index: int, ended: float) -> float:
        """The system's clock minus the host's at a mark. It is the offset of the sample before or of the sample after
        the mark: the one that puts the end of the mark between the two samples."""
        if not self._times:
            return self._earliest_mark()
        before, after = max(0, index - 1), min(index, len(self._times) - 1)
        if before == after or abs(self._offsets[before] - self._offsets[after]) < CLOCK_JUMP_S:
            return self._offsets[before]
        low, high = self._times[before], self._times[after]

        def miss(offset: float) -> float:
            return max(low - (ended - offset), (ended - offset) - high, 0.0)

        return min(self._offsets[before], self._offsets[after], key=miss)

    def _notes(self) -> list[str]:
        notes = []
        if self._runs > 1:
            notes.append(f"The file holds {self._runs} runs; this page shows the last one.")
        if not self._times:
            notes.append("The file holds no sample, so nothing is known of what the extensions used.")
        jumps = [(at, b - a) for at, (a, b) in zip(self._times[1:], pairwise(self._offsets), strict=True)]
        jumps = [(at, by) for at, by in jumps if abs(by) > CLOCK_JUMP_S]
        if jumps:
            at, by = jumps[0]
            times = "once" if len(jumps) == 1 else f"{len(jumps)} times"
            way = "back" if by < 0 else "forward"
            notes.append(
                f"The system's clock jumped {times}, first {way} by {elapsed(abs(by))} at {elapsed(at)} (it was set, or"
                " the machine slept). The page follows the host's own clock."
            )
        return notes


def _figures(name: str, extension: stats.ExtensionStats) -> Figures:
    return figures_of(
        name,
        extension,
        failure=extension.failure,
        cpu_s=extension.cpu_s,
        processes=extension.processes,
        limit_breaches=extension.limit_breaches,
        latency_ms=tuple(sorted((upper, count) for upper, count in extension.latency_ms if count > 0)),
    )


def _is_bad(mark: stats.Mark) -> bool:
    """Whether the mark is a failed tool call, a blocked intercept, or a turn that did not end well."""
    if mark.kind == "turn":
        return mark.detail not in GOOD_STOPS
    return (mark.kind == "tool_call" and bool(mark.detail)) or (mark.kind == "intercept" and bool(mark.extension))


def _full(line: bytes) -> stats.Stats:
    try:
        read = stats.decode(line)
    except stats.StatsError as error:
        raise InputError(f"not a readable line: {error}") from None
    assert isinstance(read, stats.Stats)
    return read


def _pad(track: Track, missing: int) -> None:
    track.cpu_percent.extend([ABSENT] * missing)
    track.rss_bytes.extend([ABSENT] * missing)


def _title(last: stats.Stats | None) -> str:
    if last is None:
        return "A run without samples"
    return "A run of zot" if last.host.kind == "run" else "zot host"


def _facts(last: stats.Stats | None) -> tuple[tuple[str, str], ...]:
    if last is None:
        return ()
    host = last.host
    looks = plural(host.samples, "look")
    facts = [
        ("started", clock_text(last.time - host.uptime_s)),
        ("folder", host.cwd),
        ("zot", f"{host.version}, process {host.pid}"),
        ("the host itself", f"{bytes_text(host.rss_bytes)}, {_share(host.cpu_s, host.uptime_s)}"),
        ("looking at processes", f"{_share(host.sampling_cpu_s, host.uptime_s)}, {looks}"),
    ]
    return tuple((label, value) for label, value in facts if value)


def _share(cpu_s: float, seconds: float) -> str:
    """CPU time as a share of one core; in seconds for runs below `SHARE_FROM_S`."""
    return f"{short(cpu_s)} s of CPU" if seconds < SHARE_FROM_S else f"{100 * cpu_s / seconds:.3g} % of one core"
