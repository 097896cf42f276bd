"""Prompts of an engine whose model writes extensions, in this process, with real processes of extensions."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agent.abort import Abort
from agent.engine.engine import Engine
from agent.options import Options
from agent.output.event_writer import EventWriter
from agent.output.stderr_notices import StderrNotices
from agent.transcript import text_of
from supervisor.discovery.discover import read_manifest
from supervisor.discovery.trust_store import TrustStore
from supervisor.loop.loop import Loop
from tests.support.host import PRELUDE
from tests.support.scripted_model import ScriptedModel, says

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

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

    @contextmanager
    def engine(self, *replies: Any, **options: Any) -> Iterator[Engine]:
        loop = Loop()
        event_writer = EventWriter(loop, Abort(), self.records.append)
        with open(os.devnull, "wb") as nowhere:
            notices = StderrNotices(loop, event_writer, stderr=nowhere.fileno())
            made = Engine(
                loop,
                Options(
                    cwd=str(self.cwd), home=self.home, model="m", reply_tokens=100, system="s",
                    **{"copilot": True, **options},
                ),
                version="1",
                provider=ScriptedModel(*replies),
                event_writer=event_writer,
                notices=notices,
                on_show=event_writer.post_shown,
                owns_process=False,
            )  # fmt: skip
            try:
                assert made.start(Abort()) is None
                yield made
            finally:
                made.stop(at_once=False)
                made.close()
                notices.close()
                loop.close()

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
