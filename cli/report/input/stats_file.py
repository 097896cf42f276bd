"""Reads the lines of `--stats FILE`, or of the trace of a run, into a recording.

Positions follow the host's uptime, because the system's clock can be set. Files can be large, so the reader decodes all
fields of the last sample only; of the others it decodes times, CPU and memory.
"""

from __future__ import annotations

from array import array
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from cli.number_format import bytes_text, clock_text, elapsed, plural, short
from cli.report.input.recorded_run import (
    GOOD_STOPS,
    ExtensionFigures,
    Happening,
    InputError,
    RecordedRun,
    SourceKind,
    agent_facts,
    figures_of,
)
from cli.report.input.told_falls import with_falls
from cli.report.input.trace_lines import BATCH_MISSING, END_MISSING, TITLES, USE_MISSING, plain_mark, trace_facts
from cli.report.input.use_over_time import UseOverTime
from wire import events, stats

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from cli.report.input.use_over_time import Gauges

Line = TypeVar("Line", stats.Stats, stats.Change)

CLOCK_JUMP_S = 1.0
"""Seconds. A note reports a larger change between the system's clock and the host's from one sample to the next."""
SHARE_FROM_S = 10.0
FARTHEST_S = 86400.0
"""Maximum position of a mark, in seconds after the last sample. Later marks are placed there."""


class _Gauges(msgspec.Struct, gc=False):
    cpu_s: float
    rss_bytes: float


class _Host(msgspec.Struct, gc=False):
    pid: int
    uptime_s: float
    cpu_s: float
    rss_bytes: float


class _Sample(msgspec.Struct, tag_field="type", tag="stats", gc=False):
    time: float
    host: _Host
    extensions: dict[str, _Gauges]


class _ChangedGauges(msgspec.Struct, gc=False):
    cpu_s: float | None = None
    rss_bytes: float | None = None


class _ChangedHost(_ChangedGauges, kw_only=True, gc=False):
    uptime_s: float


class _Change(msgspec.Struct, tag_field="type", tag="change", gc=False):
    time: float
    over_s: float
    host: _ChangedHost
    extensions: dict[str, _ChangedGauges]
    gone: tuple[str, ...] = ()


_Line = _Sample | _Change | stats.Run | stats.Mark | stats.Trace


