"""Finds and starts the extensions of a run, and waits for them."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agent.options import LEAST_S, SETTLE_S
from agent.tools.catalogue import conditional_tools
from supervisor.discovery import data_dir
from supervisor.discovery.admission import Admission
from supervisor.discovery.discover import McpFiles, add_missing, discovery_steps
from supervisor.discovery.environment import extension_environment
from supervisor.discovery.kind import COPILOT
from supervisor.discovery.skipped_extension import lines_of
from supervisor.discovery.steps import finish
from supervisor.extension.lazy import awake
from supervisor.home.runtime_dir import runtime_dir
from supervisor.reload.reloader import Reloader
from supervisor.supervisor import Supervisor
from wire.dialects.table import find_dialect
from wire.suggestions import command_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agent.abort import Abort
    from agent.engine.host_calls.workspace import SessionWorkspace
    from agent.engine.hosted_extensions import HostedExtensions
    from agent.model.provider import Provider
    from agent.options import Options, RunRequest
    from agent.output.event_writer import EventWriter
    from agent.output.stderr_notices import StderrNotices
    from agent.tools.extension_tools.tools import ExtensionTools
    from supervisor.discovery.admission import Consent
    from supervisor.discovery.discover import Discovery
    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.discovery.steps import Steps
    from supervisor.extension.connection.open_calls import HostCallAnswer
    from supervisor.extension.extension import Extension
    from supervisor.home.config import Config
    from supervisor.loop.loop import Loop
    from supervisor.reload.strict_admission import StrictAdmission
    from wire.dialects.base import HostInfo
    from wire.dialects.host_calls import HostCall
    from wire.events import Record
    from wire.manifest import Manifest


class Findings(msgspec.Struct, frozen=True):
    """The extensions found for a run, and its options."""

    discovery: Discovery
    options: Options
    refusal: str = ""
    """Why the host that the run asks for cannot be used; "" if it can, or if the run asks for none."""

    @property
    def missing(self) -> str | None:
        """Names a required extension that may not be started, or the host, and says why; None if all is there."""
        return self.refusal or next(
            (skipped.why_needed for skipped in self.discovery.skipped if skipped.why_needed), None
        )


def make_supervisor(
    loop: Loop,
    options: Options,
    host: HostInfo,
    notices: StderrNotices,
    *,
    owns_process: bool,
    on_show: Callable[[Record], None],
    on_host_call: Callable[[Extension, HostCall, HostCallAnswer], None],
) -> Supervisor:
    """The supervisor of a run with these options. The keyword arguments are those of `Supervisor`."""
    return Supervisor(
        loop,
        host=host,
        logs=options.home / "logs",
        strict_guards=options.strict_guards,
        allow_asked=options.allow_asked or options.config.allow_asked,
        owns_process=owns_process,
        limits=options.config.limit_rules,
        registrations_folder=options.home / awake.FOLDER,
        runtime_folder=runtime_dir(options.home),
        keeper=options.keeper,
        say=lambda line: notices.say(f"zot: {line}"),
        reserved_tools=options.tools
        | conditional_tools(skills=bool(options.offered_skills), extensions=options.copilot),
        on_notice=notices.notice,
        on_note=notices.note,
        on_show=on_show,
        on_host_call=on_host_call,
    )


def strict_admission(options: Options) -> StrictAdmission | None:
    """The strict admission of a run whose agent may write Copilot extensions; None for other runs."""
    if not options.copilot:
        return None
    from supervisor.reload.strict_admission import StrictAdmission  # other runs do not load it

    return StrictAdmission(options.home, COPILOT, options.consent.copy)


def extension_tools(options: Options, supervisor: Supervisor, reloader: Reloader) -> ExtensionTools | None:
    """The tools by which the agent makes and reloads extensions; None if they are off."""
    if not options.copilot:
        return None
    from agent.tools.extension_tools.tools import ExtensionTools  # other runs do not load it
    from supervisor.discovery.copilot import manifest  # noqa: F401  (no import while the agent runs)

    find_dialect(COPILOT)
    return ExtensionTools(supervisor, reloader, project=Path(options.cwd), home=options.home, dialect=COPILOT)


def hosted_extensions(
    loop: Loop, options: Options, supervisor: Supervisor, version: str, say: Callable[[str], None]
) -> HostedExtensions | None:
    """The extensions of the host that the run asks for; None if it asks for none."""
    if options.host is None and options.config.host != "auto":
        return None
    from agent.engine.hosted_extensions import HostedExtensions  # other runs do not load it

    return HostedExtensions(loop, options, supervisor, version, say)


def find_extensions(
    options: Options, hosted: HostedExtensions | None, strict: StrictAdmission | None = None
) -> Findings:
    """Finds the extensions that `options` names and, with `discover`, those of the project and of the user, and with
    `hosted` those of the run's host."""
    discovery = options.discovery or finish(
        finding(options, options.cwd, options.home, options.consent, options.config)
    )
    discovery = discovery if strict is None else finish(strict.first(discovery))
    if hosted is None:
        return Findings(discovery, options)
    found, refusal = hosted.divide(discovery.found)
    return Findings(msgspec.structs.replace(discovery, found=found), options, refusal)


