"""The use of an extension, at one sample and per second, compared with its limits. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from wire.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wire.manifest import Limits

BREACHES = 3
"""Samples in a row that must break a limit before the host acts, unless the manifest sets a number."""
LOG_MB = 5.0
"""MiB of log files per extension, unless the manifest sets a number."""
GROSS = 2.0
"""Multiple of the allowed `processes` at which the host acts at once: a fork bomb is out of control in a second."""
MIB = 1024 * 1024
LIMITED = ("rss_mb", "cpu_percent", "cpu_seconds", "processes", "open_files", "frames_per_s")
"""The limits on use, by their names in the manifest."""


def log_bytes(limits: Limits) -> int:
    """Maximum size of all log files of an extension together, in bytes."""
    return int((limits.log_mb or LOG_MB) * MIB)


class LimitReading(msgspec.Struct, frozen=True):
    """The use of one worker's process tree at one sample. A rate without an earlier sample is None, as is each value
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


def breaches(limits: Limits, reading: LimitReading) -> Iterator[Breach]:
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


def limits_set(limits: Limits) -> dict[str, float]:
    """Name and value of each set limit on use."""
    return {name: float(allowed) for name in LIMITED if (allowed := getattr(limits, name)) is not None}


def limits_used(limits: Limits, readings: Iterable[LimitReading]) -> Iterator[tuple[str, float, float | None]]:
    """Name and value of each set limit on use, with the largest use of a worker; None for one that was not measured."""
    readings, no_values = list(readings), list[float | None]()
    measured: dict[str, list[float | None]] = {
        "rss_mb": [reading.rss / MIB for reading in readings],
        "cpu_percent": [reading.cpu_percent for reading in readings],
        "cpu_seconds": [reading.cpu_s for reading in readings],
        "processes": [float(reading.processes) for reading in readings],
        "open_files": [reading.open_files for reading in readings],
        "frames_per_s": [reading.frames_per_s for reading in readings],
        **dict.fromkeys(("output_bytes", "log_mb", "file_mb"), no_values),
    }
    for name, values in measured.items():
        allowed = getattr(limits, name)
        if allowed is not None:
            known = [value for value in values if value is not None]
            yield name, allowed, round(max(known), 2) if known else None


def judge(limits: Limits, reading: LimitReading, row: int, *, counts: bool = True) -> tuple[int, str | None]:
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


class TreeUse(msgspec.Struct, frozen=True):
    """The use of one worker's process tree at one sample, with rates."""

    at: float | None = None
    """When the sample was taken, on the loop's clock; None before the first one."""
    cpu_s: float = 0.0
    """CPU time of the living processes, and of the children that they have waited for."""
    spent_s: float = 0.0
    """CPU time so far. Unlike `cpu_s`, it keeps the share of processes that ended and were not waited for."""
    rss: int = 0
    """Bytes."""
    processes: int = 0
    threads: int = 0
    open_files: int | None = None
    frames_in: int = 0
    """Frames that the worker had sent by the time of the sample."""
    cpu_percent: float | None = None
    """Percent of one core since the sample before."""
    frames_per_s: float | None = None
    row: int = 0
    """Samples in a row in which a limit was broken."""
    basis: tuple[float, float, int] | None = None
    """When the rates were last computed, with `spent_s` and `frames_in` at that time."""
    is_rated: bool = False
    """Whether the rates are new. If not, they come from an earlier sample."""

    @property
    def reading(self) -> LimitReading:
        """The values that limits are compared with."""
        return LimitReading(
            self.rss, self.spent_s, self.cpu_percent, self.processes, self.open_files, self.frames_per_s
        )


SHORTEST_S = 0.05
"""Minimum time between two samples in seconds: two closer ones give no rate, and count as one sample in a row."""


def add_rates(before: TreeUse, now: TreeUse) -> TreeUse:
    """Returns the later sample, completed with its rates. The `cpu_s` of a tree falls if a part of it ends unseen."""
    assert now.at is not None
    spent = before.spent_s + max(0.0, now.cpu_s - before.cpu_s)
    here = (now.at, spent, now.frames_in)
    now = replace(now, row=before.row, spent_s=spent)
    if before.at is None:
        return replace(now, basis=here)
    at, spent_s, frames = before.basis or (before.at, before.spent_s, before.frames_in)
    elapsed = here[0] - at
    if elapsed < SHORTEST_S:
        return replace(
            now, cpu_percent=before.cpu_percent, frames_per_s=before.frames_per_s, basis=(at, spent_s, frames)
        )
    return replace(
        now,
        cpu_percent=(spent - spent_s) / elapsed * 100,
        frames_per_s=(now.frames_in - frames) / elapsed,
        basis=here,
        is_rated=True,
    )
