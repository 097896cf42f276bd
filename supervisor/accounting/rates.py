"""What one worker's process tree uses at the last sample, with rates since the sample before. Pure."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from supervisor.accounting.limits import Reading


class TreeUse(msgspec.Struct, frozen=True):
    """What one worker's process tree uses at one sample, with rates."""

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
    def reading(self) -> Reading:
        """The values that limits are compared with."""
        return Reading(self.rss, self.spent_s, self.cpu_percent, self.processes, self.open_files, self.frames_per_s)


SHORTEST_S = 0.05
"""Seconds. Two samples closer than this give no rate, and count as one sample in a row."""


def with_rates(before: TreeUse, now: TreeUse) -> TreeUse:
    """Returns the later sample, completed with its rates. The `cpu_s` of a tree falls if a part of the tree ends
    unseen."""
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