def finding(request: RunRequest, cwd: str, home: Path, consent: Consent, config: Config) -> Steps[Discovery]:
    """Finds the extensions of a run in this folder."""
    discovery = yield from discovery_steps(
        request.extensions,
        Path(cwd) if request.discover else None,
        home if request.discover else None,
        Admission(home, consent, config).for_one_start(),
        McpFiles(Path(cwd), request.mcp_configs),
        home,
    )
    copy = consent.copy
    return discovery if copy is None or not request.discover else add_missing(discovery, copy)


def make_reloader(options: Options, supervisor: Supervisor, strict: StrictAdmission | None = None) -> Reloader:
    """A reloader that finds and admits extensions by the rules of this run. With `strict`, any reload admits the
    extensions that the agent may have written by their content only."""
    admission = Admission(options.home, options.consent, options.config)

    def find() -> Steps[Discovery]:
        return finding(options, options.cwd, options.home, options.consent, options.config)

    if strict is None:
        return Reloader(supervisor, may_run=admission.may_run, rediscover=find)

    def find_admitted() -> Steps[Discovery]:
        discovery = yield from find()
        return (yield from strict.again(discovery))

    def may_run(found: FoundExtension, old: Manifest) -> Steps[FoundExtension | str]:
        is_judged = strict.dialect in (found.manifest.dialect, old.dialect)
        return strict.may_run(found) if is_judged else admission.may_run(found, old)

    return Reloader(supervisor, may_run=may_run, rediscover=find_admitted)


def _tell_of_skipped(discovery: Discovery, notices: StderrNotices) -> str:
    """Tells of the skipped extensions. Returns name and reason of the first failed one that may guard; "" if none."""
    unloaded = ""
    for skipped in discovery.skipped:
        if skipped.is_error:
            if skipped.kind.may_guard and not skipped.is_of_others:
                unloaded = unloaded or f"{skipped.name}: {skipped.reason}"
            notices.report(skipped.name, "failed", skipped.reason)
    for line in lines_of(discovery.skipped):
        notices.say(f"zot: {line}")
    return unloaded


def start_extensions(
    findings: Findings,
    supervisor: Supervisor,
    reloader: Reloader,
    notices: StderrNotices,
    workspace: SessionWorkspace,
) -> str:
    """Starts all found extensions, without waiting. Returns the name and the reason of the first extension that could
    not be loaded and may guard; "" if there is none. `workspace` is made before the start of the first extension that
    may ask for it."""
    discovery, options = findings.discovery, findings.options
    unloaded = _tell_of_skipped(discovery, notices)
    supervisor.skipped = discovery.skipped
    if discovery.found and options.trial is None:
        from supervisor.discovery.withheld_secrets import report_new  # a run without extensions does not load it

        own = (each for each in discovery.found if each.link is None)
        if told := report_new(options.home, own, options.config, os.environ):
            notices.say(told)
        if options.keeper is None or not options.keeper.task:  # in a batch, its own process does this
            from supervisor.monitoring.definition_sizes import sizes_keeper

            supervisor.on_sample.append(sizes_keeper(options.home, supervisor.extensions))
    supervisor.start(
        discovery.found, lambda found: _environment(found, options, workspace, notices), options.home / data_dir.FOLDER
    )
    if options.watch:
        from supervisor.reload.watch_mode import mcp_files, parents_of, watch  # other runs do not load it

        cwd = Path(options.cwd)
        parents = parents_of(cwd, options.home) if options.discover else ()
        files = mcp_files(cwd if options.discover else None, options.home, options.mcp_configs)
        watch(supervisor, reloader, parents, notices.say, files=files)
    return unloaded


