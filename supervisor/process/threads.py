"""What can be seen of a process that hangs, before it is ended: for its log."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from supervisor.process.table import read_process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from supervisor.extension.worker import Worker

THREADS_SHOWN = 20
IDS_SHOWN = 20
MIB = 1024 * 1024


def evidence(worker: Worker) -> Iterator[str]:
    """Lines: what it owes, its size, and what the kernel says its threads do."""
    ids = list(worker.pending)
    if ids:
        more = f" and {len(ids) - IDS_SHOWN} more" if len(ids) > IDS_SHOWN else ""
        yield f"pending: {', '.join(ids[:IDS_SHOWN])}{more}"
    if worker.pid is None or (process := read_process(worker.pid)) is None:
        return
    yield f"pid {worker.pid}, rss {process.rss / MIB:.1f} MiB, cpu {process.cpu_s:.2f} s, {process.threads} threads"
    yield from _threads(worker.pid)


def _threads(pid: int) -> Iterator[str]:
    folder = f"/proc/{pid}/task"
    try:
        names = os.listdir(folder)
    except OSError:
        return  # gone, or a system without /proc
    for name in sorted(names, key=int)[:THREADS_SHOWN]:
        try:
            with open(f"{folder}/{name}/stat", "rb") as file:
                text = file.read()
        except OSError:
            continue
        command = text[text.index(b"(") + 1 : text.rindex(b")")].decode("utf-8", "replace")
        state = text[text.rindex(b")") + 2 : text.rindex(b")") + 3].decode()
        yield f"thread {name} {command}: {_STATES.get(state, state)}{_waits_in(folder, name)}"


_STATES = {
    "R": "running",
    "S": "sleeping",
    "D": "in an uninterruptible wait",
    "T": "stopped by a signal",
    "t": "stopped by a debugger",
    "Z": "ended",
}


def _waits_in(folder: str, thread: str) -> str:
    try:
        with open(f"{folder}/{thread}/wchan") as file:
            place = file.read().strip()
    except OSError:
        return ""
    return f" in {place}" if place not in ("", "0") else ""
