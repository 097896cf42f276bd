"""Has a supervisor write its figures to files while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.monitoring.stats_file import StatsFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from supervisor.supervisor import Supervisor
    from wire.stats import HostKind


def write_stats(
    supervisor: Supervisor, kind: HostKind, version: str, cwd: str, *, stats_file: Path | None,
    metrics_file: Path | None, stats_interval_s: float | None = None, openmetrics: bool = False,
    on_error: Callable[[str], None],
) -> StatsFile:  # fmt: skip
    """Writes the figures to these files from now on; `stats_interval_s` None: 1 s for a run, 10 s for a host. The
    caller closes the returned object after the supervisor's `stop`. `on_error` gets a line for the user. Raises
    `StatsFileError`."""
    written = StatsFile(
        supervisor.loop, lambda: supervisor.snapshot(kind, version, cwd), stats_file=stats_file,
        interval_s=stats_interval_s, metrics_file=metrics_file, openmetrics=openmetrics, on_error=on_error,
        extensions=supervisor.extensions,
    )  # fmt: skip
    supervisor.on_sample.append(lambda: written.sampled(is_last=supervisor.closed))
    if stats_file is not None:
        supervisor.stats_file = written
        supervisor.verdicts.on_judged.append(
            lambda judged: written.mark(
                "intercept", judged.event.event, judged.judgement.blocked_by or "", judged.began,
                detail=judged.judgement.explanation,
            )
        )  # fmt: skip
    return written
