"""An extension with several workers, which writes down each call that it was asked to do."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

from supervisor.extension.lifecycle import WorkerState
from tests.support.host import LATER

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.calls.tool_call import ToolAnswer
    from supervisor.extension.worker import Worker
    from tests.support.host import Host


POOL = """
marks = %r
send(type="hello", name="x")
for tool, retry in {"hold": None, "who": None, "die": None, "fatal": True, "once": True, "hold_again": True}.items():
    send(type="register_tool", name=tool, schema={}, retry=retry)
send(type="subscribe", events=["session_start", "turn_start"], intercept=["tool_call"])
send(type="register_command", name="who")
send(type="ready")
seen = []
def mark(name):
    "True the first time."
    with open(marks, "a") as file:
        file.write(name + "\\n")
    try:
        os.close(os.open(f"{marks}.{name}", os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False
for frame in frames():
    if frame["type"] == "event":
        seen.append(frame["event"])
        continue
    if frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"])
        continue
    if frame["type"] == "command_invoked":
        send(type="command_response", id=frame["id"], action="display", display=str(os.getpid()))
        continue
    tool = frame["name"]
    first = mark(tool)
    if tool in ("die", "fatal") or (tool == "once" and first):
        sys.exit(4)
    if not tool.startswith("hold"):
        result(frame, json.dumps({"pid": os.getpid(), "seen": seen}))
"""


def add_pool(host: Host, marks: Path, workers: int, **manifest: Any) -> None:
    host.write("pool", POOL % str(marks), workers=workers, **{"restart": LATER, **manifest})
    host.start()
    host.until(lambda: all(worker.state is WorkerState.READY for worker in workers_of(host)))


def workers_of(host: Host, name: str = "pool") -> list[Worker]:
    return host.extension(name).workers


def begin(host: Host, tool: str) -> list[ToolAnswer]:
    """Begins a call; the list gets the answer when it comes."""
    answers: list[ToolAnswer] = []
    host.begin_call(tool, b"{}", answers.append)
    return answers


def attempts(marks: Path, tool: str) -> int:
    return marks.read_text().split().count(tool)


def kill(host: Host, index: int) -> None:
    """Kills a worker, and waits until the host has noticed."""
    worker = workers_of(host)[index]
    os.kill(worker.pid, signal.SIGKILL)
    host.until(lambda: not worker.is_running)
