"""Makes the status of one extension: its state and why, what it uses of its limits, and what it is asked now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.accounting.limits import limits_used
from supervisor.monitoring import stats
from wire.control import ExtensionStatus, LimitUse, PendingRequest
from wire.text import valid_text

if TYPE_CHECKING:
    from supervisor.extension.extension import Extension
    from supervisor.loop.future import Pending

PENDING_LIMIT = 100


def status_of(extension: Extension, now: float, wall: float) -> ExtensionStatus:
    """The status of one extension; the use is that of the last sample. `now` is on the loop's clock, `wall` the same
    moment in seconds since the epoch."""
    found, manifest, state = extension.found, extension.manifest, extension.state
    running = [worker for worker in extension.all_workers if worker.is_running]
    since = min(worker.state_since for worker in extension.workers if worker.state is state)
    asked = [(pending, worker.pid) for worker in running for pending in worker.requests.pending.values()]
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
        limits=tuple(
            LimitUse(*each) for each in limits_used(extension.limits, [worker.usage.reading for worker in running])
        ),
        limit_action=extension.limits.action or "restart",
        pending_requests=tuple(_pending_request(pending, pid, now) for pending, pid in asked[:PENDING_LIMIT]),
        tools=tuple(extension.tools),
        commands=tuple(extension.commands),
        guards=tuple(sorted(extension.guards)),
        observes=tuple(sorted(extension.observes)),
        folder=valid_text(str(found.place)),
        log=valid_text(str(extension.log.path)),
        log_trouble=extension.log.error or "",
        mcp_file=None if found.mcp_file is None else valid_text(str(found.mcp_file)),
        mcp_entry=None if found.mcp_entry is None else valid_text(found.mcp_entry.key),
    )


def _pending_request(pending: Pending, pid: int | None, now: float) -> PendingRequest:
    age_s = round(now - pending.asked_at, 3)
    if pending.what is None:
        return PendingRequest("verdict", "", pid, age_s)
    if pending.what.startswith("/"):
        return PendingRequest("command", pending.what[1:], pid, age_s)
    return PendingRequest("tool", pending.what, pid, age_s)
