"""Describes the threads of a process in lines for a log: state and place in the kernel."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

THREADS_SHOWN = 20


def describe_threads(pid: int) -> Iterator[str]:
    """Yields one line for each of the first `THREADS_SHOWN` threads; no line if the process is gone."""
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
