"""Processes that inherited a mark in their environment: all that a program under test has started."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

MARK = "ZOT_BENCH_TEST"
PENDING = re.compile(rb"^(?:Sig|Shd)Pnd:\s*([0-9a-f]+)$", re.MULTILINE)
KILL_BIT = 1 << (signal.SIGKILL - 1)
PF_EXITING = 0x4


def marked_pids(name: str, value: str) -> list[int]:
    """Without zombies, and without processes that have been sent SIGKILL: a busy machine ends them a moment later."""
    wanted = f"{name}={value}".encode()
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
                environ = file.readall()
            if wanted in environ and wanted in environ.split(b"\0") and not _is_killed(Path("/proc", pid)):
                found.append(int(pid))
        except OSError:
            pass
    return found


def _is_killed(process: Path) -> bool:
    """SIGKILL is pending, or the process has begun to exit."""
    flags = int((process / "stat").read_bytes().rpartition(b") ")[2].split()[6])
    pending = PENDING.findall((process / "status").read_bytes())
    return bool(flags & PF_EXITING) or any(int(mask, 16) & KILL_BIT for mask in pending)


def command_line(pid: int) -> str:
    try:
        return Path("/proc", str(pid), "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


def marked(mark: str) -> list[str]:
    """The command lines of the processes of a benchmark run."""
    return [command_line(pid) for pid in marked_pids(MARK, mark)]
