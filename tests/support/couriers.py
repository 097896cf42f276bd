"""The couriers of hosts that have ended: each delivers what waits, as a child of the process that runs the tests."""

from __future__ import annotations

import json
import os
import select
from typing import TYPE_CHECKING, Any

import psutil

from tests.support.child_pids import child_pids
from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from supervisor.home.config import Config
    from supervisor.loop.loop import Loop

PROGRAM = "courier_main.py"
POLL_S = 0.01


def couriers() -> set[int]:
    """Their pids, of those that run."""
    return {pid for pid in child_pids() if _is_courier(pid)}


def _is_courier(pid: int) -> bool:
    try:
        process = psutil.Process(pid)
        while not (words := process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
            pass  # the kernel is still loading its program
    except psutil.Error:
        return False
    return any(PROGRAM in word for word in words)


def wait_for_couriers() -> None:
    """Waits until each has delivered all and has ended."""
    for pid in couriers():
        fd = os.pidfd_open(pid)
        try:
            assert select.select([fd], [], [], PATIENCE_S)[0], "the courier does not end"
        finally:
            os.close(fd)
        os.waitpid(pid, 0)


def until(loop: Loop, predicate: Callable[[], bool]) -> None:
    """Runs the loop until the predicate holds, which no descriptor of the loop need announce."""
    deadline = loop.clock() + PATIENCE_S
    while not predicate():
        assert loop.clock() < deadline
        loop.run_until(predicate, loop.clock() + POLL_S)


def program(folder: Path, body: str = "cat >> got") -> list[str]:
    """The argv of a program that carries out `body` in this folder; by default it appends what it gets to `got`."""
    return ["/bin/sh", "-c", f"cd '{folder}'; {body}"]


def alerts(folder: Path) -> list[dict[str, Any]]:
    """The objects that the program has got."""
    path = folder / "got"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def told(folder: Path) -> list[dict[str, Any]]:
    """The events in it."""
    return [event for alert in alerts(folder) for event in alert["events"]]


def config_with(home: Path, *rules: dict[str, Any]) -> Config:
    """Writes the config of the user, with these rules, and reads it."""
    from supervisor.home.config import load_config

    home.mkdir(exist_ok=True)
    (home / "config.json").write_text(json.dumps({"on_event": rules}))
    return load_config(home)
