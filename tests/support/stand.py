"""A host whose extensions are in this process: a test says their lines, and the clock stands still between them."""

from __future__ import annotations

from pathlib import Path

from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.loop.link import Link
from supervisor.loop.loop import Loop
from tests.support.host import Host
from tests.support.scripted_dialect import NAME
from wire.manifest import Manifest, Restart, Timeouts


class Stand:
    """A host with one extension, whose lines the test says. `beside` adds another one."""

    def __init__(self, folder: Path, *, first: Stand | None = None, name: str = "desk", **options: object) -> None:
        """`options` are those of the supervisor."""
        self.now = 100.0
        self.name = name
        self._folder = folder
        if first is None:
            self.host = Host(folder, owns_process=False, loop=Loop(lambda: self.now), **options)
            self.host.supervisor.start([], {})
        else:
            self.host = first.host
        self._position = len(self.host.supervisor.extensions)
        self.sent: list[bytes] = []
        self.is_open, self.queued = True, 0
        self.stuck_since: float | None = None

    def beside(self, name: str) -> Stand:
        """Another extension of the same host, behind this one in the order of guards."""
        return Stand(self._folder, first=self, name=name)

    def connect(self, *lines: str, **more: object) -> None:
        fields = {"timeouts": Timeouts(hello=5, ready=3, tool_call=5), "restart": Restart("temporary"), **more}
        self.link = Link(self.name, self)
        manifest = Manifest(self.name, "-", dialect=NAME, **fields)
        found = FoundExtension(Path("/project"), manifest, Scope.PROGRAM, self._position, link=self.link)
        self.extension = self.host.supervisor.add(found)
        if lines:
            self.say(*lines)

    def say(self, *lines: str) -> None:
        """All these lines come at once."""
        self.passes()
        self.link.on_frames("".join(f"{line}\n" for line in lines).encode())
        self.passes()

    def passes(self) -> None:
        for _ in range(3):
            self.host.loop.run_until(lambda: False, self.host.loop.clock())

    def after(self, seconds: float) -> None:
        self.now += seconds
        self.passes()

    def take(self) -> bytes:
        sent = b"".join(self.sent)
        self.sent.clear()
        return sent

    def call(self, tool: str = "a") -> list:
        answers: list = []
        self.host.begin_call(tool, b"{}", answers.append)
        self.passes()
        return answers

    # The output of the link.
    def frame(self, _name: str, frame: bytes) -> None:
        self.sent.append(frame)

    def ended(self, _name: str, _reason: str) -> None: ...
