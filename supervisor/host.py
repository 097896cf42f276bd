"""A host without an agent: starts extensions and serves them over its control socket until it is stopped."""

from __future__ import annotations

import os
import signal
import uuid
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from supervisor.cleanup.env_marks import START
from supervisor.control.server import ControlServer
from supervisor.discovery import data_dir
from supervisor.discovery.admission import Admission, Consent
from supervisor.discovery.discover import McpFiles, discovery_steps
from supervisor.discovery.environment import extension_environment
from supervisor.discovery.skipped_extension import lines_of
from supervisor.discovery.steps import finish
from supervisor.discovery.withheld_secrets import report_new
from supervisor.extension.handover import RELOAD_FAILED
from supervisor.extension.lazy import awake
from supervisor.extension.notices import RECORDED_ONLY, level_of_note, level_of_notice
from supervisor.home.config import load_config
from supervisor.home.runtime_dir import ATTACH_SUFFIX, BATCH_SUFFIX, runtime_dir
from supervisor.home.zot_home import zot_home
from supervisor.host_event import HostEvent
from supervisor.install.record import advice, allowance_in_the_loop, newer_source
from supervisor.loop.loop import Loop, stop_signals
from supervisor.monitoring.definition_sizes import sizes_keeper
from supervisor.preload import preload, preload_dialects
from supervisor.process.controlling_terminal import has_terminal
from supervisor.reload.reloader import Reloader
from supervisor.reload.watch_mode import mcp_files, parents_of, watch
from supervisor.service.service_link import ServiceLink
from supervisor.sharing.attach_server import AttachServer
from supervisor.supervisor import Supervisor
from supervisor.traces.black_boxes import BlackBoxes
from supervisor.traces.trace_file import name_profiles
from wire.dialects.base import HostInfo
from wire.suggestions import no_such
from wire.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from supervisor.discovery.discover import Discovery
    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.discovery.steps import Steps
    from supervisor.extension.extension import Extension
    from supervisor.extension.notices import EventLevel, NoticeKind
    from supervisor.monitoring.stats_file import StatsFile
    from supervisor.reload.file_watcher import FileWatcher
    from supervisor.traces.trace_file import TraceFile
    from wire.control import ReloadOutcome
    from wire.events import Record
    from wire.stats import HostKind

LINE_LIMIT = 1000
LINES_KNOWN = 10_000
"""Maximum number of lines that are remembered, so that each is said once."""


class HostPhase(Enum):
    NEW = "new"
    SERVING = "serving"
    STOPPING = "stopping"
    """A client, a signal or `stop` has asked the host to stop."""
    STOPPED = "stopped"
    CUT_SHORT = "cut short"
    """A second signal has stopped the host, without waiting for the extensions."""


class CannotServeError(Exception):
    """The control socket cannot be served; the text says why."""


class UnknownShareError(ValueError):
    """An extension that is to be shared was not found; the text has the nearest name."""


