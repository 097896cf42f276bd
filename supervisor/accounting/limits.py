"""What an extension may use, held against what it uses. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wire.manifest import Limits

BREACHES = 3
"""In a row, before anything is done, if the manifest says nothing."""
LOG_MB = 5.0
GROSS = 2.0
"""So many times the `processes` allowed are not waited for: what forks that fast is gone out of hand in a second."""
MIB = 1024 * 1024


@dataclass(frozen=True)
class Reading:
    """What one worker's process tree used at one sample. None where there is nothing to compare with yet, or nobody
    looked."""

    rss: int
    """Bytes."""
    cpu_s: float
    cpu_percent: float | None
    processes: int
    open_files: int | None
    frames_per_s: float | None


@dataclass(frozen=True)
class Breach:
    """A limit that is broken, with the figures."""

    text: str
    """`rss 612 MiB over rss_mb 512`."""
    is_gross: bool = False


def breaches(limits: Limits, reading: Reading) -> Iterator[Breach]:
    """All limits that this reading breaks."""
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


def judge(limits: Limits, reading: Reading, row: int, *, counts: bool = True) -> tuple[int, str | None]:
    """How many samples in a row broke a limit, with this one; and what to say if it is time to act. One that does not
    count, since it comes too soon after another, can only show what is not waited for."""
    broken = list(breaches(limits, reading))
    if not counts and not any(one.is_gross for one in broken):
        return row, None
    if not broken:
        return 0, None
    row += 1
    text = "; ".join(one.text for one in broken)
    if any(one.is_gross for one in broken):
        return row, text
    allowed = BREACHES if limits.breaches is None else limits.breaches
    if row < allowed:
        return row, None
    return row, f"{text}, in {row} sample{'s' * (row > 1)} in a row"
