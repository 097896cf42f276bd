"""A host that shares one extension, whose tool `hold` answers when anybody calls its tool `release`."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.support.extension_folder import folder
from tests.support.host_process import Hosted, hosting
from tests.support.replay_script import Script, ok
from tests.support.zot_process import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.zot_process import Running, Zot

GATE = """
import json, sys
held = []
def say(**frame):
    print(json.dumps(frame), flush=True)
def answer(frame, text):
    told = {"session_id": frame["session_id"]} if "session_id" in frame else {}
    say(type="tool_result", id=frame["id"], content=[{"type": "text", "text": text}], **told)
say(type="hello", name="gate", features=["leases"])
for tool in ("hold", "release"):
    say(type="register_tool", name=tool, schema={"type": "object"})
say(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "shutdown":
        break
    if frame["type"] == "lease_begin":
        say(type="lease_ready", id=frame["id"])
    if frame["type"] == "tool_call" and frame["name"] == "hold":
        held.append(frame)
    elif frame["type"] == "tool_call":
        for each in held:
            answer(each, "held")
        held.clear()
        answer(frame, "released")
"""
TIMES = {"timeouts": {"tool_call": 600}}


class Gate:
    """The host, and runs that have attached to it. Each run calls `hold` once, and then answers."""

    def __init__(self, zot: Zot, host: Hosted) -> None:
        self.zot = zot
        self.host = host

    def flags(self, cwd: Path, script: Script) -> list[str]:
        """The flags of a run of this script in this folder."""
        return ["--host", str(self.host.pid), "--json", "--replay", str(script.write(cwd / "cassette.jsonl")), "go"]

    def script(self, cwd: Path) -> Script:
        """A script that is offered the tools."""
        return Script(cwd).offer("hold").offer("release")

    @contextmanager
    def run(self, name: str, *flags: str) -> Iterator[Running]:
        """A run in a folder of its own, whose `hold` is not answered yet."""
        cwd = self.zot.folder / name
        cwd.mkdir()
        waiting = self.stats().pending
        script = self.script(cwd).call(("hold", {}), results=[ok("held")]).answer("done")
        with self.zot.start(*self.flags(cwd, script), *flags, cwd=cwd) as running:
            wait_until(lambda: self.stats().pending > waiting or running.process.poll() is not None)
            yield running

    def stats(self):
        return self.host.stats()["gate"]

    def release(self) -> None:
        assert self.host.call("release") == "released"


@contextmanager
def gate(zot: Zot, *others: Path, flags: tuple[str, ...] = (), **manifest: object) -> Iterator[Gate]:
    script = zot.folder / "gate.py"
    script.write_text(GATE)
    fields = {"sessions": "shared", **TIMES, **manifest}
    made = folder(zot.folder, "gate", [sys.executable, "-I", "-S", str(script)], **fields)
    with hosting(zot, made, *others, flags=("--cwd", str(zot.folder), *flags)) as host:
        yield Gate(zot, host)
