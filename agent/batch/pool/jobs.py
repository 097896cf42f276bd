"""How many runs may run at the same time: as many as there are cores, and memory for. Limits of a container count."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MIB = 1024 * 1024
OF_RUN = 250 * MIB
"""Bytes that a run is expected to need with its extensions and tools, if it has no `--run-memory`."""
OF_BATCH = 300 * MIB
"""Bytes of the batch itself, its template and the model workers."""
DESCRIPTORS = 16
"""Of the batch process for each run: its output, link, events and pidfd, those of a model worker, and as many again
while a process is being started."""
DESCRIPTORS_OF_BATCH = 32
CGROUPS = Path("/sys/fs/cgroup")
_PROC = Path("/proc")


def default_jobs(cores: float, available: int | None, run_memory: int | None) -> int:
    """At least 1. `cores` may be a part of one; `available` are bytes, None if unknown. Pure."""
    by_cores = max(1, math.ceil(cores))
    if available is None:
        return by_cores
    return max(1, min(by_cores, (available - OF_BATCH) // (run_memory or OF_RUN)))


def jobs_within(jobs: int, descriptors: int, each: int = DESCRIPTORS) -> int:
    """The number of these jobs that `descriptors` allow, `each` for a run, at least 1. Pure."""
    return max(1, min(jobs, (descriptors - DESCRIPTORS_OF_BATCH) // each))


def cores(proc: Path = _PROC, cgroups: Path = CGROUPS) -> float:
    """The processors that this process may use."""
    try:
        count = float(len(os.sched_getaffinity(0)))
    except (AttributeError, OSError):
        count = float(os.cpu_count() or 1)
    for folder in _own_cgroups(proc, cgroups):
        words = _read(folder / "cpu.max").split()
        if len(words) == 2 and words[0].isdecimal() and words[1].isdecimal() and int(words[1]):
            count = min(count, int(words[0]) / int(words[1]))
    return count


def available_memory(proc: Path = _PROC, cgroups: Path = CGROUPS) -> int | None:
    """Bytes that can be used without swapping; None if unknown."""
    lines = _read(proc / "meminfo").splitlines()
    known = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    for folder in _own_cgroups(proc, cgroups):
        most, used = _read(folder / "memory.max").strip(), _read(folder / "memory.current").strip()
        if most.isdecimal() and used.isdecimal():
            known.append(max(0, int(most) - int(used) + _inactive_files(folder)))
    return min(known, default=None)


def _inactive_files(folder: Path) -> int:
    """Bytes of the cache that the kernel gives back first."""
    for line in _read(folder / "memory.stat").splitlines():
        if line.startswith("inactive_file "):
            return int(line.split()[1])
    return 0


def _own_cgroups(proc: Path, cgroups: Path) -> Iterator[Path]:
    """The cgroup (v2) of this process and all above it."""
    for line in _read(proc / "self" / "cgroup").splitlines():
        if line.startswith("0::"):
            folder = cgroups / line[3:].lstrip("/")
            yield folder
            while folder not in (cgroups, folder.parent):
                folder = folder.parent
                yield folder


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""
