"""Measures the host at one moment (memory, descriptors, processes), and finds processes that it left behind."""

from __future__ import annotations

import os
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from supervisor.cleanup.env_marks import TOKEN
from supervisor.process.table import Process, ProcessTable, count_open_files, read_process

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


class Vitals(NamedTuple):
    at: float
    """Seconds into the run."""
    rss: int
    files: int
    processes: int
    """Descendants of the host, including orphans that it has adopted; 0 if they were not counted."""


def look(at: float, *, thorough: bool = False) -> Vitals:
    """Measures the host. With `thorough`, counts the processes too, which blocks the host for some milliseconds."""
    own = read_process(os.getpid())
    processes = len(ProcessTable.read().tree([os.getpid()])) - 1 if thorough else 0
    return Vitals(at, own.rss if own else 0, count_open_files(os.getpid()) or 0, processes)


def children() -> set[int]:
    """Returns the pids of the children of this process."""
    return set(ProcessTable.read().children_of(os.getpid()))


def quarters(samples: Sequence[float]) -> tuple[float, float]:
    """Returns the median of the second quarter (after the beginning) and of the last quarter (at the end)."""
    size = len(samples) // 4
    if not size:
        raise ValueError(f"{len(samples)} samples have no quarters")
    return median(samples[size : 2 * size]), median(samples[-size:])


def left_behind(token: str, sessions: Collection[int]) -> list[str]:
    """Returns one line for each process that this host or its descendants started and that is left. The token in its
    environment, its session, or its descent identifies such a process."""
    table = ProcessTable.read()
    mark = f"{TOKEN}={token}".encode()
    below = {pid for pid in _below(table) if pid != os.getpid()}
    return [
        f"{pid} ({why}): {_command(pid)}"
        for pid, process in sorted(table.by_pid.items())
        if pid != os.getpid() and (why := _why(process, mark, sessions, below)) is not None
    ]


def _why(process: Process, mark: bytes, sessions: Collection[int], below: Collection[int]) -> str | None:
    pid = process.identity.pid
    if pid in below:
        return "zombie of the host" if process.is_zombie else "below the host"
    if process.session in sessions and process.session != os.getsid(0):
        return f"session {process.session}"
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return "token" if mark in file.read().split(b"\0") else None
    except OSError:
        return None


def _below(table: ProcessTable) -> set[int]:
    """Returns all descendants of this process. Zombies count: a host that has stopped must have collected every
    child."""
    found: set[int] = set()
    todo = [os.getpid()]
    while todo:
        pid = todo.pop()
        if pid not in found:
            found.add(pid)
            todo += table.children_of(pid)
    return found


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode("utf-8", "replace")[:120]
    except OSError:
        return "ended meanwhile"
