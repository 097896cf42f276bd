"""What one worker's process tree uses, as seen at the last sample."""

from __future__ import annotations

from dataclasses import dataclass

from supervisor.limits import Reading


@dataclass(frozen=True)
class Usage:
    at: float | None = None
    """When it was looked at, on the loop's clock; None before the first time."""
    cpu_s: float = 0.0
    rss: int = 0
    """Bytes."""
    processes: int = 0
    threads: int = 0
    open_files: int | None = None
    frames_in: int = 0
    """Frames that it had sent by then."""
    cpu_percent: float | None = None
    """Of one core, since the sample before."""
    frames_per_s: float | None = None
    row: int = 0
    """Samples in a row in which a limit was broken."""

    @property
    def reading(self) -> Reading:
        """For its limits."""
        return Reading(self.rss, self.cpu_s, self.cpu_percent, self.processes, self.open_files, self.frames_per_s)


SHORTEST_S = 0.05
"""Two samples closer than that are no basis for a rate."""


def follow(before: Usage, now: Usage) -> Usage:
    """The later sample with its rates. The processor time of a tree can fall, when a part of it ends unseen."""
    if before.at is None or now.at is None:
        return now
    elapsed = now.at - before.at
    cpu_percent, rate = before.cpu_percent, before.frames_per_s
    if elapsed >= SHORTEST_S:
        cpu_percent = max(0.0, now.cpu_s - before.cpu_s) / elapsed * 100
        rate = (now.frames_in - before.frames_in) / elapsed
    return Usage(
        now.at, now.cpu_s, now.rss, now.processes, now.threads, now.open_files, now.frames_in, cpu_percent, rate,
        before.row,
    )  # fmt: skip
