"""Hosts one after another that keep the registrations of their extensions: the first starts them, later ones do not."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.extension.lifecycle import WorkerState
from tests.support.extension_folder import CHILDREN
from tests.support.host import ONCE, QUICK, Host, source
from wire.manifest import parse_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EVERYTHING = """
import os
with open(BOOK, "a") as book:
    print("start", file=book)
SEEN = ["session_start", "turn_start", "session_end"]
hello("echo", "die", "slow", intercept=["tool_call"] if GUARDS else [], events=SEEN)
send(type="register_command", name="hi", description="Says hi.")
send(type="ready")
for frame in frames():
    with open(BOOK, "a") as book:
        print(frame.get("event") or frame.get("name") or frame["type"], file=book)
    if frame["type"] == "tool_call":
        if frame["name"] == "die":
            os._exit(7)
        result(frame, frame["args"].get("text", ""))
    elif frame["type"] == "command_invoked":
        send(type="command_response", id=frame["id"], action="display", display="hi")
    elif frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"], block=True, reason="no")
"""
"""Has tools, a command and subscriptions, and writes into a book what it gets."""


class LazyPlace:
    """A folder with lazy extensions, and the registrations that hosts keep there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.book = folder / "book"
        self.kept = folder / "registrations"
        self.found: list[FoundExtension] = []
        self._hosts = 0

    def write(self, name: str, code: str, **manifest: Any) -> None:
        """Adds a lazy extension with this source."""
        script = self.folder / f"{name}.py"
        script.write_text(source(f"BOOK = {str(self.book)!r}\nGUARDS = {bool(manifest.pop('guards', False))}\n{code}"))
        self.add(name, [sys.executable, "-I", "-S", str(script)], **manifest)

    def add(self, name: str, argv: list[str], *, as_server: bool = False, **manifest: Any) -> None:
        """Adds a lazy extension with this command, `as_server` as if an entry of an MCP file had started it."""
        fields = {"timeouts": {}, "restart": ONCE, "start": "lazy", **manifest}
        fields = {"name": name, "exec": argv[0], "args": argv[1:], **fields}
        fields["timeouts"] = {**QUICK, **fields["timeouts"]}
        parsed = parse_manifest(json.dumps(fields).encode())
        file = self.folder / "mcp.json" if as_server else None
        self.found.append(FoundExtension(CHILDREN, parsed, Scope.EXPLICIT, len(self.found), mcp_file=file))

    @contextmanager
    def host(self, **options: Any) -> Iterator[Host]:
        """A host that has started them, and has begun its session. Its logs are in a folder of their own."""
        self._hosts += 1
        folder = self.folder / f"host{self._hosts}"
        folder.mkdir()
        with Host(folder, registrations_folder=self.kept, **options) as host:
            host.found += self.found
            host.start()
            host.supervisor.observers.begin_session()
            yield host

    def learn(self) -> None:
        """Starts them once, so that their registrations are kept."""
        with self.host() as host:
            names = [each.manifest.name for each in self.found]
            assert all(host.state(name) is WorkerState.READY for name in names)
            host.until(lambda: all(self.files(name) for name in names))
            host.stop()
        self.book.unlink(missing_ok=True)

    def files(self, name: str = "one") -> list[Path]:
        """The files of its registrations."""
        return list(self.kept.glob(f"{name}-*.json"))

    def told(self) -> list[str]:
        """The lines of the book."""
        return self.book.read_text().splitlines() if self.book.exists() else []
