"""The most important figures of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.number_format import bytes_text, count_text, duration_text, elapsed, percent_text, plural, short
from cli.report.input.recorded_run import SourceKind
from cli.report.page.top import Tile
from cli.report.run.findings import exits_of

if TYPE_CHECKING:
    from cli.report.input.recorded_run import RecordedRun
    from cli.report.run.series import Series


IN_CLIENT = "in the client program"


def tiles(recording: RecordedRun, series: Series | None) -> tuple[Tile, ...]:
    figures = recording.figures
    calls = sum(extension.calls for extension in figures)
    errors = sum(extension.errors for extension in figures)
    timeouts = sum(extension.timeouts for extension in figures)
    restarts = sum(extension.restarts for extension in figures)
    exits = sum(exits_of(recording).values())
    failed = sum(extension.state == "failed" for extension in figures)
    cpu_s = sum(extension.cpu_s for extension in figures)
    slowest = max(
        (extension for extension in figures if extension.p99_ms is not None),
        key=lambda extension: extension.p99_ms or 0.0,
        default=None,
    )
    seconds = recording.duration_s
    return (
        Tile("Duration", "unknown" if seconds is None else elapsed(seconds), _samples(recording)),
        Tile(
            "Extensions",
            count_text(len(figures)),
            f"{failed} given up" if failed else "none given up",
            failed > 0,
            "warn",
        ),
        Tile("Calls", count_text(calls), f"{short(calls / seconds)} per second" if seconds and calls else ""),
        Tile(
            "Errors",
            count_text(errors),
            plural(timeouts, "timeout")
            + (f", {percent_text(100 * errors / calls)} of calls" if errors and calls else ""),
            errors + timeouts > 0,
        ),
        Tile("Restarts", count_text(restarts), _exits_tile(exits), restarts + exits > 0, "bad" if restarts else "warn"),
        _memory(recording, series),
        Tile("CPU time", "-", IN_CLIENT)
        if figures and all(extension.in_client for extension in figures)
        else Tile(
            "CPU time",
            f"{short(cpu_s)} s" if cpu_s < 60 else elapsed(cpu_s),
            f"{percent_text(100 * cpu_s / seconds)} of one core" if seconds else "",
        ),
        Tile(
            "Slowest p99", duration_text(slowest.p99_ms) if slowest else "-", slowest.name if slowest else "no answers"
        ),
    )


def _samples(recording: RecordedRun) -> str:
    if recording.source is SourceKind.EVENTS:
        return "from a run's events"
    return plural(len(recording.times), "sample")


def _exits_tile(exits: int) -> str:
    if exits == 0:
        return "nothing ended by itself"
    return "1 ended by itself" if exits == 1 else f"{count_text(exits)} ended by themselves"


def _memory(recording: RecordedRun, series: Series | None) -> Tile:
    measured = [extension for extension in recording.figures if not extension.in_client]
    largest = max(measured, key=lambda extension: extension.rss_peak_bytes, default=None)
    if largest is None:
        return Tile("Peak RSS", "-", IN_CLIENT if recording.figures else "no extensions")
    own = bytes_text(largest.rss_peak_bytes)
    if series is None:
        return Tile("Largest peak RSS", own, largest.name)
    return Tile("Peak RSS, all", bytes_text(series.peak_rss_bytes), f"{own}: {largest.name}")
