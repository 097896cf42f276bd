"""A supervisor with real children, and all that it said of them."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from supervisor.calls.merged_registrations import OwnedTool
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.loop import Loop
from supervisor.reload.reloader import Reloader
from supervisor.supervisor import Supervisor
from tests.support.extension_folder import CHILDREN, child_argv
from tests.support.patience import PATIENCE_S
from wire import frames
from wire.dialects.base import HostInfo
from wire.manifest import parse_manifest

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.calls.command_call import CommandAnswer
    from supervisor.calls.guard_chain import Judgement
    from supervisor.calls.request_in_flight import RequestInFlight
    from supervisor.calls.tool_call import ToolAnswer
    from supervisor.extension.extension import Extension
    from wire.events import Cost

QUICK = {"hello": 60.0, "ready": 60.0, "tool_call": 60.0, "intercept": 60.0}
"""Long enough for a loaded machine; the tests that wait for a deadline set a short one."""
ONCE = {"policy": "temporary"}
"""Most tests need one start of a worker; those of restarts give another policy."""
SOON = {"backoff_s": [0.01, 0.05], "max": 50}
LATER = {"backoff_s": [60, 60]}
"""An extension that has ended stays down as long as a test looks."""
AT_ONCE = 30.0
"""Seconds; far below the deadlines, far above what a loaded machine takes."""
PRELUDE = """
import json, os, select, signal, sys, time
def send(**frame):
    print(json.dumps(frame), flush=True)
def hello(*tools, intercept=(), events=()):
    send(type="hello", name="x")
    for tool in tools:
        send(type="register_tool", name=tool, schema={"type": "object"})
    if intercept or events:
        send(type="subscribe", intercept=list(intercept), events=list(events))
def frames():
    for line in sys.stdin:
        frame = json.loads(line)
        if frame["type"] == "shutdown":
            send(type="shutdown_ack")
            return
        if frame["type"] != "hello_ack":
            yield frame
def result(frame, text):
    send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": text}])
"""


def source(code: str) -> str:
    """The source of an extension: `code` behind what it uses of `PRELUDE`. `subprocess` takes 10 ms to import."""
    return PRELUDE + ("import subprocess\n" if "subprocess." in code else "") + code


class Host:
    """A supervisor with the extensions that were added. `start` starts it, the end of the `with` block stops it."""

    def __init__(self, folder: Path, *, owns_process: bool = True, loop: Loop | None = None, **options: Any) -> None:
        self.folder = folder
        self.loop = loop or Loop()
        self.notices: list[tuple[str, str, str]] = []
        self.notes: list[tuple[str, str, str]] = []
        self.supervisor = Supervisor(
            self.loop,
            host=HostInfo("1.0", "replay", "model-x", "/project"),
            logs=folder / "logs",
            owns_process=owns_process,
            on_notice=lambda extension, kind, message: self.notices.append((extension.name, kind, message)),
            on_note=lambda extension, level, message: self.notes.append((extension.name, level, message)),
            **options,
        )
        self.reloader = Reloader(self.supervisor)
        self.found: list[FoundExtension] = []
        self._stopped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Kills what the test has not stopped: of the way to stop, tests of it call `stop`."""
        self.stop(at_once=True)
        self.loop.close()

    def add(self, child: str, *argv: str | Path, name: str | None = None, **manifest: Any) -> None:
        """Adds one of `tests/children`."""
        self._add(name or Path(child).stem, child_argv(child, *argv), manifest)

    def write(self, name: str, code: str, *, prelude: bool = True, **manifest: Any) -> None:
        """Adds an extension with this source."""
        script = self.folder / f"{name}.py"
        script.write_text(source(code) if prelude else code)
        self._add(name, [sys.executable, "-I", "-S", str(script)], manifest)

    def _add(self, name: str, argv: list[str], manifest: dict[str, Any]) -> None:
        fields = {"timeouts": {}, "restart": ONCE, **manifest}
        fields = {"name": name, "exec": argv[0], "args": argv[1:], **fields}
        fields["timeouts"] = {**QUICK, **fields["timeouts"]}
        text = json.dumps(fields).encode()
        self.found.append(FoundExtension(CHILDREN, parse_manifest(text), Scope.EXPLICIT, len(self.found)))

    def start(self) -> Self:
        """Starts all and waits until each is ready or has failed."""
        self.launch()
        assert self.supervisor.settle(self.loop.clock() + PATIENCE_S)
        return self

    def launch(self) -> None:
        self.supervisor.start(sorted(self.found, key=lambda found: found.order), dict(os.environ))

    def stop(self, **how: Any) -> float:
        """Stops it; returns the seconds that it took."""
        started = time.monotonic()
        if not self._stopped:
            self._stopped = True
            self.supervisor.stop(**how)
        return time.monotonic() - started

    # --- looking ------------------------------------------------------------------------------------------

    def extension(self, name: str) -> Extension:
        return next(extension for extension in self.supervisor.extensions if extension.name == name)

    def state(self, name: str) -> WorkerState:
        return self.extension(name).state

    def is_restarted(self, name: str, times: int = 1) -> bool:
        """Whether it is ready after at least so many restarts."""
        return self.state(name) is WorkerState.READY and self.cost(name).restarts >= times

    def cost(self, name: str) -> Cost:
        return self.supervisor.costs()[name]

    def tools(self) -> set[str]:
        return set(self.supervisor.registrations.tools())

    def said_of(self, name: str) -> list[tuple[str, str]]:
        """Kind and text of the notices about it, except that it has started, and what it refused as a guard."""
        return [
            (kind, message) for who, kind, message in self.notices if who == name and kind not in ("started", "blocked")
        ]

    def log(self, name: str) -> str:
        return (self.folder / "logs" / f"ext-{name}.log").read_text(errors="replace")

    # --- doing --------------------------------------------------------------------------------------------

    def until(self, predicate: Any) -> None:
        assert self.loop.run_until(predicate, self.loop.clock() + PATIENCE_S), f"in vain; notices: {self.notices}"

    def run_for(self, seconds: float) -> None:
        self.loop.run_until(lambda: False, self.loop.clock() + seconds)

    def call(self, tool: str, **args: Any) -> ToolAnswer:
        return self.call_owned(self.supervisor.registrations.tools()[tool], json.dumps(args).encode())

    def call_of(self, name: str, tool: str, **args: Any) -> ToolAnswer:
        """Calls this extension's tool, also if the tool is hidden or the extension dead."""
        owner = self.extension(name)
        return self.call_owned(OwnedTool(owner.tools[tool], owner), json.dumps(args).encode())

    def begin_call(self, tool: str, args: bytes, done: Callable[[ToolAnswer], None]) -> RequestInFlight:
        return self.supervisor.begin_call(self.supervisor.registrations.tool(tool), args, done)

    def begin_command(self, name: str, args: str, done: Callable[[CommandAnswer], None]) -> RequestInFlight:
        return self.supervisor.begin_command(self.supervisor.registrations.commands()[name], args, done)

    def call_owned(self, owned: OwnedTool, args: bytes) -> ToolAnswer:
        answers: list[ToolAnswer] = []
        self.supervisor.begin_call(owned, args, answers.append)
        self.loop.run_until(lambda: bool(answers))
        return answers[0]

    def text(self, tool: str, **args: Any) -> str:
        """The text of a call that must succeed."""
        answer = self.call(tool, **args)
        assert answer.frame is not None, answer
        return "".join(block.text or "" for block in answer.frame.content or ())

    def ask(self, event: str = "tool_call", *, waits: bool = True, **fields: Any) -> Judgement:
        """The judgement on an event, from the driver that waits for it or from the one that does not."""
        if event == "tool_call":
            fields = {"tool_id": "t", "tool_name": "read", "tool_args": frames.Raw(b'{"path": "a"}')} | fields
        if waits:
            return self.supervisor.intercept(frames.Event(event, **fields))
        judgements: list[Judgement] = []
        self.supervisor.begin_intercept(frames.Event(event, **fields), judgements.append)
        assert judgements == [], "never from within the call"
        self.until(lambda: judgements)
        return judgements[0]

    def timed(self, action: Any, *args: Any, **kwargs: Any) -> tuple[Any, float]:
        started = time.monotonic()
        return action(*args, **kwargs), time.monotonic() - started