class StatsReader:
    """Takes the lines of one recording in order. If it holds several runs, the last run counts."""

    types = frozenset({"stats", "change", "run", "mark", "trace"})

    def __init__(self, path: Path) -> None:
        self._path = path
        self.decoder: msgspec.json.Decoder[_Line] = msgspec.json.Decoder(_Line)
        self._runs = 1
        self._pid: int | None = None
        self._trace: stats.Trace | None = None
        """The first line, if it is that of a trace."""
        self._marks: list[tuple[int, stats.Mark]] = []
        self._told: list[stats.Mark] = []
        """The marks of a trace, with the kinds of falls."""
        self._begin_run()

    def _begin_run(self) -> None:
        self._gone: dict[str, ExtensionFigures] = {}
        self._run: stats.Run | None = None
        self._use = UseOverTime()
        self._latest: list[tuple[int, bytes]] = []
        """Line number and text of the last full sample, and of the changes since."""

    @property
    def is_trace(self) -> bool:
        return self._trace is not None

    @property
    def has_anything(self) -> bool:
        return bool(self._use.times or self._marks or self._run or self._trace)

    def begins_a_run(self, value: Any) -> bool:
        """Whether another host has begun to write with this line."""
        if not isinstance(value, _Sample) or self._pid is None:
            return False
        return value.host.pid != self._pid or value.host.uptime_s < self._use.latest - CLOCK_JUMP_S

    def add(self, value: _Line, line: bytes, number: int, is_last: bool) -> None:
        match value:
            case stats.Trace():
                self._trace = value
            case stats.Mark():
                if self._trace is not None:
                    self._told.append(value)
                    value = plain_mark(value)
                self._marks.append((len(self._use.times), value))
            case stats.Run():
                self._run = value
            case _Change():
                if self._latest:  # else the sample that it changes is lost
                    self._add_change(value, line, number, is_last)
            case _:
                if is_last:
                    _full(line)  # raises before the sample is kept
                self._check_new_run(value)
                self._keep_gone([name for name in self._use.now if name not in value.extensions])
                self._latest = [(number, line)]
                gauges = {name: (gauge.cpu_s, gauge.rss_bytes) for name, gauge in value.extensions.items()}
                host = value.host
                self._use.add(host.uptime_s, value.time - host.uptime_s, (host.cpu_s, host.rss_bytes), gauges)

    def _check_new_run(self, sample: _Sample) -> None:
        if self.begins_a_run(sample):
            self._runs += 1
            began = sample.time - sample.host.uptime_s - CLOCK_JUMP_S
            since = len(self._use.times)
            self._marks = [(0, mark) for at, mark in self._marks if at == since and mark.time >= began]
            self._begin_run()
        self._pid = sample.host.pid

    def _add_change(self, value: _Change, line: bytes, number: int, is_last: bool) -> None:
        self._keep_gone(value.gone)
        self._latest.append((number, line))
        if is_last:
            try:
                self._full_latest()  # raises before the change is kept
            except InputError as error:
                self._latest.pop()
                raise InputError(str(error).partition(": ")[2]) from None
        use, host = self._use, value.host
        use.stay_until(host.uptime_s - value.over_s)
        gauges = {name: known for name, known in use.now.items() if name not in value.gone}
        for name, changed in value.extensions.items():
            gauges[name] = _apply_change(gauges.get(name, (0.0, 0.0)), changed)
        use.add(host.uptime_s, value.time - host.uptime_s, _apply_change(use.host_now, host), gauges)

    def _keep_gone(self, names: Iterable[str]) -> None:
        if names:
            known = self._full_latest().extensions
            self._gone |= {name: _figures(name, known[name]) for name in names if name in known}

    def finish(self, notes: list[str]) -> RecordedRun:
        """The recording. Raises `InputError` if the last sample lacks a field."""
        last = self._full_latest() if self._latest else None
        use = self._use.use()
        happenings = self._place_marks()
        end = max([self._use.latest, self._told_end(), *(each.end or each.begin for each in happenings)])
        figures = dict(self._gone)
        if last is not None:
            figures |= {name: _figures(name, extension) for name, extension in last.extensions.items()}
        for happening in happenings:
            if happening.extension and happening.extension not in figures:
                figures[happening.extension] = ExtensionFigures(happening.extension, is_counted=False)
        recording = RecordedRun(
            source=SourceKind.STATS,
            title=_title(last),
            facts=_facts(last, self._run),
            started=self._use.offsets[0] if self._use.times else self._beginning(),
            end=end or 1.0,
            duration_s=end,
            figures=tuple(figures.values()),
            happenings=tuple(happenings),
            notes=(*notes, *self._notes()),
            times=use.times,
            spans_s=use.spans_s,
            tracks={name: track for name, track in use.tracks.items() if figures[name].has_processes},
            host=use.host,
            total=use.total,
            is_counted=last is not None,
        )
        return recording if self._trace is None else self._of_trace(self._trace, recording, notes)

    def _of_trace(self, header: stats.Trace, recording: RecordedRun, notes: list[str]) -> RecordedRun:
        """The recording of a trace: it has no samples but the last, which is no use over time."""
        has_ended = bool(self._run or self._latest)
        agent = [] if self._run is None else _agent_facts(self._run)
        missing = USE_MISSING if self._latest else BATCH_MISSING if header.kind == "batch" else END_MISSING
        return replace(
            recording,
            title=TITLES[header.kind],
            facts=trace_facts(header, self._path, has_ended=has_ended, agent=agent),
            duration_s=recording.duration_s or None,
            goes_beyond=not has_ended,
            figures=with_falls(recording.figures, self._told),
            notes=(*notes, missing),
            times=array("d"),
            tracks={},
        )

    def _told_end(self) -> float:
        """The time at which the agent ended, by a trace: a batch has no sample there. In seconds since its start."""
        return 0.0 if self._trace is None or self._run is None else max(0.0, self._run.time - self._trace.time)

    def _full_latest(self) -> stats.Stats:
        number = 0
        try:
            number, line = self._latest[0]
            full = _full(line)
            for number, line in self._latest[1:]:  # noqa: B007  the error names it
                full = stats.apply_change(full, _decode(line, stats.Change))
        except (InputError, stats.StatsError) as error:
            raise InputError(f"line {number}: {error}") from None
        return full

    def _beginning(self) -> float:
        """The start of a recording without samples."""
        if self._trace is not None:
            return self._trace.time
        return min((mark.time for _, mark in self._marks), default=0.0)

    def _place_marks(self) -> list[Happening]:
        latest = self._use.latest + FARTHEST_S
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
        """The system's clock minus the host's at a mark: the offset of the sample before or after it, whichever puts
        the end of the mark (nearly) between these two samples."""
        times, offsets = self._use.times, self._use.offsets
        if not times:
            return self._beginning()
        before, after = max(0, index - 1), min(index, len(times) - 1)
        if before == after or abs(offsets[before] - offsets[after]) < CLOCK_JUMP_S:
            return offsets[before]
        low, high = times[before], times[after]

        def miss(offset: float) -> float:
            return max(low - (ended - offset), (ended - offset) - high, 0.0)

        return min(offsets[before], offsets[after], key=miss)

    def _notes(self) -> list[str]:
        notes = []
        if self._runs > 1:
            notes.append(f"The file holds {self._runs} runs; this page shows the last one.")
        times, offsets = self._use.times, self._use.offsets
        if not times:
            notes.append("The file holds no sample, so nothing is known of what the extensions used.")
        jumps = [(at, b - a) for at, (a, b) in zip(times[1:], pairwise(offsets), strict=True)]
        jumps = [(at, by) for at, by in jumps if abs(by) > CLOCK_JUMP_S]
        if jumps:
            at, by = jumps[0]
            often = "once" if len(jumps) == 1 else f"{len(jumps)} times"
            way = "back" if by < 0 else "forward"
            notes.append(
                f"The system's clock jumped {often}, first {way} by {elapsed(abs(by))} at {elapsed(at)} (it was set, or"
                " the machine slept). The page follows the host's own clock."
            )
        return notes


