"""Facts about the processes of the child `lives`, one life after another."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

from supervisor.process.table import read_process
from wire import frames

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.host import Host


def life(host: Host, tool: str = "life") -> dict[str, Any]:
    """The present worker's answer about itself."""
    return json.loads(host.text(tool))


def lives(marks: Path) -> int:
    """How many times it was started."""
    return len(list(marks.parent.glob(f"{marks.name}.*")))


def is_gone(pid: int) -> bool:
    """Whether the process has ended, also if nobody has collected it yet."""
    found = read_process(pid)
    return found is None or found.is_zombie


def freeze(host: Host, name: str) -> int:
    """Stops the process of an extension by SIGSTOP, waits until that is done, and returns the pid."""
    pid = host.extension(name).pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)
    return pid


def turn_start(host: Host) -> None:
    host.supervisor.tell(frames.Event("turn_start", step=1))
