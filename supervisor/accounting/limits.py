"""Compares what an extension uses with its limits. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from wire.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wire.manifest import Limits

BREACHES = 3
"""So many samples in a row must break a limit before the host acts, unless the manifest sets a number."""
LOG_MB = 5.0
"""MiB of log files per extension, unless the manifest sets a number."""
GROSS = 2.0
"""Multiple of the allowed `processes` at which the host acts at once: a fork bomb is out of control in a second."""
MIB = 1024 * 1024


class Reading(msgspec.Struct, frozen=True):
    """What one worker's process tree uses at one sample. A rate without an earlier sample is None, and so is a value
    that was not measured."""

    rss: int
    """Bytes."""
    cpu_s: float
    cpu_percent: float | None
    processes: int
    open_files: int | None
    frames_per_s: float | None


class Breach(msgspec.Struct, frozen=True):
    """A broken limit."""

    text: str
    """The values and the limit: `rss 612 MiB over rss_mb 512`."""
    is_gross: bool = False
    """Whether the host acts at once."""


def breaches(limits: Limits, reading: Reading) -> Iterator[Breach]:
    """Yields all limits that this reading breaks."""
    if limits.rss_mb is not None and reading.rss > limits.rss_mb * MIB:
        yield Breach(f"rss {reading.rss / MIB:.0f} MiB over rss_mb {limits.rss_mb:g}")
    if limits.processes is not None and reading.processes > limits.processes:
        gross = reading.processes > GROSS * limits.processes
        yield Breach(f"{reading.processes} processes over processes {limits.processes}", gross)
    if limits.cpu_percent is not None and reading.cpu_percent is not None and reading.cpu_percent > limits.cpu_percent:
        yield Breach(f"cpu {reading.cpu_percent:.0f} % over cpu_percent {limits.cpu_percent:g}")
    if limits.cpu_seconds is not None and reading.cpu_s > limits.cpu_seconds:
        yield Breach(f"cpu {reading.cpu_s:.1f} s over cpu_seconds {limits.cpu_seconds:g}")
    if limits.open_files is not None and reading.open_files is not None and reading.open_files > limits.open_files:
        yield Breach(f"{reading.open_files} open files over open_files {limits.open_files}")
    rate = reading.frames_per_s
    if limits.frames_per_s is not None and rate is not None and rate > limits.frames_per_s:
        yield Breach(f"{rate:.0f} frames/s over frames_per_s {limits.frames_per_s:g}")


def limits_used(limits: Limits, readings: Iterable[Reading]) -> Iterator[tuple[str, float, float | None]]:
    """Name and value of each limit on use that is set, with the largest use among the workers; None for a use that was
    not measured."""
    readings = list(readings)
    measured: dict[str, list[float | None]] = {
        "rss_mb": [reading.rss / MIB for reading in readings],
        "cpu_percent": [reading.cpu_percent for reading in readings],
        "cpu_seconds": [reading.cpu_s for reading in readings],
        "processes": [float(reading.processes) for reading in readings],
        "open_files": [reading.open_files for reading in readings],
        "frames_per_s": [reading.frames_per_s for reading in readings],
    }
    for name, values in measured.items():
        allowed = getattr(limits, name)
        if allowed is not None:
            known = [value for value in values if value is not None]
            yield name, allowed, round(max(known), 2) if known else None


def judge(limits: Limits, reading: Reading, row: int, *, counts: bool = True) -> tuple[int, str | None]:
    """Returns how many samples in a row broke a limit, including this one, and the reason if the host must act now.
    With `counts=False` the sample comes too soon after another one: then only a gross breach counts."""
    broken = list(breaches(limits, reading))
    is_gross = any(breach.is_gross for breach in broken)
    if not counts and not is_gross:
        return row, None
    if not broken:
        return 0, None
    row += 1
    text = "; ".join(breach.text for breach in broken)
    if is_gross:
        return row, text
    allowed = BREACHES if limits.breaches is None else limits.breaches
    if row < allowed:
        return row, None
    return row, f"{text}, in {counted(row, 'sample')} in a row"
