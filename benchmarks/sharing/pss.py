"""The memory of a process, with its part of what it shares."""

from __future__ import annotations


def pss(pid: int) -> int:
    """Bytes of memory, each page divided by the number of processes that have it; 0 if the process has ended."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            line = next((line for line in file if line.startswith(b"Pss:")), b"Pss: 0")
    except OSError:
        return 0
    return int(line.split()[1]) * 1024
