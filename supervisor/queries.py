"""The figures of a host and its extensions, as structs of the wire: one query for all surfaces that show them.

The control socket, the rpc server, the MCP server and the agent only rename and encode the answers. Figures are from a
sample that is at most `FRESH_S` old.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from supervisor.accounting.limits import limits_used
from supervisor.monitoring.stats import of_extension
from wire.control import CommandInfo, ExtensionStatus, LimitUse, PendingRequest, SkippedExtension, ToolInfo
from wire.text import valid_text

if TYPE_CHECKING:
    from supervisor.loop.future import Pending
    from supervisor.supervisor import Supervisor
    from wire.stats import ExtensionStats, HostKind, Stats

FRESH_S = 0.25
"""Seconds for which a sample is used again."""
PENDING_LIMIT = 100
"""Maximum number of pending requests in a status."""


def names(supervisor: Supervisor) -> tuple[str, ...]:
    """The extensions, in guard order."""
    return tuple(valid_text(extension.name) for extension in supervisor.extensions)


def skipped_extensions(supervisor: Supervisor) -> tuple[SkippedExtension, ...]:
    """Extensions that were found and not started, although the user may rely on them."""
    return tuple(
        SkippedExtension(
            valid_text(each.name),
            valid_text(str(each.folder)),
            valid_text(msgspec.structs.replace(each.why, advice="").text),
            each.why.is_waiting,
        )
        for each in supervisor.skipped
        if each.is_error and not each.is_of_others
    )


def tools(supervisor: Supervisor) -> tuple[ToolInfo, ...]:
    """The tools of the extensions that are up."""
    return tuple(
        ToolInfo(
            name,
            owned.tool.description,
            owned.tool.schema,
            valid_text(owned.owner.name),
            read_only=owned.tool.read_only,
            idempotent=owned.tool.retry,
            deferred=not owned.is_offered,
            output_schema=owned.tool.output_schema,
        )
        for name, owned in supervisor.registrations.tools().items()
    )


def commands(supervisor: Supervisor) -> tuple[CommandInfo, ...]:
    """The slash commands of the extensions that are up."""
    return tuple(
        CommandInfo(name, owned.command.description, valid_text(owned.owner.name))
        for name, owned in supervisor.registrations.commands().items()
    )


def stats(supervisor: Supervisor, kind: HostKind, version: str, cwd: str) -> Stats:
    """All figures of the host and its extensions."""
    _sample_if_old(supervisor)
    return supervisor.snapshot(kind, version, cwd)


def extension_stats(supervisor: Supervisor) -> dict[str, ExtensionStats]:
    """The figures of each extension, in guard order."""
    _sample_if_old(supervisor)
    return supervisor.stats()


def status(supervisor: Supervisor, name: str) -> ExtensionStatus:
    """The facts of one screen about an extension. Raises `UnknownNameError`."""
    extension = supervisor.find(name)
    _sample_if_old(supervisor)
    now = supervisor.loop.clock()
    found, manifest, state = extension.found, extension.manifest, extension.state
    running = [worker for worker in extension.all_workers if worker.is_running]
    since = min(worker.state_since for worker in extension.workers if worker.state is state)
    asked = [(pending, worker.pid) for worker in running for pending in worker.requests.pending.values()]
    asked.sort(key=lambda one: one[0].asked_at)
    figures = of_extension(extension, now, supervisor.sharing.figures(extension))
    return ExtensionStatus(
        name=extension.name,
        version=manifest.version,
        state=figures.state,
        why=valid_text(extension.failure),
        since=time.time() - (now - since),
        restart_policy=manifest.restart.policy,
        on_failure="deny" if extension.denies_on_failure else "allow",
        required=manifest.required,
        stats=figures,
        limits=limits(supervisor, name),
        limit_action=extension.limits.action or "restart",
        pending_requests=tuple(_pending_request(pending, pid, now) for pending, pid in asked[:PENDING_LIMIT]),
        tools=tuple(extension.tools),
        commands=extension.registry.command_names,
        guards=tuple(sorted(extension.guards)),
        observes=tuple(sorted(extension.observes)),
        folder=valid_text(str(found.place)),
        log=valid_text(str(extension.log.path)),
        log_trouble=extension.log.error or "",
        mcp_file=None if found.mcp_file is None else valid_text(str(found.mcp_file)),
        mcp_entry=None if found.mcp_entry is None else valid_text(found.mcp_entry.key),
    )


def limits(supervisor: Supervisor, name: str) -> tuple[LimitUse, ...]:
    """The limits of an extension that are set, with the use at the last sample. Raises `UnknownNameError`."""
    extension = supervisor.find(name)
    origins = supervisor.context.limits.origins(name, extension.manifest.limits)
    readings = [worker.usage.reading for worker in extension.all_workers if worker.is_running]
    return tuple(LimitUse(*each, origins[each[0]]) for each in limits_used(extension.limits, readings))


def _sample_if_old(supervisor: Supervisor) -> None:
    if supervisor.loop.clock() - supervisor.sampler.sampled_at > FRESH_S:
        supervisor.sample()


def _pending_request(pending: Pending, pid: int | None, now: float) -> PendingRequest:
    age_s = round(now - pending.asked_at, 3)
    if pending.what is None:
        return PendingRequest("verdict", "", pid, age_s)
    if pending.what.startswith("/"):
        return PendingRequest("command", pending.what[1:], pid, age_s)
    return PendingRequest("tool", pending.what, pid, age_s)
