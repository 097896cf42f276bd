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
IN_HOST = "in a host"
WAITS_NAMED = 5
UNKNOWN = "-"
"""The value of a figure that the recording has not."""


def waits(recording: RecordedRun) -> list[tuple[str, str]]:
    """The fact of what requests waited for: extensions that start when they are needed, the longest wait first; empty
    without any."""
    waited = sorted((each for each in recording.figures if each.start_waits), key=lambda each: -each.start_wait_s)
    told = [f"{elapsed(each.start_wait_s)} for {each.name}" for each in waited[:WAITS_NAMED]]
    if (more := len(waited) - WAITS_NAMED) > 0:
        told.append(f"and for {count_text(more)} more")
    return [("waited", ", ".join(told))] if told else []


def tiles(recording: RecordedRun, series: Series | None) -> tuple[Tile, ...]:
    figures = recording.figures
    calls = sum(extension.calls for extension in figures)
    errors = sum(extension.errors for extension in figures)
    timeouts = sum(extension.timeouts for extension in figures)
    restarts = sum(extension.restarts for extension in figures)
    exits = sum(exits_of(recording).values())
    failed = sum(extension.state == "failed" for extension in figures)
    slowest = max(
        (extension for extension in figures if extension.p99_ms is not None),
        key=lambda extension: extension.p99_ms or 0.0,
        default=None,
    )
    seconds = recording.duration_s
    least = "at least " if recording.goes_beyond else ""

    def known(count: int) -> str:
        return count_text(count) if count or recording.is_counted else UNKNOWN

    return (
        Tile("Duration", f"{least}{elapsed(seconds)}" if seconds is not None else "unknown", _samples(recording)),
        Tile(
            "Extensions",
            known(len(figures)),
            f"{failed} given up" if failed else "none given up" if figures or recording.is_counted else "",
            failed > 0,
            "warn",
        ),
        Tile("Calls", known(calls), f"{short(calls / seconds)} per second" if seconds and calls else ""),
        Tile(
            "Errors",
            known(errors),
            _timeouts(timeouts, recording)
            + (f", {percent_text(100 * errors / calls)} of calls" if errors and calls else ""),
            errors + timeouts > 0,
        ),
        Tile("Restarts", known(restarts), _exits_tile(exits), restarts + exits > 0, "bad" if restarts else "warn"),
        _memory(recording, series),
        _cpu(recording),
        Tile(
            "Slowest p99",
            duration_text(slowest.p99_ms) if slowest else UNKNOWN,
            slowest.name if slowest else "no answers" if recording.is_counted else "",
        ),
    )


def _samples(recording: RecordedRun) -> str:
    if recording.source is SourceKind.EVENTS:
        return "from a run's events"
    if recording.goes_beyond:
        return "until its last mark"
    return plural(len(recording.times), "sample")


def _exits_tile(exits: int) -> str:
    if exits == 0:
        return "nothing ended by itself"
    return "1 ended by itself" if exits == 1 else f"{count_text(exits)} ended by themselves"


def _timeouts(timeouts: int, recording: RecordedRun) -> str:
    return plural(timeouts, "timeout") if timeouts or recording.is_counted else ""


def _cpu(recording: RecordedRun) -> Tile:
    """The processor time of all extensions, and the run's shares of a host's processes."""
    if not recording.is_counted:
        return Tile("CPU time", UNKNOWN)
    figures, seconds = recording.figures, recording.duration_s
    shares = [extension.hosted.cpu_share_ms or 0.0 for extension in figures if extension.hosted is not None]
    share = f"~{short(sum(shares) / 1000)} s"
    if figures and not any(extension.has_processes for extension in figures):
        return Tile("CPU time", share, "share of a host's processes") if shares else Tile("CPU time", "-", IN_CLIENT)
    cpu_s = sum(extension.cpu_s for extension in figures)
    told = f"{percent_text(100 * cpu_s / seconds)} of one core" if seconds else ""
    told += f"{', ' if told else ''}and {share} of a host's" if shares else ""
    return Tile("CPU time", f"{short(cpu_s)} s" if cpu_s < 60 else elapsed(cpu_s), told)


def _memory(recording: RecordedRun, series: Series | None) -> Tile:
    if not recording.is_counted:
        return Tile("Peak RSS", UNKNOWN)
    measured = [extension for extension in recording.figures if extension.has_processes and extension.is_counted]
    largest = max(measured, key=lambda extension: extension.rss_peak_bytes, default=None)
    if largest is None:
        is_hosted = any(extension.hosted for extension in recording.figures)
        is_in_client = any(extension.in_client for extension in recording.figures)
        where = IN_HOST if is_hosted else IN_CLIENT if is_in_client else "no extensions"
        return Tile("Peak RSS", "-", where)
    own = bytes_text(largest.rss_peak_bytes)
    if series is None:
        return Tile("Largest peak RSS", own, largest.name)
    return Tile("Peak RSS, all", bytes_text(series.peak_rss_bytes), f"{own}: {largest.name}")
