"""`zot stop`: stops a host and its extensions in order."""

from __future__ import annotations

import sys
import time

from cli.hosts.find import connect
from supervisor.control.client import ControlError
from supervisor.process.table import read_process
from wire import control

PATIENCE_S = 10.0
"""Seconds. A host with stubborn extensions takes about four."""
POLL_S = 0.01


def run_stop(pid: int | None, patience_s: float = PATIENCE_S) -> int:
    """Stops the host, waits until it is gone, and returns the exit status. Raises `ControlError`."""
    started = time.monotonic()
    with connect(pid) as client:
        client.ask(control.StopHost(client.next_id()), control.Ok)
        gone = client.is_gone(patience_s)
        while gone and _is_alive(client.pid) and time.monotonic() < started + patience_s:
            time.sleep(POLL_S)
        if not gone or _is_alive(client.pid):
            raise ControlError(
                f"host {client.pid} has been asked to stop and is still there after {patience_s:g} s;"
                f" wait, or kill -9 {client.pid}"
            )
        print(  # noqa: T201
            f"zot stop: host {client.pid} has stopped ({time.monotonic() - started:.1f} s)", file=sys.stderr
        )
    return 0


def _is_alive(pid: int) -> bool:
    """Whether the process still runs. A zombie has ended; its parent has not collected it yet."""
    found = read_process(pid)
    return found is not None and not found.is_zombie
