"""An extension whose files a test writes in one version after another, and reloads."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from supervisor.discovery.found_extension import FoundExtension, Scope
from tests.support.host import ONCE, PRELUDE, QUICK, Host
from wire.manifest import parse_manifest

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.extension.extension import Extension
    from wire.control import ReloadOutcome


SERVES = """
for frame in frames():
    if frame["type"] == "tool_call" and frame["name"] == "hold":
        held = frame
        open(%(marks)r + ".held", "w").close()
    elif frame["type"] == "tool_call" and frame["name"] == "free":
        result(frame, VERSION)
    elif frame["type"] == "tool_call":
        result(frame, json.dumps({"version": VERSION, "pid": os.getpid(), "seen": seen}))
    elif frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"], block=True, reason=VERSION)
    elif frame["type"] == "event":
        seen.append(frame["event"])
        if frame["event"] == "turn_end":
            result(held, VERSION)
"""


class Folder:
    """An extension's folder, of which a test writes one version after another."""

    def __init__(self, host: Host, name: str = "one", **manifest: Any) -> None:
        self.host = host
        self.name = name
        self.path = host.folder / f"ext-{name}"
        self.path.mkdir()
        self.marks = host.folder / name
        self.manifest = manifest
        self.version("v1")
        host.found.append(FoundExtension(self.path, parse_manifest(self.text()), Scope.EXPLICIT, len(host.found)))

    def text(self) -> bytes:
        fields = {"name": self.name, "exec": sys.executable, "args": ["-I", "-S", str(self.path / "x.py")]}
        fields |= {"timeouts": QUICK, "restart": ONCE, **self.manifest}
        return json.dumps(fields).encode()

    def version(self, version: str, *, tools: tuple[str, ...] = ("who", "hold"), **manifest: Any) -> None:
        """Writes a version that answers with its name, has these tools and guards tool calls."""
        self.code(
            f"VERSION, seen, held = {version!r}, [], None\n"
            f"hello(*{tools!r}, intercept=['tool_call'], events=['session_start', 'turn_start', 'turn_end'])\n"
            "send(type='ready')\n" + SERVES % {"marks": str(self.marks)},
            **manifest,
        )

    def code(self, code: str, **manifest: Any) -> None:
        self.manifest |= manifest
        for name, content in (("x.py", (PRELUDE + code).encode()), ("extension.json", self.text())):
            whole = self.path.parent / "whole"  # a process that starts meanwhile must not read a part
            whole.write_bytes(content)
            whole.replace(self.path / name)

    @property
    def extension(self) -> Extension:
        return self.host.extension(self.name)

    def reload(self) -> ReloadOutcome:
        (outcome,) = reload(self.host, self.name)
        return outcome

    def says(self, tool: str = "who") -> dict[str, Any]:
        return json.loads(self.host.text(tool))


def reload(host: Host, name: str | None = None) -> tuple[ReloadOutcome, ...]:
    """Reloads, and waits for the outcomes."""
    got: list[tuple[ReloadOutcome, ...]] = []
    host.reloader.begin(name, got.append)
    assert not got, "never from within the call"
    host.until(lambda: got)
    return got[0]


def lone(host: Host, extension: Extension) -> None:
    """Waits until only the present version is left."""
    host.until(lambda: len(extension.generations) == 1)


SLOWLY = """
open(%r, "w").close()
while not os.path.exists(%r): time.sleep(0.001)
VERSION, seen, held = "v2", [], None
hello("who", intercept=["tool_call"])
send(type="ready")
"""


def slowly(host: Host, folder: Folder) -> tuple[Path, list[tuple[ReloadOutcome, ...]]]:
    """A reload whose new version waits until there is a file."""
    gate, begun = host.folder / "gate", host.folder / "begun"
    folder.code(SLOWLY % (str(begun), str(gate)) + SERVES % {"marks": str(folder.marks)})
    got: list[tuple[ReloadOutcome, ...]] = []
    host.reloader.begin("one", got.append)
    host.until(begun.exists)
    return gate, got
