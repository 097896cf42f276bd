"""The runs that have ended, for `zot ps -a`."""

from __future__ import annotations

import time
from itertools import islice

from cli.hosts.ps import EndedRun
from cli.runs.cells import NOTHING, fallen, record, took
from cli.terminal import complain, terminal_text
from supervisor.home.zot_home import zot_home
from supervisor.traces.trace_reader import RUNNING, read_traces

SHOWN = 20


def ended_runs() -> list[EndedRun]:
    """The last `SHOWN` runs that have ended or were killed, the newest first."""
    now = time.time()
    found = (run for run in read_traces(zot_home(), lambda line: complain("ps", line)) if run.outcome != RUNNING)
    return [
        EndedRun(
            (
                str(run.header.pid), run.header.kind, took(run, now), NOTHING, NOTHING,
                f"fell: {fallen(run)}" if run.falls else NOTHING, terminal_text(run.outcome, 40),
                terminal_text(run.header.folder or run.header.cwd),
            ),
            record(run),
        )
        for run in islice(found, SHOWN)
    ]  # fmt: skip