def _environment(
    found: FoundExtension, options: Options, workspace: SessionWorkspace, notices: StderrNotices
) -> Mapping[str, str]:
    """The environment of an extension before its start. Makes the workspace if the extension may ask for it."""
    if find_dialect(found.manifest.dialect).has_workspace and (trouble := workspace.make_once()):
        notices.say(f"zot: {trouble}")
    return extension_environment(found, options.config, os.environ)


def settle(
    options: Options,
    supervisor: Supervisor,
    provider: Provider | None,
    abort: Abort,
    on_wait: Callable[[], Callable[[], None]] | None = None,
) -> None:
    """Waits for the extensions before the first request, at most `extension_wait` seconds. By default first for those
    of slow dialects, such as MCP servers, as long as their dialect says; then for all until the model is ready, at
    least `LEAST_S` and at most `SETTLE_S`, and for `SETTLE_S` without a provider. A guard may still be starting then:
    a verdict waits for it. `on_wait` is called if there is something to wait for; it returns the function for the end.
    """
    ended = on_wait() if on_wait is not None and not supervisor.is_settled else _nothing
    _settle(options, supervisor, provider, abort)
    ended()


def _settle(options: Options, supervisor: Supervisor, provider: Provider | None, abort: Abort) -> None:
    now = supervisor.loop.clock()
    if options.extension_wait is not None:
        supervisor.settle(now + options.extension_wait, abort.is_requested)
        return
    slow: dict[float, list[Extension]] = {}
    for each in supervisor.extensions:
        if wait_s := find_dialect(each.manifest.dialect).settle_s:
            slow.setdefault(wait_s, []).append(each)
    for wait_s in sorted(slow):
        awaited = partial(_are_settled, slow[wait_s], abort)
        supervisor.settle(now + wait_s, awaited)
    if provider is None or provider.is_ready:
        supervisor.settle(now + SETTLE_S, abort.is_requested)
    elif not supervisor.settle(now + LEAST_S, abort.is_requested):
        supervisor.settle(now + SETTLE_S, lambda: provider.is_ready or abort.requested)


def _nothing() -> None:
    """Does nothing: the wait has no follower."""


def _are_settled(extensions: Iterable[Extension], abort: Abort) -> bool:
    return abort.requested or all(each.is_settled for each in extensions)


def settle_for(command: str, supervisor: Supervisor, abort: Abort) -> None:
    """Waits until the owner of the command is known, or all extensions have started or failed; at most 3 s."""
    supervisor.settle(
        supervisor.loop.clock() + SETTLE_S, lambda: is_owner_known(command, supervisor.extensions) or abort.requested
    )


def is_owner_known(command: str, extensions: Iterable[Extension]) -> bool:
    """Whether an extension has registered the command, and every extension before it has started or failed. If two
    register the same command, the first in the order of the guards runs it, even if a later one was faster."""
    for extension in extensions:
        if extension.is_up and command_key(command) in extension.commands:
            return True
        if not extension.is_settled:
            return False
    return False


def tell_late(extensions: Iterable[Extension], notices: StderrNotices) -> None:
    """Says of each extension that is still starting that the run goes on without it."""
    for extension in extensions:
        if not (extension.state.is_settled or extension.was_ready):
            said = "still starting; its tools join in the turn after it is ready"
            notices.notice(extension, "late", said)


def missing_extension(supervisor: Supervisor, event_writer: EventWriter, abort: Abort) -> str | None:
    """Waits for the required extensions. Returns the name of one that did not start, with the reason; else None."""
    required = [extension for extension in supervisor.extensions if extension.manifest.required]
    if not required:
        return None
    latest = max(extension.started_at + extension.start_s for extension in required)
    event_writer.wait(lambda: all(extension.was_ready or extension.is_given_up for extension in required), latest)
    for extension in required:
        if not extension.was_ready and not abort.requested:
            reason = extension.failure or f"not ready within {extension.start_s:g} s"
            return f"extension {extension.name} is required and could not be started: {reason}"
    return None
