"""The trace of a batch: one for all its runs, which add their falls. Its tasks are in the journal. And the events of
the batch: those of its runs come through its inbox, so that one rule is told of all at most once a second."""

from __future__ import annotations

import os
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

from agent.engine.run_trace import FIELDS
from agent.options import RunRequest
from supervisor.home.config import Config, ConfigError, load_config
from supervisor.home.runtime_dir import ALERTS_SUFFIX, runtime_dir, socket_of
from supervisor.traces.kept_flags import kept_flags, kept_parameters
from supervisor.traces.trace_file import TraceFile, trace_header
from wire import stats

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from agent.batch.batch_spans import BatchSpans
    from agent.batch.request import BatchRequest
    from supervisor.alerts.alerts import Alerts
    from supervisor.alerts.inbox import Inbox
    from supervisor.loop.loop import Loop
    from wire.batch.records import AnyRecord, BatchEnd


class BatchTrace:
    """The trace of one start of a batch, if it keeps one, and its events, if the user's config has rules for them."""

    def __init__(
        self, loop: Loop, request: BatchRequest, home: Path, folder: Path, version: str, say: Callable[[str], None]
    ) -> None:
        try:
            self._config = load_config(home)
        except ConfigError:
            self._config = Config()  # each run says why it cannot start
        self._loop, self._say, self._folder = loop, say, folder
        self._cwd = request.run.cwd or os.getcwd()
        self._trace = self._make_trace(request, home, version) if request.run.trace else None
        self._runtime_dir = runtime_dir(home)
        self.spans = self._make_spans(request, version) if request.run.otel else None
        self._alerts: Alerts | None = None
        self._inbox: Inbox | None = None

    def _make_spans(self, request: BatchRequest, version: str) -> BatchSpans:
        from agent.batch.batch_spans import BatchSpans  # other batches do not load it

        return BatchSpans(self._loop, request, version, self._say)

    def exporting(self) -> AbstractContextManager[None]:
        """The time in which its spans are exported, if it has any."""
        return nullcontext() if self.spans is None else self.spans

    def following(self, tell: Callable[[AnyRecord], None]) -> Callable[[AnyRecord], None]:
        """`tell`, preceded by the spans."""
        return tell if self.spans is None else self.spans.following(tell)

    def _make_trace(self, request: BatchRequest, home: Path, version: str) -> TraceFile:
        run = request.run
        given = kept_flags(FIELDS, run, RunRequest())
        own = (name for name in request.__struct_fields__ if name not in ("folder", "run"))
        given |= kept_parameters({name: getattr(request, name) for name in own})
        header = trace_header("batch", version, self._cwd, given, model=run.model or "", folder=str(self._folder))
        return TraceFile(home, self._config.runs.keep, self._say, header)

    @property
    def path(self) -> str:
        """The path of its file; "" if it keeps none."""
        return "" if self._trace is None else str(self._trace.path)

    @property
    def inbox(self) -> str:
        """The pipe for the events of its runs; "" without rules for events."""
        return str(socket_of(self._runtime_dir, os.getpid(), ALERTS_SUFFIX)) if self._config.on_event else ""

    def begin(self) -> None:
        """Writes the first line. To be called when the folder of the batch is open, before the first run."""
        if self._trace is not None:
            self._trace.begin()
        if self._config.on_event:
            self._begin_alerts()

    def _begin_alerts(self) -> None:
        from supervisor.alerts.alerts import Alerts, EventOrigin  # other batches do not load it
        from supervisor.alerts.courier import Courier
        from supervisor.alerts.inbox import Inbox

        origin = EventOrigin("batch", self._cwd, "" if self._trace is None else self._trace.id)
        courier = Courier(self._loop, self._config, self._say)
        self._alerts = Alerts(self._loop, self._config, origin, courier)
        try:
            self._inbox = Inbox(self._loop, self._runtime_dir, courier.send)
        except OSError as error:
            self._say(f"on_event: events of the runs are not told: {error.strerror or error}")

    def close(self, end: BatchEnd) -> None:
        """Writes the end of the batch, as that of a run, and tells of it. Its steps are its tasks."""
        used = end.usage
        if self._trace is not None:
            self._trace.close(
                stats.Run(
                    time.time(), "", "", "", end.tasks, used.input, used.output, used.cache_read, used.cache_write,
                    end.cost_usd, end.reason, end.exit_code,
                )
            )  # fmt: skip
        if self._inbox is not None:
            self._inbox.close()
        if self._alerts is not None:
            self._alerts.batch_ended(str(self._folder), end.reason, end.statuses, end.exit_code, end.cost_usd)
            self._alerts.close()