class Host:
    """A host without an agent. Raises `ConfigError` and `StatsFileError`.

    `tell` gets lines for the user. It is called from within the loop and must not wait. With `discover_more` the
    project's and the user's extensions and MCP servers are started besides the folders in `extensions` and the servers
    of the files in `mcp_configs`. The project's extensions are only started if they are trusted, or with the user's
    `consent`. With `wanted` only the extensions for which it returns True are started, and it tells of no others.

    Call `run`. A test without signals calls `start`, runs the loop, and calls `stop`.
    """

    def __init__(
        self,
        *,
        version: str,
        extensions: Iterable[str] = (),
        mcp_configs: Iterable[str] = (),
        discover_more: bool = True,
        cwd: str | None = None,
        home: Path | None = None,
        sockets: Path | None = None,
        strict_guards: bool = False,
        allow_asked: bool = False,
        profile_on_stall: bool = False,
        owns_process: bool = True,
        tell: Callable[[HostEvent], None] | None = None,
        stats_file: Path | None = None,
        metrics_file: Path | None = None,
        stats_interval_s: float | None = None,
        openmetrics: bool = False,
        kind: HostKind = "host",
        consent: Consent | None = None,
        watch_files: bool = False,
        share: Iterable[str] = (),
        wanted: Callable[[FoundExtension], bool] | None = None,
        trace: TraceFile | None = None,
        inbox: str = "",
    ) -> None:
        self.loop = Loop()
        self.phase = HostPhase.NEW
        self.cwd = cwd or os.getcwd()
        self.home = home or zot_home()
        self.tell: Callable[[HostEvent], None] = tell or (lambda _event: None)
        self.stopped_by = ""
        """The person or program that asked the host to stop, in words; empty without such a request."""
        self.missing = ""
        """The required extension that could not be started, and why; empty if all were started. Such an extension stops
        the host."""
        self._extensions = tuple(extensions)
        is_within = kind == "mcp" and START in os.environ
        self._mcp = McpFiles(Path(self.cwd), tuple(mcp_configs), only_named=is_within)
        """Only named files in a `zot mcp serve` that another host of ours runs: one of the other files may have its own
        entry, and it would start itself without end."""
        self._discover_more = discover_more
        self._told: set[tuple[str, str]] = set()
        self._stats_file: StatsFile | None = None
        self._watch_files = watch_files
        self._watching: FileWatcher | None = None
        self._had_terminal = has_terminal()
        self._reloads_on_hangup = kind == "host"
        self.on_stopping: Callable[[], None] = lambda: None
        """Called once, when the host begins to stop: its extensions still run."""
        self._config = load_config(self.home)
        self._admission = Admission(self.home, consent or Consent(), self._config)
        folder = sockets or runtime_dir(self.home)
        self.supervisor = Supervisor(
            self.loop,
            host=HostInfo(version, "none", "", self.cwd, session_id=str(uuid.uuid4())),
            logs=self.home / "logs",
            strict_guards=strict_guards,
            allow_asked=allow_asked or self._config.allow_asked,
            owns_process=owns_process,
            limits=self._config.limit_rules,
            registrations_folder=self.home / awake.FOLDER,
            runtime_folder=folder,
            say=lambda line: self._tell_once("cleanup", line, "warning"),
            on_notice=self._on_notice,
            on_note=self._on_note,
            on_show=self._on_show,
        )
        self._service = ServiceLink(
            self.loop, self.supervisor.extensions, partial(self._tell_once, "service", level="warning"),
            {} if kind == "batch" else os.environ,
        )  # fmt: skip
        self.supervisor.on_change.append(lambda _extension: self._service.changed())
        if kind == "host":
            self.supervisor.expect_person()
        if stats_file is not None or metrics_file is not None:
            from supervisor.stats_writer import write_stats  # other hosts do not load it

            self._stats_file = write_stats(
                self.supervisor, kind, version, self.cwd, stats_file=stats_file, metrics_file=metrics_file,
                stats_interval_s=stats_interval_s, openmetrics=openmetrics,
                on_error=lambda text: self._tell_once("stats", text, "error"),
            )  # fmt: skip
        self._trace = trace
        name_profiles(self.supervisor.stall_profiles, self.home, trace, always=profile_on_stall)
        if trace is not None:
            boxes = BlackBoxes(trace, self._config, version, self.loop.clock)
            self.supervisor.on_fall += [trace.fell, boxes.fell]
            trace.skipped = lambda: self.supervisor.skipped
            trace.figures = lambda: self.supervisor.snapshot(kind, version, self.cwd)
        self._end_alerts: Callable[[], None] = lambda: None
        if self._config.on_event:
            from supervisor.alerts.alerts import EventOrigin, tell_falls  # other hosts do not load it

            origin = EventOrigin(kind, self.cwd, "" if trace is None else trace.id)
            say = partial(self._tell_once, "on_event", level="warning")
            self._end_alerts = tell_falls(self.supervisor.on_fall, self.loop, self._config, origin, say, inbox)
        self._reloader = Reloader(self.supervisor, may_run=self._admission.may_run, rediscover=self._discover)
        self.control = ControlServer(
            self.loop,
            self.supervisor,
            self._reloader,
            kind=kind,
            version=version,
            cwd=self.cwd,
            runtime_dir=folder,
            on_stop=lambda: self.request_stop("zot stop"),
        )
        self.on_started: Callable[[], None] = lambda: None
        """Called once by `run` when all extensions have been started; it may wait for them."""
        self._wanted = wanted
        self._stops_if_missing = kind != "batch"
        self._share = tuple(share)
        self.attach: AttachServer | None = None
        """Serves runs that attach; None for a host of the kind `mcp`."""
        if kind in ("host", "batch"):
            self.attach = AttachServer(
                self.loop, self.supervisor, version=version, cwd=self.cwd, folder=folder,
                shared=(*self._share, *self._config.share), suffix=ATTACH_SUFFIX if kind == "host" else BATCH_SUFFIX,
            )  # fmt: skip

    # --- from start to end --------------------------------------------------------------------------------

    def run(self) -> HostPhase:
        """Starts, serves until the host is stopped, and stops everything. Returns how it ended. Main thread only."""
        with self._signals():
            self.start()
            if self._trace is not None:
                self._trace.begin()
                self._trace.begun()
            try:
                self.on_started()
                self.loop.run_until(lambda: self.phase is not HostPhase.SERVING)
            finally:
                self.stop()
            return self.phase

    def start(self) -> None:
        """Serves the control socket and starts all extensions, without waiting for them. If the socket cannot be
        served, raises `CannotServeError` and starts nothing."""
        preload()
        preload_dialects()
        if (trouble := self.control.start()) is not None:
            raise CannotServeError(trouble)
        self.phase = HostPhase.SERVING
        discovery = self.find_extensions()
        if self.attach is not None and (trouble := self.attach.start()) is not None:
            raise CannotServeError(trouble)
        serving = f"{counted(len(discovery.found), 'extension')}; to stop: Ctrl-C, or zot stop {os.getpid()}"
        self.tell(HostEvent("serving", serving, fields={"pid": os.getpid(), "socket": str(self.control.path)}))
        self.supervisor.skipped = discovery.skipped
        for line in lines_of(discovery.skipped):
            self._tell_once("skipped", line, "error")
        for skipped in discovery.skipped:
            self.missing = self.missing or skipped.why_needed
        if told := report_new(self.home, discovery.found, self._config, os.environ):
            self.tell(HostEvent("withheld", told.removeprefix("zot: ")))
        self.supervisor.on_sample.append(sizes_keeper(self.home, self.supervisor.extensions))
        self.supervisor.start(
            discovery.found,
            lambda found: extension_environment(found, self._config, os.environ),
            self.home / data_dir.FOLDER,
        )
        if self._config.remark:
            self._tell_once("config", self._config.remark, "warning")
        if self._watch_files:
            parents = parents_of(Path(self.cwd), self.home) if self._discover_more else ()
            project = Path(self.cwd) if self._discover_more and not self._mcp.only_named else None
            files = mcp_files(project, self.home, self._mcp.named)
            say = partial(self._tell_once, "watch")
            self._watching = watch(self.supervisor, self._reloader, parents, say, files=files)
        self.supervisor.observers.begin_session()
        self._service.begin()
        if self.missing:
            self.request_stop(f"itself: {self.missing}")

    def find_extensions(self) -> Discovery:
        """Finds the extensions that `start` starts. Raises `UnknownShareError`."""
        discovery = finish(self._discover())
        unknown = [name for name in self._share if all(name not in each.names for each in discovery.found)]
        if unknown and self._wanted is None:
            names = [each.manifest.name for each in discovery.found]
            raise UnknownShareError(f"--share: {no_such('extension', unknown[0], names)}")
        return discovery

    def _discover(self) -> Steps[Discovery]:
        discovery = yield from discovery_steps(
            self._extensions,
            Path(self.cwd) if self._discover_more else None,
            self.home if self._discover_more else None,
            self._admission.for_one_start(),
            self._mcp,
            self.home,
        )
        if self._wanted is None:
            return discovery
        return replace(discovery, found=tuple(filter(self._wanted, discovery.found)), skipped=())

    def request_stop(self, by: str) -> None:
        """Ends `run`. Later calls do nothing."""
        if self.phase is HostPhase.SERVING:
            self.phase = HostPhase.STOPPING
            self.stopped_by = by
            self._service.stopping()
            self.control.wind_down()
            self.on_stopping()

    def stop(self) -> None:
        """Stops everything gracefully, or at once after a second signal. Clients are served meanwhile."""
        self.request_stop("its program")
        if self._watching is not None:
            self._watching.stop()
        try:
            # No notice about extensions without a hello by now: the user of the host has asked it to stop.
            self.supervisor.stop(at_once=self.phase is HostPhase.CUT_SHORT, wanted_all=False)
        finally:
            if self.phase is not HostPhase.CUT_SHORT:
                self.phase = HostPhase.STOPPED
            if self._stats_file is not None:
                self._stats_file.close()
            if self._trace is not None:
                self._trace.close()
            self._end_alerts()
            if self.attach is not None:
                self.attach.close()
            self.control.close()

    def close(self) -> None:
        """Stops everything that still runs, and closes the loop. No other call may follow."""
        if self.phase in (HostPhase.NEW, HostPhase.SERVING, HostPhase.STOPPING):
            self.stop()
        self.loop.close()

    def _signals(self) -> AbstractContextManager[None]:
        return self.loop.signals(stop_signals(), self._on_signal)

    def _on_signal(self, number: signal.Signals) -> None:
        has_hung_up = self._had_terminal and not has_terminal()
        if self.phase is HostPhase.SERVING and number is signal.SIGHUP and not has_hung_up and self._reloads_on_hangup:
            self.tell(HostEvent("reloading", f"all extensions ({number.name})"))
            self._service.reload_began()
            self._reloader.begin(None, self._reloaded)
        elif self.phase is HostPhase.SERVING:
            self.request_stop(number.name)
            self.tell(HostEvent("stopping", f"{number.name}; once more to stop at once"))
        else:
            self.phase = HostPhase.CUT_SHORT
            self.supervisor.kill_now()

    def _reloaded(self, outcomes: tuple[ReloadOutcome, ...]) -> None:
        """Tells the user which folders were skipped, and which sources are newer. All other outcomes have notices."""
        self._service.reload_ended()
        allowance = allowance_in_the_loop()
        for outcome in outcomes:
            if outcome.outcome == "skipped":
                self._tell_once("skipped", f"extension load: {outcome.name}: {outcome.reason}", "error")
            elif outcome.folder and (source := newer_source(Path(outcome.folder), allowance)) is not None:
                told = one_line(advice(outcome.name, source), LINE_LIMIT)
                self.tell(HostEvent("newer_source", told, "warning", outcome.name))

    # --- what extensions report ---------------------------------------------------------------------------

    def _on_notice(self, extension: Extension, kind: NoticeKind, message: str) -> None:
        self.control.notice(extension.name, kind, message)
        if self.attach is not None:
            self.attach.notice(extension.name, kind, message)
        if self._stats_file is not None:
            self._stats_file.notice(extension, kind, message)
        if self._trace is not None:
            self._trace.noticed(extension, kind, message)
        level = level_of_notice(kind)
        if message.startswith(RELOAD_FAILED) or kind in RECORDED_ONLY:
            self.tell(HostEvent(kind, one_line(message, LINE_LIMIT), level, extension.name))
        else:
            self._tell_once(kind, message, level, extension.name)
        is_missing = kind == "failed" and extension.manifest.required and not extension.was_ready
        if is_missing and self._stops_if_missing and not self.missing:
            self.missing = f"{extension.name}: {one_line(message, LINE_LIMIT)}"
            self.request_stop(f"the required extension {extension.name}, which could not be started")

    def _on_show(self, record: Record) -> None:
        self.control.shown(record)

    def _on_note(self, extension: Extension, level: str, message: str) -> None:
        text = one_line(message, LINE_LIMIT)
        self.tell(HostEvent("note", text, level_of_note(level), extension.name))

    def _tell_once(self, event: str, message: str, level: EventLevel = "info", extension: str = "") -> None:
        """Tells each message once, also if a guard fails on every call. Clients that watch notices get every notice."""
        line = one_line(message.removeprefix("zot: "), LINE_LIMIT)
        if (extension, line) in self._told:
            return
        if len(self._told) >= LINES_KNOWN:
            self._told.clear()
        self._told.add((extension, line))
        self.tell(HostEvent(event, line, level, extension))
