"""Starts a run's extensions, and decides how long to wait for them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent.options import SETTLE_S
from supervisor.discovery import data_dir
from supervisor.discovery.admission import Admission
from supervisor.discovery.discover import discover
from supervisor.discovery.environment import extension_environment
from supervisor.reload.reloader import Reloader
from supervisor.reload.watch_mode import parents_of, watch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent.abort import Abort
    from agent.model.provider import Provider
    from agent.options import Options
    from agent.output.event_writer import EventWriter
    from agent.output.stderr_notices import StderrNotices
    from supervisor.discovery.discover import Discovery
    from supervisor.extension.extension import Extension
    from supervisor.supervisor import Supervisor


@dataclass(frozen=True)
class Findings:
    """The extensions of a run, and what is to be known to start them."""

    discovery: Discovery
    options: Options

    @property
    def missing(self) -> str | None:
        """Which extension that the run must not do without may not be started, and why."""
        for skipped in self.discovery.skipped:
            if skipped.untrusted is not None and skipped.untrusted.manifest.required:
                return f"extension {skipped.name} is required and {skipped.reason}"
        return None


def find_extensions(options: Options) -> Findings:
    discovery = discover(
        options.extensions,
        Path(options.cwd) if options.discover else None,
        options.home if options.discover else None,
        Admission(options.home, options.consent, options.config),
    )
    return Findings(discovery, options)


def make_reloader(options: Options, supervisor: Supervisor) -> Reloader:
    """Reloads by the rules by which the run's extensions were found and admitted."""
    return Reloader(
        supervisor,
        may_run=Admission(options.home, options.consent, options.config).may_run,
        rediscover=lambda: find_extensions(options).discovery,
    )


def start_extensions(findings: Findings, supervisor: Supervisor, reloader: Reloader, news: StderrNotices) -> str:
    """Starts all that were found, without waiting; returns what could not be loaded, "" if there is nothing."""
    discovery, options = findings.discovery, findings.options
    unloaded = ""
    for skipped in discovery.skipped:
        if skipped.is_error:
            unloaded = unloaded or f"{skipped.name}: {skipped.reason}"
            news.report(skipped.name, "failed", skipped.reason)
            news.say(f"zot: {skipped.line}")
    supervisor.start(
        discovery.found,
        lambda found: extension_environment(found, options.config, os.environ),
        options.home / data_dir.FOLDER,
    )
    if options.watch:
        watch(supervisor, reloader, parents_of(Path(options.cwd), options.home) if options.discover else (), news.say)
    return unloaded


def settle(options: Options, supervisor: Supervisor, provider: Provider, abort: Abort) -> None:
    """The first request waits for extensions no longer than the model takes to get ready anyway, unless asked to.
    Guards are safe either way: a verdict waits for those still starting."""
    now = supervisor.loop.clock()
    if options.extension_wait is not None:
        supervisor.settle(now + options.extension_wait, abort.is_requested)
    elif provider.is_ready:
        supervisor.settle(now + SETTLE_S, abort.is_requested)
    else:
        supervisor.settle(now + SETTLE_S, lambda: provider.is_ready or abort.requested)


def settle_for(command: str, supervisor: Supervisor, abort: Abort) -> None:
    """Waits until it is known which extension runs the command, all are settled, or the usual time is over."""
    supervisor.settle(
        supervisor.loop.clock() + SETTLE_S, lambda: is_owner_known(command, supervisor.extensions) or abort.requested
    )


def is_owner_known(command: str, extensions: Iterable[Extension]) -> bool:
    """Whether an extension has registered it, and none before it among the guards may still do so: of two with one
    command the first has it, not the faster one."""
    for one in extensions:
        if one.is_up and command in one.commands:
            return True
        if not one.is_settled:
            return False
    return False


def missing_extension(supervisor: Supervisor, reporter: EventWriter, abort: Abort) -> str | None:
    """Waits for those that the run must not do without, and says why one of them is not there."""
    required = [one for one in supervisor.extensions if one.manifest.required]
    if not required:
        return None
    latest = max(one.started_at + one.start_s for one in required)
    reporter.wait(lambda: all(one.was_ready or one.is_given_up for one in required), latest)
    for one in required:
        if not one.was_ready and not abort.requested:
            reason = one.failure or f"not ready within {one.start_s:g} s"
            return f"extension {one.name} is required and could not be started: {reason}"
    return None
