"""Writes the timeline of a run with a stats or metrics file: turns, tool calls, notices of extensions, and the agent's
use of the model.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.transcript import Text
from supervisor.loop.loop import Timestamp
from wire import events, stats

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.transcript import ToolResult
    from supervisor.extension.extension import Extension
    from supervisor.extension.notices import NoticeKind
    from supervisor.monitoring.stats_file import StatsFile

DETAIL_LENGTH = 200
"""Maximum of an error in characters."""


class Timeline:
    """Writes turns, tool calls and notices to `recording`."""

    def __init__(self, recording: StatsFile) -> None:
        self._recording = recording
        self._turn = (0, Timestamp.now())  # number and start of the current turn
        self._run = stats.Run(0.0, "", "", "", 0, 0, 0, 0, 0, None)

    def seen(self, record: events.Record) -> None:
        """Takes each record of the run."""
        match record:
            case events.Session(id=session, provider=provider, model=model):
                self._run = replace(self._run, session=session, provider=provider, model=model)
                self._write_run()
            case events.Usage(cumulative=used):
                self._count(used)
                self._write_run()
            case events.TurnStart(step=step):
                self._turn = (step, Timestamp.now())
            case events.TurnEnd(stop=stop, error=error):
                step, began = self._turn
                detail = error if isinstance(error, str) else stop
                self._recording.mark("turn", str(step), "", began, detail=detail[:DETAIL_LENGTH])

    def _count(self, used: events.Totals) -> None:
        self._run = replace(
            self._run,
            steps=self._turn[0],
            input=used.input,
            output=used.output,
            cache_read=used.cache_read,
            cache_write=used.cache_write,
            cost_usd=used.cost_usd,
        )

    def _write_run(self) -> None:
        self._recording.run(replace(self._run, time=time.time()))

    def tool_begins(self, tool: str, extension: str) -> Callable[[ToolResult], None]:
        """Takes each tool call that begins. Returns the function that takes its result."""
        began = Timestamp.now()

        def ended(result: ToolResult) -> None:
            detail = ""
            if result.is_error:
                detail = " ".join(part.text for part in result.content if isinstance(part, Text))[:DETAIL_LENGTH]
            self._recording.mark("tool_call", tool, extension, began, detail=detail)

        return ended

    def notice(self, extension: Extension, kind: NoticeKind, message: str) -> None:
        """Takes each notice of an extension."""
        self._recording.notice(extension, kind, message)

    def close(self, result: events.Result) -> None:
        """Writes the end of the run and the last totals."""
        self._count(result.usage)
        ending = {"steps": result.steps, "status": result.status, "exit_code": result.exit_code}
        self._run = replace(self._run, **ending, reason=result.reason[:DETAIL_LENGTH])
        self._write_run()
        self._recording.close()
