"""Ends process groups without /proc and psutil: the reaper on macOS uses it.

It finds the processes in the group of a leader, but not processes that left the group: `kill_leftovers` finds these on
Linux.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from supervisor.process.table import Identity

POLL_S = 0.05
SLACK_S = 2.0
"""Tolerance of start times: `ps` prints whole seconds."""


def end_groups(leaders: Iterable[Identity], *, term_s: float) -> None:
    """Sends SIGTERM to the group of each leader, and SIGKILL to the groups that have members `term_s` seconds later.

    Skips a leader whose pid belongs to a process with another start time.
    """
    groups = [leader.pid for leader in leaders if _is_same_or_gone(leader)]
    for group in groups:
        _signal_group(group, signal.SIGTERM)
    deadline = time.monotonic() + term_s
    while any(_has_members(group) for group in groups) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    for group in groups:
        _signal_group(group, signal.SIGKILL)


def _is_same_or_gone(leader: Identity) -> bool:
    """Whether the pid belongs to the leader or to no process. If the leader is gone, its pid is not reused while its
    group has members."""
    started = start_time(leader.pid)
    return started is None or abs(started - leader.started) <= SLACK_S


def start_time(pid: int) -> float | None:
    """Returns the start time of a process in seconds since the epoch; None if there is no such process."""
    command = ["ps", "-o", "lstart=", "-p", str(pid)]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, env={**os.environ, "LC_ALL": "C"}, check=False
        )
        return time.mktime(time.strptime(done.stdout.decode().strip(), "%a %b %d %H:%M:%S %Y"))
    except (OSError, ValueError):
        return None


def _has_members(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass
