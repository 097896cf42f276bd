"""A control server with something to serve that needs no processes, and clients that say exactly what a test wants."""

from __future__ import annotations

import json
import socket
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from supervisor.calls.guard_chain import UNTOUCHED
from supervisor.control.server import ControlServer
from supervisor.loop.loop import Loop
from tests.support.patience import PATIENCE_S
from wire import frames
from wire.stats import ExtensionStats, HostStats, Stats
from wire.suggestions import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Self

    from supervisor.discovery.skipped_extension import SkippedExtension
    from supervisor.loop.future import Failure
    from wire.trace_context import TraceContext


@dataclass
class FakeExtension:
    name: str


@dataclass
class FakeTool:
    name: str
    description: str = "Does it."
    schema: dict[str, Any] = field(default_factory=lambda: {"type": "object"})
    read_only: bool = True
    retry: bool = False
    output_schema: dict[str, Any] | None = None


@dataclass
class OwnedFake:
    owner: FakeExtension
    tool: FakeTool | None = None
    command: FakeTool | None = None
    is_offered: bool = True


@dataclass
class FakeAnswer:
    frame: Any = None
    failure: Failure | None = None
    reason: str = ""


@dataclass
class FakeAsked:
    """A request that a test answers when it likes."""

    what: tuple[Any, ...]
    done: Callable[[Any], None]
    cancelled: str | None = None

    def cancel(self, reason: str) -> None:
        self.cancelled = reason

    def answer(self, text: str) -> None:
        self.done(FakeAnswer(frames.ToolResult("internal-7", [frames.ContentBlock("text", text=text)])))


def _named(name: str, what: str, known: dict[str, Any]) -> Any:
    if name not in known:
        raise UnknownNameError(what, name, known)
    return known[name]


class FakeServed:
    """The part of a supervisor and its reloader that the control socket uses."""

    def __init__(self, loop: Loop, names: tuple[str, ...] = ("alpha", "beta")) -> None:
        self.loop = loop
        self.panels = None
        self.extensions = [FakeExtension(name) for name in names]
        self.skipped: list[SkippedExtension] = []
        self.sampler = self
        self.sampled_at = -1000.0
        self.samples = 0
        self.restarted: list[str] = []
        self.reloads: list[tuple[str | None, Any]] = []
        self.told: list[frames.Event] = []
        self.asked: list[FakeAsked] = []
        self.contexts: list[TraceContext | None] = []
        """The span of each call."""
        self.registrations = self.guards = self
        self.on_change: list[Callable[[], None]] = []
        self.on_start_over: list[Callable[[], None]] = []
        self.is_settled = True
        self.stats_file = None
        self.padding = ""

    def sample(self) -> None:
        self.samples += 1
        self.sampled_at = self.loop.clock()

    def stats(self) -> dict[str, ExtensionStats]:
        return {extension.name: extension_stats(failure=self.padding) for extension in self.extensions}

    def snapshot(self, kind: Any, version: str, cwd: str) -> Stats:
        return Stats(time.time(), host_stats(kind=kind, version=version, cwd=cwd), self.stats())

    def instructions(self) -> str:
        return "\nThe extension alpha says of its tools:\nknock first\n"

    def tools(self) -> dict[str, OwnedFake]:
        return {"echo": OwnedFake(self.extensions[0], tool=FakeTool("echo"))}

    def tool(self, name: str) -> OwnedFake:
        return _named(name, "tool", self.tools())

    def command(self, name: str) -> OwnedFake:
        return _named(name, "command", self.commands())

    def commands(self) -> dict[str, OwnedFake]:
        return {"hello": OwnedFake(self.extensions[1], command=FakeTool("hello", "Greets."))}

    def find(self, name: str) -> FakeExtension:
        return _named(name, "extension", {extension.name: extension for extension in self.extensions})

    def restart(self, name: str) -> None:
        self.restarted.append(self.find(name).name)

    def begin(self, name: str | None, done: Any) -> None:
        if name is not None and name not in [extension.name for extension in self.extensions]:
            done(())
            return
        self.reloads.append((name, done))

    def tell(self, event: frames.Event) -> None:
        self.told.append(event)

    def begin_call(
        self, owned: OwnedFake, args: bytes, done: Any, on_progress: Any = None, context: TraceContext | None = None
    ) -> FakeAsked:
        self.contexts.append(context)
        return self._begin(("call", owned.tool.name, json.loads(args)), done)

    def begin_command(self, owned: OwnedFake, args: str, done: Any) -> FakeAsked:
        return self._begin(("command", owned.command.name, args), done)

    def begin_intercept(self, event: frames.Event, done: Any) -> FakeAsked:
        return self._begin(("intercept", event), done)

    def _begin(self, what: tuple[Any, ...], done: Any) -> FakeAsked:
        asked = FakeAsked(what, done)
        self.asked.append(asked)
        return asked

    def allow_all(self) -> None:
        for asked in self.asked:
            asked.done(UNTOUCHED)


class Serving:
    """A control server on a loop of its own. Closed at the end of the `with` block."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.skew = 0.0
        """Seconds that the loop's clock is ahead."""
        self.loop = Loop(lambda: time.monotonic() + self.skew)
        self.stops = 0
        self.served = FakeServed(self.loop)
        self.server = ControlServer(
            self.loop,
            self.served,
            self.served,
            runtime_dir=folder,
            on_stop=self._on_stop,
            **{"kind": "host", "version": "1.0", "cwd": "/project", **options},
        )
        self._peers: list[Peer] = []

    def _on_stop(self) -> None:
        self.stops += 1

    def __enter__(self) -> Self:
        assert self.server.start() is None
        return self

    def __exit__(self, *_: object) -> None:
        for peer in self._peers:
            peer.close()
        self.server.close()
        self.loop.close()

    def client(self) -> Peer:
        peer = Peer(self)
        self._peers.append(peer)
        return peer

    def until(self, predicate: Callable[[], Any], poll_s: float | None = None) -> None:
        """Runs the loop; with `poll_s` it wakes up so often for what it does not watch."""

        def tick() -> None:
            self.loop.call_later(poll_s or 0.0, tick)

        if poll_s is not None:
            tick()
        assert self.loop.run_until(lambda: bool(predicate()), self.loop.clock() + PATIENCE_S), "it did not come about"


class Peer:
    """One client. Its waits run the server's loop."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._taken = b""
        self.ended = False
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(serving.server.path))
        self.socket.setblocking(False)

    def say(self, *requests: dict[str, Any]) -> None:
        self.write(b"".join(json.dumps(request).encode() + b"\n" for request in requests))

    def write(self, data: bytes) -> None:
        """Writes all of it, and runs the loop while the server has to read first. Ends early if the server closes."""
        left = memoryview(data)
        deadline = time.monotonic() + PATIENCE_S
        while left and time.monotonic() < deadline:
            try:
                left = left[self.socket.send(left) :]
            except BlockingIOError:
                self._serving.loop.run_until(lambda: False, self._serving.loop.clock())
            except OSError:
                return
        assert not left

    def replies(self, count: int) -> list[dict[str, Any]]:
        """The next `count` lines, decoded."""
        self._serving.until(lambda: self._pull() >= count or self.ended)
        *lines, self._taken = self._taken.split(b"\n", count)
        assert len(lines) == count, (lines, self._taken)
        return [json.loads(line) for line in lines]

    def ask(self, **request: Any) -> dict[str, Any]:
        self.say(request)
        return self.replies(1)[0]

    def _pull(self) -> int:
        """Whole lines that are there."""
        try:
            while data := self.socket.recv(1 << 20):
                self._taken += data
            self.ended = True
        except BlockingIOError:
            pass
        except OSError:
            self.ended = True
        return self._taken.count(b"\n")

    def wait_for_end(self) -> None:
        self._serving.until(lambda: self._pull() < 0 or self.ended)

    def close(self) -> None:
        self.socket.close()


def host_stats(**fields: Any) -> HostStats:
    return HostStats(
        **{
            "pid": 1,
            "kind": "host",
            "version": "1.0",
            "cwd": "/project",
            "started": 0.0,
            "uptime_s": 1.0,
            "cpu_percent": 0.0,
            "cpu_s": 0.0,
            "rss_bytes": 1,
            "open_files": 3,
            "wakeups": 0,
            "samples": 0,
            "sampling_cpu_s": 0.0,
            "sampling_interval_s": 1.0,
            **fields,
        }
    )


def extension_stats(**fields: Any) -> ExtensionStats:
    zeros: dict[str, Any] = dict.fromkeys(ExtensionStats.__struct_fields__, 0)
    return ExtensionStats(
        **{
            **zeros,
            "state": "ready",
            "failure": "",
            "pids": (4242,),
            "workers": 1,
            "uptime_s": 1.0,
            "exit_status": None,
            "open_files": 5,
            "p50_ms": None,
            "p99_ms": None,
            "latency_ms": (),
            "in_client": False,
            "alarms": (),
            "mode": None,
            "sessions": (),
            "other_sessions": None,
            "hosted": None,
            "limits": {},
            **fields,
        }
    )
