"""All extensions of one host: starts them together, asks them in a fixed order, merges their tools, stops them."""

from __future__ import annotations

import signal
import time
from functools import partial
from typing import TYPE_CHECKING

from supervisor.calls.calls_by_extensions import CallsByExtensions
from supervisor.calls.command_call import CommandInFlight
from supervisor.calls.guards import Guards
from supervisor.calls.merged_registrations import Claims, MergedRegistrations
from supervisor.calls.observers import Observers
from supervisor.calls.panels import Panels
from supervisor.calls.tool_call import ToolCallInFlight
from supervisor.calls.verdict_request import VerdictRequests
from supervisor.cleanup.host_processes import HostProcesses
from supervisor.extension.connection.open_calls import refuse_all
from supervisor.extension.connection.round_trips import RoundTrip
from supervisor.extension.extension import Extension
from supervisor.extension.host_context import EventSink, HostContext
from supervisor.extension.lifecycle import WorkerState
from supervisor.monitoring import stats
from supervisor.monitoring.sampler import Sampler
from supervisor.monitoring.sharing_figures import Sharing
from supervisor.preload import preload
from supervisor.profile.stall_profiles import StallProfiles
from supervisor.registry.checkers import Checkers
from wire.settings.limit_changes import LimitRules
from wire.stats import Stats
from wire.suggestions import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from supervisor.accounting.fall import Fall
    from supervisor.calls.command_call import CommandAnswer
    from supervisor.calls.guard_chain import Judgement
    from supervisor.calls.merged_registrations import OwnedCommand, OwnedTool
    from supervisor.calls.request_in_flight import RequestInFlight
    from supervisor.calls.tool_call import ToolAnswer
    from supervisor.cleanup.keeper import Keeper
    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.discovery.skipped_extension import SkippedExtension
    from supervisor.extension.connection.open_calls import HostCallAnswer
    from supervisor.extension.notices import NoticeKind
    from supervisor.extension.worker import Worker
    from supervisor.loop.loop import Loop
    from supervisor.monitoring.stats_file import StatsFile
    from supervisor.process.stop_policy import Patience
    from supervisor.process.teardown import Stoppable
    from wire import frames
    from wire.dialects.base import HostInfo
    from wire.dialects.host_calls import HostCall
    from wire.events import Cost, Record
    from wire.stats import ExtensionStats, HostKind
    from wire.trace_context import TraceContext

    Answered = Callable[[ToolAnswer], None]
    BeginCallSpan = Callable[[OwnedTool, bytes, str, Answered], tuple[TraceContext, Answered]]
    Environment = Mapping[str, str] | Callable[[FoundExtension], Mapping[str, str]]


