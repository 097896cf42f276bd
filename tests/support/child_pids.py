"""The children of this process."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil

TASKS = Path("/proc/self/task")


def child_pids() -> set[int]:
    """Direct children, dead or alive, of any thread."""
    if sys.platform == "linux":
        try:
            return {int(pid) for task in TASKS.iterdir() for pid in (task / "children").read_bytes().split()}
        except OSError:  # a thread ended meanwhile, or a kernel without these files
            pass
    return {child.pid for child in psutil.Process().children()}
