"""Makes the stats records of a host and its extensions."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from supervisor.accounting.limits import limits_set
from supervisor.monitoring.sharing_figures import UNSHARED
from supervisor.process.table import count_open_files, read_process
from wire.stats import ExtensionStats, HostStats

if TYPE_CHECKING:
    from supervisor.extension.extension import Extension
    from supervisor.loop.loop import Loop
    from supervisor.monitoring.sampler import Sampler
    from supervisor.monitoring.sharing_figures import Sharing, SharingFigures
    from wire.stats import HostKind

RELOADING = "reloading"
"""The state of an extension that is up while a candidate starts."""


def of_extension(extension: Extension, now: float, sharing: SharingFigures = UNSHARED) -> ExtensionStats:
    """The stats of one extension; the use of resources is that of the last sample. `now` is on the loop's clock."""
    from supervisor.monitoring.alarms import alarms_of  # `supervisor.preload` has imported it

    account = extension.account
    running = [worker for worker in extension.all_workers if worker.is_running]
    up = [worker.started_at for worker in extension.workers if worker.state.is_up and worker.is_running]
    usages = [worker.usage for worker in running]
    files = [usage.open_files for usage in usages if usage.open_files is not None]
    return ExtensionStats(
        state=RELOADING if extension.is_reloading and extension.is_up else extension.state.value,
        failure=extension.failure,
        pids=tuple(worker.pid for worker in running if worker.pid is not None),
        workers=len(extension.slots),
        uptime_s=round(now - min(up), 3) if up else None,
        cpu_percent=round(sum(usage.cpu_percent or 0.0 for usage in usages), 2),
        cpu_s=round(account.cpu_s, 3),
        rss_bytes=sum(usage.rss for usage in usages),
        rss_peak_bytes=account.rss_peak,
        processes=sum(usage.processes for usage in usages),
        threads=sum(usage.threads for usage in usages),
        open_files=sum(files) if files else None,
        pending=sum(len(worker.requests.pending) for worker in running),
        frames_in_per_s=round(sum(usage.frames_per_s or 0.0 for usage in usages), 2),
        frames_out_per_s=round(account.frames_out_per_s, 2),
        limit_breaches=account.limit_breaches,
        no_verdicts=account.no_verdicts,
        limits=limits_set(extension.limits),
        latency_ms=tuple((round(upper * 1000, 6), count) for upper, count in account.latency.buckets()),
        latency_sum_ms=round(account.latency.sum_s * 1000, 4),
        in_client=extension.found.link is not None and not extension.found.link.is_hosted,
        tools=len(extension.tools),
        definition_tokens=definition_tokens(extension),
        alarms=tuple(alarms_of(extension, now, time.time())),
        **account.counters(),
        **sharing._asdict(),
    )


def definition_tokens(extension: Extension) -> int:
    """Estimated tokens of the definitions of all its tools."""
    return sum(tool.tokens for tool in extension.offered)


def of_host(
    loop: Loop,
    sampler: Sampler,
    started: tuple[float, float],
    task: str,
    sharing: Sharing,
    *,
    kind: HostKind,
    version: str,
    cwd: str,
) -> HostStats:
    """The stats of the host. `started` is the host's start, on the loop's clock and in seconds since the epoch."""
    pid = os.getpid()
    process = read_process(pid)
    return HostStats(
        pid=pid,
        kind=kind,
        version=version,
        cwd=cwd,
        started=started[1],
        uptime_s=round(loop.clock() - started[0], 3),
        cpu_percent=round(sampler.host_cpu_percent, 2),
        cpu_s=round(time.process_time(), 3),
        rss_bytes=process.rss if process else 0,
        open_files=count_open_files(pid),
        wakeups=loop.passes,
        samples=sampler.samples,
        sampling_cpu_s=round(sampler.cpu_s, 4),
        sampling_interval_s=round(sampler.interval_s, 3),
        task=task,
        attached_runs=sharing.attached_runs,
        attached_to=sharing.attached_to,
    )
