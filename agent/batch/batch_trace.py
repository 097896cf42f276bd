"""The trace of a batch: one for all its runs, which add their falls. Its tasks are in the journal."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from agent.engine.run_trace import FIELDS
from agent.options import RunRequest
from supervisor.home.config import ConfigError, Keep, load_config
from supervisor.traces.kept_flags import kept_flags, kept_parameters
from supervisor.traces.trace_file import TraceFile, trace_header
from wire import stats

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent.batch.request import BatchRequest
    from wire.batch.records import BatchEnd


class BatchTrace:
    """The trace of one start of a batch, if it keeps one."""

    def __init__(
        self, request: BatchRequest, home: Path, folder: Path, version: str, say: Callable[[str], None]
    ) -> None:
        self._trace: TraceFile | None = None
        run = request.run
        if not run.trace:
            return
        try:
            keep = load_config(home).runs.keep
        except ConfigError:
            keep = Keep()  # each run says why it cannot start
        given = kept_flags(FIELDS, run, RunRequest())
        own = (name for name in request.__struct_fields__ if name not in ("folder", "run"))
        given |= kept_parameters({name: getattr(request, name) for name in own})
        header = trace_header(
            "batch", version, run.cwd or os.getcwd(), given, model=run.model or "", folder=str(folder)
        )
        self._trace = TraceFile(home, keep, say, header)

    @property
    def path(self) -> str:
        """The path of its file; "" if it keeps none."""
        return "" if self._trace is None else str(self._trace.path)

    def begin(self) -> None:
        """Writes the first line. To be called when the folder of the batch is open."""
        if self._trace is not None:
            self._trace.begin()

    def close(self, end: BatchEnd) -> None:
        """Writes the end of the batch, as that of a run. Its steps are its tasks."""
        if self._trace is None:
            return
        used = end.usage
        self._trace.close(
            stats.Run(
                time.time(), "", "", "", end.tasks, used.input, used.output, used.cache_read, used.cache_write,
                end.cost_usd, end.reason, end.exit_code,
            )
        )  # fmt: skip
