"""The trace of a run of the agent: its first line, and its end."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from agent.options import RunRequest
from agent.run_flags import RunFlags
from supervisor.traces.black_boxes import BlackBoxes
from supervisor.traces.kept_flags import kept_flags
from supervisor.traces.trace_file import TraceFile, name_profiles, trace_header
from wire import stats
from wire.exit_codes import OWN_REASONS, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.engine.engine import Engine
    from agent.options import Options
    from wire import events

FIELDS = tuple(name for name in RunFlags.__struct_fields__ if name not in ("cwd", "model", "trace"))
"""The flags that a trace keeps: the header has the folder and the model that they lead to."""


def open_trace(options: Options, engine: Engine, version: str, say: Callable[[str], None]) -> TraceFile | None:
    """Begins the trace of a run; None if it is to have none. A run of a batch adds its falls to that of the batch."""
    profiles = engine.supervisor.stall_profiles
    if not options.trace:
        name_profiles(profiles, options.home, None, always=options.profile_on_stall)
        return None
    header, path = None, None
    if options.batch_trace is not None:
        path = Path(options.batch_trace)
    else:
        flags = kept_flags(FIELDS, options, RunRequest())
        header = trace_header(
            "run", version, options.cwd, flags,
            session=engine.session.id, provider=engine.provider_name, model=engine.model,
        )  # fmt: skip
    trace = TraceFile(options.home, options.config.runs.keep, say, header, path)
    if path is not None and options.keeper is not None:
        trace.where = f"task {options.keeper.task}, process {os.getpid()}"
    trace.begin()
    boxes = BlackBoxes(trace, options.config, version, engine.supervisor.loop.clock)
    engine.supervisor.on_fall += [trace.fell, boxes.fell]
    name_profiles(profiles, options.home, trace, always=options.profile_on_stall)
    trace.skipped = lambda: engine.supervisor.skipped
    trace.figures = lambda: engine.supervisor.snapshot("run", version, options.cwd)
    return trace


def last_line(result: events.Result, provider: str, model: str) -> stats.Run:
    """The end of a run, without any text but the host's own."""
    used = result.usage
    return stats.Run(
        time.time(), result.session, provider, model, result.steps, used.input, used.output, used.cache_read,
        used.cache_write, used.cost_usd, result.status, result.exit_code,
        result.reason if Status(result.status) in OWN_REASONS else "",
    )  # fmt: skip
