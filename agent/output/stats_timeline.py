"""Writes the timeline of a run to its stats file: turns, tool calls, notices of extensions, and what the agent uses."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.transcript import Text
from supervisor.loop.loop import Timestamp
from wire import events, stats

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent.transcript import ToolResult
    from supervisor.extension.extension import Extension
    from supervisor.extension.notices import NoticeKind
    from supervisor.monitoring.stats_file import StatsFile
    from supervisor.supervisor import Supervisor

DETAIL_LENGTH = 200
"""The most characters of an error that are written."""


class Timeline:
    """Writes turns, tool calls and notices. Does nothing without a stats or metrics file. Raises `StatsFileError` for a
    file that cannot be written."""

    def __init__(
        self,
        supervisor: Supervisor,
        *,
        version: str,
        cwd: str,
        stats_file: Path | None,
        metrics_file: Path | None,
        openmetrics: bool,
        on_error: Callable[[str], None],
    ) -> None:
        self._recording: StatsFile | None = None
        self._turn = (0, Timestamp.now())  # number and start of the current turn
        self._run = stats.Run(0.0, "", "", "", 0, 0, 0, 0, 0, None)
        if stats_file is not None or metrics_file is not None:
            self._recording = supervisor.write_stats(
                "run",
                version,
                cwd,
                stats_file=stats_file,
                metrics_file=metrics_file,
                openmetrics=openmetrics,
                on_error=on_error,
            )

    def seen(self, record: events.Record) -> None:
        """Takes each record that the reader gets."""
        if self._recording is None:
            return
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
        if self._recording is not None:
            self._recording.run(replace(self._run, time=time.time()))

    def tool_ran(self, tool: str, extension: str, began: Timestamp, result: ToolResult) -> None:
        if self._recording is not None:
            detail = ""
            if result.is_error:
                detail = " ".join(part.text for part in result.content if isinstance(part, Text))[:DETAIL_LENGTH]
            self._recording.mark("tool_call", tool, extension, began, detail=detail)

    def notice(self, extension: Extension, kind: NoticeKind, message: str) -> None:
        if self._recording is not None:
            self._recording.notice(extension, kind, message)

    def close(self, result: events.Result) -> None:
        """Writes how the run ended, and the last figures."""
        if self._recording is not None:
            self._count(result.usage)
            ending = {"steps": result.steps, "status": result.status, "exit_code": result.exit_code}
            self._run = replace(self._run, **ending, reason=result.reason[:DETAIL_LENGTH])
            self._write_run()
            self._recording.close()
            self._recording = None
