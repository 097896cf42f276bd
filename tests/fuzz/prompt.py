"""One prompt of a whole run, with a model that says what it is given. No tool is on, since a faulty reply could call it
with any arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest import mock

from agent.abort import Abort
from agent.options import Options
from agent.output.event_writer import EventWriter
from agent.run.conversation import Conversation
from agent.run.run import Run
from agent.sessions.file import SessionFile
from agent.sessions.rows import Meta
from agent.tools.toolbox import Toolbox
from supervisor.supervisor import Supervisor
from wire import events
from wire.dialects.base import HostInfo

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from agent.model.provider import Provider
    from agent.run.turn.turn import PromptEnd
    from supervisor.loop.loop import Loop

STEPS = 3
"""Most turns of one prompt: so often the model says the same."""


def prompt(loop: Loop, provider: Provider, folder: Path, *, session: bool = False) -> PromptEnd:
    """Carries out a prompt, and encodes all records that readers get."""
    abort = Abort()
    supervisor = Supervisor(loop, host=HostInfo("1", "fuzz", "none", str(folder)), logs=folder / "logs")
    writer = EventWriter(loop, abort, lambda record: sink(events.encode(record)))
    writer._open = True
    toolbox = Toolbox(loop, supervisor, cwd=str(folder), enabled=(), on_progress=lambda _call, _text: None)
    kept = SessionFile.new(folder, Meta(cwd=str(folder), provider="fuzz", model="m", version="1")) if session else None
    run = Run(
        Options(cwd=str(folder), home=folder, model="m", reply_tokens=100, system="s", max_steps=STEPS),
        supervisor=supervisor, provider=provider, toolbox=toolbox, event_writer=writer, conversation=Conversation(kept),
        abort=abort,
    )  # fmt: skip
    try:
        return run.prompt("go")
    finally:
        if kept is not None:
            kept.close()
            kept.path.unlink(missing_ok=True)


def sink(line: bytes) -> None:
    """Readers of the stream read lines: each is one record."""
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    events.decode(line)


def without_fsync() -> AbstractContextManager[Any]:
    """In this block nothing waits for the disk."""
    return mock.patch("os.fsync", _at_once)


def _at_once(_fd: int) -> None:
    """A Mock would remember each call."""