class Supervisor:
    """Owns the extensions of one host.

    `on_notice` gets the notices about extensions, `on_note` the notes that extensions send, `on_show` notes and panels
    as records of the event stream. `on_host_call` answers a call of an extension to its host that is not one of a
    tool; by default that is refused. All are called from within the loop and must not wait.

    With `owns_process` every descendant of this process counts as started by an extension: daemons that left their
    process tree are adopted, and ended with the rest. A program that has children of its own must not set it.

    With a `runtime_folder` (`runtime_dir()`) the processes of a killed host are ended, by its reaper or by the next
    host that starts; with a `keeper` its own host does that. `say` gets lines for the user about that. With a
    `registrations_folder` extensions may start when they are needed.
    """

    def __init__(
        self,
        loop: Loop,
        *,
        host: HostInfo,
        logs: Path,
        strict_guards: bool = False,
        allow_asked: bool = False,
        owns_process: bool = False,
        reserved_tools: Collection[str] = (),
        limits: LimitRules | None = None,
        registrations_folder: Path | None = None,
        runtime_folder: Path | None = None,
        keeper: Keeper | None = None,
        say: Callable[[str], None] | None = None,
        on_notice: Callable[[Extension, NoticeKind, str], None] | None = None,
        on_note: Callable[[Extension, str, str], None] | None = None,
        on_show: Callable[[Record], None] | None = None,
        on_host_call: Callable[[Extension, HostCall, HostCallAnswer], None] | None = None,
    ) -> None:
        self.loop = loop
        self.extensions: list[Extension] = []
        self.skipped: Sequence[SkippedExtension] = ()
        """Extensions that discovery found and did not start, the last time that it looked."""
        self._processes = HostProcesses(
            loop, version=host.version, owns_process=owns_process, runtime_folder=runtime_folder, keeper=keeper, say=say
        )
        self.token = self._processes.token
        self._on_notice = on_notice or (lambda _extension, _kind, _message: None)
        self._on_note = on_note or (lambda _extension, _level, _message: None)
        self.panels = Panels(loop, on_show or (lambda _record: None))
        self._env: Environment = {}
        self.data_folder: Path | None = None
        """The folder that contains the data folders of all extensions."""
        self._started, self.stall_profiles = (loop.clock(), time.time()), StallProfiles(loop, self._processes.marks)
        self.context = HostContext(
            loop, host, logs, self._processes.table, self.stall_profiles, self._processes.tracker,
            limits or LimitRules(), strict_guards, allow_asked, registrations=registrations_folder,
        )  # fmt: skip
        self.restarts = self.context.restarts
        self.guards = Guards(loop, self.extensions)
        self.verdicts = VerdictRequests(loop, self.guards)
        self.observers = Observers(self.extensions, host)
        self._checkers = Checkers(loop)
        self._claims = Claims(self.extensions, reserved_tools)
        self.registrations = MergedRegistrations(self.extensions, reserved_tools)
        """The tools and slash commands that the extensions offer together."""
        take_call = on_host_call or (lambda _extension, call, answer: refuse_all(call, answer))
        self.calls_by_extensions = CallsByExtensions(self, take_call)
        self.stats_file: StatsFile | None = None
        """The file of `write_stats`, if it has a timeline. It gets each verdict and call."""
        self.on_sample: list[Callable[[], None]] = []
        """Called after each sample."""
        self.on_fall: list[Callable[[Extension, Worker, Fall], None]] = []
        """Called with each fall of an extension."""
        self.on_change: list[Callable[[Extension], None]] = []
        """Called when the state or the registrations of an extension may have changed."""
        self.begin_call_span: BeginCallSpan | None = None
        """Opens the span of a call without a context, and returns its context and the callback that ends it."""
        self.calls_for_runs: Callable[[Extension, HostCall, HostCallAnswer], bool] = lambda *_: False
        """Takes the calls that an extension makes for a run that is attached to this host; returns False for others."""
        self.sharing = Sharing()
        """The figures of extensions that several runs use. A host that serves runs, and a run of one, put their own."""
        self.sampler = Sampler(
            loop, self.extensions, self._processes.adopted, self._processes.table.has_all_orphans, self.on_sample
        )
        self.closed = False

    # --- start --------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Prepares the cleanup of children. With cgroups, to be called before this process starts its first child."""
        self._processes.open()

    def expect_person(self) -> None:
        """From now on tools that wait for a person may be called; until then such calls are refused."""
        self.context.has_person = True

    def set_model(self, model: str) -> None:
        """Sets the model that extensions get from now on when they start."""
        self.context.set_model(model)

    def watch_starts(self, starting: Callable[[FoundExtension, Worker], dict[str, str]]) -> None:
        """Has `starting` called before each start of a worker's process; it returns further variables for it."""
        self.context.starting = starting

    def start(self, found: Iterable[FoundExtension], env: Environment, data: Path | None = None) -> None:
        """Starts all extensions at the same time and returns; `settle` waits for them. `env` is the environment of all,
        or a function that returns that of each. `data` contains their data folders (default: each uses its own)."""
        found = list(found)
        self._env, self.data_folder = env, data
        self.prepare()
        self.provide_for(sum(each.manifest.workers for each in found))
        for each in found:
            self._start(each)
        if self.extensions:
            self.sampler.start()
            preload()  # beside the start of the processes, which takes longer
        self._processes.tell_reaper()

    def add(self, found: FoundExtension) -> Extension:
        """Starts one more extension and puts it into its place in guard order."""
        preload()
        self.provide_for(found.manifest.workers)
        extension = self._start(found)
        self._processes.tell_reaper()
        self._sort()
        self.sampler.start()
        return extension

    def _start(self, found: FoundExtension) -> Extension:
        self.guards.expect_more()
        extension = Extension(self.context, found, self._sink_of)
        self.extensions.append(extension)
        extension.start(self.environment_of(found), self.data_folder)
        return extension

    def provide_for(self, workers: int) -> None:
        """Raises the limit of descriptors, if needed, for this number of additional workers."""
        self._processes.provide_for(sum(len(extension.all_workers) for extension in self.extensions) + workers)

    def _sort(self) -> None:
        self.extensions.sort(key=lambda extension: extension.found.order)
        self.guards.forget()
        self.registrations.forget()

    def environment_of(self, found: FoundExtension) -> dict[str, str]:
        """The environment of the workers of this extension; empty if its process is not of this host."""
        if found.link is not None:
            return {}
        env = self._env(found) if callable(self._env) else self._env
        return {**env, **self._processes.marks(found.manifest.name)}

    @property
    def is_settled(self) -> bool:
        """Every extension is ready or has failed."""
        return self.guards.is_settled

    def settle(self, deadline: float, enough: Callable[[], bool] | None = None) -> bool:
        """Waits until every extension is ready or has failed, or `enough` holds; False if the deadline passes first."""
        return self.loop.run_until(lambda: self.is_settled or (enough is not None and enough()), deadline)

    def find(self, name: str) -> Extension:
        """Returns the extension of this name. Raises `UnknownNameError`."""
        if (found := next((extension for extension in self.extensions if extension.name == name), None)) is None:
            raise UnknownNameError("extension", name, [extension.name for extension in self.extensions])
        return found

    def restart(self, name: str) -> None:
        """Stops an extension gracefully and starts it again, whatever its state. Raises `UnknownNameError`."""
        self.find(name).restart()
        self.sampler.hurry()

    # --- what extensions report ---------------------------------------------------------------------------

    def _sink_of(self, extension: Extension) -> EventSink:
        return EventSink(
            changed=partial(self._changed, extension),
            replaced=partial(self._replaced, extension),
            settled=self.guards.changed,
            notice=partial(self._on_notice, extension),
            fell=partial(self._fell, extension),
            note=partial(self._noted, extension),
            showed=partial(self.panels.showed, extension),
            has_panel=partial(self.panels.has_panel, extension),
            claims=partial(self._claims.judge, extension),
            activated=partial(self.registrations.activate, extension),
            called=partial(self._called, extension),
            adopted=lambda table, start: self._processes.adopted(table, extension.name, start),
        )

    def _changed(self, extension: Extension) -> None:
        self.guards.forget()
        self.registrations.forget()
        self._checkers.prepare_for(extension.tools)
        self.sampler.hurry(at_once=self.stats_file is not None)
        self.panels.prune()
        self.observers.tell_start(extension)
        for callback in self.on_change:
            callback(extension)

    def _called(self, extension: Extension, call: HostCall, answer: HostCallAnswer) -> None:
        if not self.calls_for_runs(extension, call, answer):
            self.calls_by_extensions.take(extension, call, answer)

    def _replaced(self, extension: Extension) -> None:
        self._sort()
        self._changed(extension)

    def _fell(self, extension: Extension, worker: Worker, fall: Fall) -> None:
        for callback in self.on_fall:
            callback(extension, worker, fall)

    def _noted(self, extension: Extension, level: str, message: str) -> None:
        self.panels.note(extension.name, level, message)
        self._on_note(extension, level, message)

    # --- events and requests ------------------------------------------------------------------------------

    def tell(self, event: frames.Event) -> None:
        """Sends an event to all extensions that observe it, see `Observers.tell`."""
        self.observers.tell(event)

    def intercept(self, event: frames.Event) -> Judgement:
        """Asks the guards of an event, and waits for the judgement, see `VerdictRequests.judge`."""
        return (self.verdicts.judge_and_tell if self.verdicts.on_judged else self.verdicts.judge)(event)

    def begin_intercept(self, event: frames.Event, done: Callable[[Judgement], None]) -> RequestInFlight:
        """Asks an event's guards; `done` gets the judgement. Raises `KeyError` for an event that cannot be guarded."""
        return self.verdicts.begin(event, done)

    def begin_call(
        self, owned: OwnedTool, args: bytes, done: Callable[[ToolAnswer], None],
        on_progress: Callable[[str], None] | None = None, tool_id: str = "", around: tuple[str, ...] = (),
        context: TraceContext | None = None,
    ) -> RequestInFlight:  # fmt: skip
        """Calls this tool, see `ToolCallInFlight`. `done` gets the answer, `on_progress` each progress message."""
        if context is None and self.begin_call_span is not None:
            context, done = self.begin_call_span(owned, args, tool_id, done)
        return ToolCallInFlight(self.loop, self._checkers, owned, args, done, on_progress, tool_id, around, context)

    def begin_command(self, owned: OwnedCommand, args: str, done: Callable[[CommandAnswer], None]) -> RequestInFlight:
        """Runs a slash command; `done` gets the answer."""
        return CommandInFlight(self.loop, owned, args, self.panels, done)

    def round_trip(self, extensions: Iterable[Extension], done: Callable[[], None], within_s: float) -> None:
        """Pings the lead of each extension that can be pinged: the lead gets the events. `done` is called once, in a
        later pass: when all earlier output of the leads is handled, or after `within_s` seconds."""
        asked = [lead for lead in {each.lead for each in extensions} if lead.state.is_up and lead.can_ping]
        RoundTrip(self.loop, [lead.channel.round_trips for lead in asked], done, within_s)

    def may_guard(self, event: str) -> bool:
        """Whether an extension guards this event, or a starting extension may guard it."""
        return bool(self.guards.of(event)) or not self.is_settled

    def cancel_pending(self, reason: str) -> None:
        """Cancels all pending calls, commands and verdicts. Late answers are ignored; the events that are being judged
        are blocked."""
        self.calls_by_extensions.cancel_all(reason)
        self.guards.cancel(reason)
        self._checkers.cancel_pending(reason)
        for extension in self.extensions:
            extension.cancel_pending(reason)

    # --- figures ------------------------------------------------------------------------------------------

    def sample(self) -> None:
        """Samples all process trees now."""
        if not self.closed:
            self.sampler.sample()

    def costs(self) -> dict[str, Cost]:
        """The costs of each extension so far, in guard order."""
        hosted = {each: self.sharing.figures(each).hosted for each in self.extensions}
        return {each.name: each.account.cost(each.state.value, hosted[each]) for each in self.extensions}

    def stats(self) -> dict[str, ExtensionStats]:
        """The stats of each extension as of the last sample, in guard order."""
        now = self.loop.clock()
        return {each.name: stats.of_extension(each, now, self.sharing.figures(each)) for each in self.extensions}

    def snapshot(self, kind: HostKind, version: str, cwd: str) -> Stats:
        """The stats of the host and of its extensions as of the last sample."""
        host = stats.of_host(
            self.loop, self.sampler, self._started, self._processes.task, self.sharing,
            kind=kind, version=version, cwd=cwd,
        )  # fmt: skip
        return Stats(time.time(), host, self.stats())

    def kill_now(self) -> None:
        """Sends SIGKILL to the process group of every worker: the user does not want to wait."""
        for extension in self.extensions:
            extension.forgo_restarts()
            for worker in extension.all_workers:
                worker.kill(signal.SIGKILL)

    # --- end ----------------------------------------------------------------------------------------------

    def stop(
        self, others: Iterable[Stoppable] = (), *, at_once: bool = False, wanted_all: bool = True,
        reason: frames.SessionEnd | None = None,
    ) -> None:  # fmt: skip
        """Stops all extensions and `others` at the same time, and all processes that they left. With `at_once` all get
        SIGKILL. With `wanted_all` a notice names each extension that has not said hello yet. `reason` is told to them:
        why the session ends."""
        if self.closed:
            return
        self.calls_by_extensions.close()
        self.observers.end_session(reason)
        self.closed = True
        try:
            if not at_once and self.extensions:
                self.sampler.sample(thorough=True)
            self.sampler.stop()
            for each in self.extensions:
                if wanted_all and each.state is WorkerState.SPAWNED and not each.is_settled:
                    waited = self.loop.clock() - each.started_at
                    self._on_notice(each, "failed", f"said no hello in the {waited:.1f} s of the run; stopped with it")
        finally:
            others = [*others, *self._checkers.stoppables(), *self.stall_profiles.stoppables()]
            self._stop_all(others, at_once=at_once)

    def _stop_all(self, others: Iterable[Stoppable], *, at_once: bool) -> None:
        left = {worker: known for extension in self.extensions for worker, known in extension.retire().items()}
        own: dict[Stoppable, Patience] = {each: each.patience for one in self.extensions for each in one.all_workers}
        stuck = self._processes.stop([*left, *others], at_once=at_once, known=left, patience_with=own)
        for extension in self.extensions:
            for worker in extension.all_workers:
                if worker in stuck:
                    self._on_notice(extension, "warning", f"process {worker.pid} could not be killed")
            extension.close()
        self._processes.close()