def _figures(name: str, extension: stats.ExtensionStats) -> ExtensionFigures:
    return figures_of(
        name,
        extension,
        failure=extension.failure,
        cpu_s=extension.cpu_s,
        processes=extension.processes,
        limit_breaches=extension.limit_breaches,
        in_client=extension.in_client,
        definition_tokens=extension.definition_tokens,
        latency_ms=tuple(sorted((upper, count) for upper, count in extension.latency_ms if count > 0)),
    )


def _is_bad(mark: stats.Mark) -> bool:
    """Whether the mark is a failed tool call, a blocked intercept, or a turn that did not end well."""
    if mark.kind == "turn":
        return mark.detail not in GOOD_STOPS
    return (mark.kind == "tool_call" and bool(mark.detail)) or (mark.kind == "intercept" and bool(mark.extension))


def _full(line: bytes) -> stats.Stats:
    return _decode(line, stats.Stats)


def _decode(line: bytes, kind: type[Line]) -> Line:
    try:
        read = stats.decode(line)
    except stats.StatsError as error:
        raise InputError(f"not a readable line: {error}") from None
    assert isinstance(read, kind)
    return read


def _apply_change(before: Gauges, changed: _ChangedGauges) -> Gauges:
    cpu_s, rss_bytes = changed.cpu_s, changed.rss_bytes
    return before[0] if cpu_s is None else cpu_s, before[1] if rss_bytes is None else rss_bytes


def _title(last: stats.Stats | None) -> str:
    if last is None:
        return "A run without samples"
    return {"run": "A run of zot", "mcp": "zot mcp serve"}.get(last.host.kind, "zot host")


def _facts(last: stats.Stats | None, run: stats.Run | None) -> tuple[tuple[str, str], ...]:
    agent = [] if run is None else _agent_facts(run)
    if last is None:
        return tuple(agent)
    host = last.host
    looks = plural(host.samples, "look")
    facts = [
        ("started", clock_text(last.time - host.uptime_s)),
        ("folder", host.cwd),
        *agent,
        ("zot", f"{host.version}, process {host.pid}"),
        ("the host itself", f"{bytes_text(host.rss_bytes)}, {_share(host.cpu_s, host.uptime_s)}"),
        ("looking at processes", f"{_share(host.sampling_cpu_s, host.uptime_s)}, {looks}"),
    ]
    return tuple((label, value) for label, value in facts if value)


def _agent_facts(run: stats.Run) -> list[tuple[str, str]]:
    tokens = events.Totals(run.input, run.output, run.cache_read, run.cache_write)
    ended = None if run.exit_code is None else (run.status, run.exit_code, run.reason)
    return agent_facts(run.model, run.provider, ended, run.steps, tokens, run.cost_usd)


def _share(cpu_s: float, seconds: float) -> str:
    """CPU time as a share of one core; in seconds if the run was shorter than `SHARE_FROM_S`."""
    return f"{short(cpu_s)} s of CPU" if seconds < SHARE_FROM_S else f"{100 * cpu_s / seconds:.3g} % of one core"
