"""Makes the status of one extension: its state and why, what it uses of its limits, and what it is asked now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.accounting.limits import MIB
from supervisor.monitoring import stats
from wire.control import ExtensionStatus, LimitUse, PendingRequest
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from supervisor.accounting.limits import Reading
    from supervisor.extension.extension import Extension
    from supervisor.loop.future import Pending
    from wire.manifest import Limits

PENDING_LIMIT = 100


def status_of(extension: Extension, now: float, wall: float) -> ExtensionStatus:
    """The status of one extension; the use is that of the last sample. `now` is on the loop's clock, `wall` the same
    moment in seconds since the epoch."""
    manifest, state = extension.manifest, extension.state
    running = [worker for worker in extension.all_workers if worker.is_running]
    since = min(worker.state_since for worker in extension.workers if worker.state is state)
    asked = [(pending, worker.pid) for worker in running for pending in worker.pending.values()]
    asked.sort(key=lambda one: one[0].asked_at)
    figures = stats.of_extension(extension, now)
    return ExtensionStatus(
        name=extension.name,
        version=manifest.version,
        state=figures.state,
        why=valid_text(extension.failure),
        since=wall - (now - since),
        restart_policy=manifest.restart.policy,
        on_failure="deny" if extension.denies_on_failure else "allow",
        required=manifest.required,
        stats=figures,
        limits=tuple(limits_used(extension.limits, [worker.usage.reading for worker in running])),
        limit_action=extension.limits.action or "restart",
        pending_requests=tuple(_pending_request(pending, pid, now) for pending, pid in asked[:PENDING_LIMIT]),
        tools=tuple(extension.tools),
        commands=tuple(extension.commands),
        guards=tuple(sorted(extension.guards)),
        observes=tuple(sorted(extension.observes)),
        folder=valid_text(str(extension.found.place)),
        log=valid_text(str(extension.log.path)),
        log_trouble=extension.log.error or "",
    )


def limits_used(limits: Limits, readings: Iterable[Reading]) -> Iterable[LimitUse]:
    """The limits on use that are set, each with the largest use among the workers. Pure."""
    readings = list(readings)
    measured: dict[str, list[float | None]] = {
        "rss_mb": [reading.rss / MIB for reading in readings],
        "cpu_percent": [reading.cpu_percent for reading in readings],
        "cpu_seconds": [reading.cpu_s for reading in readings],
        "processes": [float(reading.processes) for reading in readings],
        "open_files": [reading.open_files for reading in readings],
        "frames_per_s": [reading.frames_per_s for reading in readings],
    }
    for name, values in measured.items():
        allowed = getattr(limits, name)
        if allowed is not None:
            known = [value for value in values if value is not None]
            yield LimitUse(name, allowed, round(max(known), 2) if known else None)


def _pending_request(pending: Pending, pid: int | None, now: float) -> PendingRequest:
    age_s = round(now - pending.asked_at, 3)
    if pending.what is None:
        return PendingRequest("verdict", "", pid, age_s)
    if pending.what.startswith("/"):
        return PendingRequest("command", pending.what[1:], pid, age_s)
    return PendingRequest("tool", pending.what, pid, age_s)
