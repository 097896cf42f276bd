"""Prompts of an engine whose model writes extensions, in this process, with real processes of extensions."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from agent.abort import Abort
from agent.transcript import text_of
from supervisor.discovery.discover import read_manifest
from supervisor.discovery.trust_store import TrustStore
from tests.support.host import PRELUDE
from tests.support.scripted_engine import engine_of
from tests.support.scripted_model import says

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from agent.engine.engine import Engine

SERVES = """
open(os.path.join({marks!r}, {name!r} + "-" + {version!r}), "w").close()
hello({tool!r}, intercept={intercept!r})
send(type="ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"], block="forbidden" in str(frame), reason={version!r})
    else:
        result(frame, {version!r})
"""


class Project:
    """A project, its user's home, and runs in it."""

    def __init__(self, folder: Path) -> None:
        self.cwd, self.home, self.marks = folder / "project", folder / "home", folder / "marks"
        self.extensions = self.cwd / ".zot" / "extensions"
        for made in (self.extensions, self.home, self.marks):
            made.mkdir(parents=True)
        self.records: list[Any] = []

    def program(self, name: str, version: str = "v1", *, guards: bool = False, tool: str = "") -> str:
        """The source of one that leaves a mark when it runs."""
        return PRELUDE + SERVES.format(
            marks=str(self.marks), name=name, version=version, tool=tool or name,
            intercept=["tool_call"] if guards else [],
        )  # fmt: skip

    def put(self, name: str, *, trusted: bool = False, guards: bool = False, **manifest: Any) -> Path:
        folder = self.extensions / name
        folder.mkdir()
        (folder / "x.py").write_text(self.program(name, guards=guards))
        fields = {"name": name, "exec": sys.executable, "args": ["-I", "-S", "x.py"], **manifest}
        (folder / "extension.json").write_text(json.dumps(fields))
        if trusted:
            self.trust(name)
        return folder

    def trust(self, name: str) -> None:
        folder = self.extensions / name
        TrustStore(self.home).trust(folder, read_manifest(folder))

    def ran(self) -> set[str]:
        return {path.name for path in self.marks.iterdir()}

    def engine(self, *replies: Any, **options: Any) -> AbstractContextManager[Engine]:
        given = {"copilot": True, **options}
        return engine_of(*replies, cwd=self.cwd, home=self.home, records=self.records, **given)

    def results(self, *steps: Any, **options: Any) -> list[str]:
        """Runs one prompt whose turns make these calls; returns their results. A step is a tool with its arguments, or
        a function that does something before the next one."""
        replies: list[Any] = []
        before: list[Callable[[], Any]] = []
        for step in steps:
            if callable(step):
                before.append(step)
                continue
            name, args = (step, {}) if isinstance(step, str) else step
            reply = says("", (f"t{len(replies)}", name, args))
            replies.append(after(before, reply))
            before = []
        with self.engine(*replies, after(before, says("done")), **options) as engine:
            assert engine.prompt("go", Abort()).text == "done"
            self.asked = engine._provided.provider.asked
            messages = engine.conversation.transcript
        return [text_of(block.content) for message in messages if message.role == "tool" for block in message.content]


def after(before: list[Callable[[], Any]], reply: Any) -> Callable[[], Any]:
    def now() -> Any:
        for each in before:
            each()
        return reply

    return now
