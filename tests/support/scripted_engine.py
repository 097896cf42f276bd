"""An engine in this process, with a scripted model; its notices are dropped."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agent.abort import Abort
from agent.engine.engine import Engine
from agent.options import Options
from agent.output.event_writer import EventWriter
from agent.output.stderr_notices import StderrNotices
from supervisor.loop.loop import Loop
from tests.support.scripted_model import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent.sessions.choice import OpenedSession


@contextmanager
def engine_of(
    *replies: Any, cwd: Path, home: Path, records: list[Any], session: OpenedSession | None = None, **options: Any
) -> Iterator[Engine]:
    """An engine that has started and appends its records to `records`. `session`: the one that it resumes."""
    loop = Loop()
    event_writer = EventWriter(loop, Abort(), records.append)
    with open(os.devnull, "wb") as nowhere:
        notices = StderrNotices(loop, event_writer, stderr=nowhere.fileno())
        made = Engine(
            loop,
            Options(cwd=str(cwd), home=home, model="m", reply_tokens=100, system="s", **options),
            version="1",
            provider=ScriptedModel(*replies),
            event_writer=event_writer,
            notices=notices,
            on_show=event_writer.post_shown,
            owns_process=False,
            session=session,
        )
        try:
            assert made.start(Abort()) is None
            yield made
        finally:
            made.stop(at_once=False)
            made.close()
            notices.close()
            loop.close()
