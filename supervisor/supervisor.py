"""All extensions of one host: started together, asked in a fixed order, their tools merged, stopped together."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from supervisor.calls.catalogue import Catalogue, OwnedTool
from supervisor.calls.command_call import CommandAnswer, CommandInFlight
from supervisor.calls.guard_chain import GuardChain, VerdictInFlight
from supervisor.calls.guards import Guards
from supervisor.calls.panels import Screen
from supervisor.calls.tool_call import Answer, ToolCallInFlight
from supervisor.cleanup.env_marks import EXTENSION, TOKEN
from supervisor.cleanup.orphans import Orphans
from supervisor.cleanup.tracker import ProcessTracker
from supervisor.extension.extension import Extension, Listener
from supervisor.extension.lifecycle import State
from supervisor.loop.pending import Failure
from supervisor.loop.timestamp import Timestamp
from supervisor.monitoring import stats as reports
from supervisor.monitoring.sampler import Sampler
from supervisor.process import fd_limit
from supervisor.process.shared_table import SharedProcessTable
from supervisor.process.table import become_subreaper
from supervisor.process.teardown import stop_all, sweep
from wire import frames
from wire.dialects.zot import ZotDialect

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from supervisor.calls.request import InFlight
    from supervisor.calls.verdict import Judgement
    from supervisor.discovery.discover import Found
    from supervisor.extension.notices import Kind
    from supervisor.extension.worker import Shown, Worker
    from supervisor.loop.loop import Loop
    from supervisor.monitoring.stats_file import Recording
    from supervisor.process.table import ProcessTable
    from supervisor.process.teardown import Stoppable
    from wire.dialects.base import HostInfo
    from wire.events import Cost, Record
    from wire.manifest import Limits
    from wire.stats import ExtensionStats, HostKind, HostStats

OnAsked = Callable[[str, str, str, Timestamp, str], None]
"""Gets `tool_call` or `intercept`, the name of the tool or event, the extension that answered or blocked, when it
began, and what went wrong."""

__all__ = ["Answer", "OwnedTool", "Supervisor"]


class Supervisor(Listener):
    """Owns the extensions.

    `on_notice` hears what a user should know of an extension, `on_note` what an extension itself wants to say,
    `on_show` of notes and panels as records of the event stream. They are called from within the loop and must not
    wait. With `owns_process` every process below this one is taken to be
    the extensions' doing: daemons that left their tree are adopted, and ended with the rest. Not for a host that is
    embedded in a program with children of its own.

    With a `runtime_folder` (`runtime_dir()`) what a killed host leaves is ended: by a watchdog process, or by the next
    host that starts. `say` hears of that, in lines for the user.
    """

    def __init__(
        self,
        loop: Loop,
        *,
        host: HostInfo,
        logs: Path,
        strict_guards: bool = False,
        owns_process: bool = False,
        reserved_tools: Collection[str] = (),
        limits: Limits | None = None,
        runtime_folder: Path | None = None,
        say: Callable[[str], None] | None = None,
        on_notice: Callable[[Extension, Kind, str], None] | None = None,
        on_note: Callable[[Extension, str, str], None] | None = None,
        on_show: Callable[[Record], None] | None = None,
    ) -> None:
        self.loop = loop
        self.extensions: list[Extension] = []
        self.token = os.urandom(16).hex()
        """In the environment of every child: by it they are found when this host is not there any more."""
        self._host = host
        self._logs = logs
        self._limits = limits
        self._owns_process = owns_process
        self._on_notice = on_notice
        self._on_note = on_note
        self._dialect = ZotDialect()
        self.screen = Screen(loop, on_show or _unseen)
        """The notes and panels of extensions."""
        self._env: Mapping[str, str] | Callable[[Found], Mapping[str, str]] = {}
        self.data_folder: Path | None = None
        """Where the data folders of all extensions are."""
        self._session_begun = False
        self._started = (loop.clock(), time.time())
        self._shared_table = SharedProcessTable(loop)
        self._tracker: ProcessTracker | None = None
        if runtime_folder is not None:
            self._tracker = ProcessTracker(
                loop,
                self.token,
                folder=runtime_folder,
                version=host.version,
                owns_process=owns_process,
                say=say or _unheard,
            )
        self._orphans = Orphans(loop, self.token, self._tracker)
        self._guards = Guards(loop, self.extensions, self._dialect, strict=strict_guards)
        self._chain = GuardChain(loop, self._guards, self._dialect)
        self._catalogue = Catalogue(self.extensions, reserved_tools)
        self.tools = self._catalogue.tools
        self.owner_of = self._catalogue.owner_of
        self.commands = self._catalogue.commands
        self.guards_of = self._guards.of
        self.cancel_pending = self._guards.cancel_pending
        self.on_asked: OnAsked | None = None
        """Called when a verdict has ended, or a tool call of a client of the control socket."""
        self.on_sample: list[Callable[[], None]] = []
        """Called after each look at the process trees."""
        self.sampler = Sampler(loop, self.extensions, adopted=self.adopted, on_sample=self._sampled)
        self.closed = False

    # --- start --------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Sees to it that nothing will be left behind, before this process starts its first child. `start` does it too,
        which is soon enough unless a program has the kernel limit its extensions (cgroups)."""
        if self._owns_process:
            self._shared_table.is_subreaper = become_subreaper()
            os.environ[TOKEN] = self.token  # so that whatever this process starts can be known by it
        self._shared_table.hold()
        if self._tracker is not None:
            self._tracker.open()

    def start(
        self,
        found: Iterable[Found],
        env: Mapping[str, str] | Callable[[Found], Mapping[str, str]],
        data: Path | None = None,
    ) -> None:
        """Starts all of them at once and returns; `settle` waits for them. `env` is the same for all, or says what each
        gets. `data` is the folder of their data folders; without it each has its own folder for that."""
        found = list(found)
        self._env = env
        self.data_folder = data
        self.prepare()
        self.provide_for(sum(one.manifest.workers for one in found))
        for one in found:
            self._start(one)
        if self.extensions:
            self.sampler.start()

    def add(self, found: Found) -> Extension:
        """Starts one more, in its place among the guards."""
        self.provide_for(found.manifest.workers)
        extension = self._start(found)
        self._sort()
        self.sampler.start()
        return extension

    def _start(self, found: Found) -> Extension:
        self._guards.expect_more()
        extension = Extension(
            self.loop, found, host=self._host, logs=self._logs, listener=self, limits=self._limits,
            tracker=self._tracker,
            shared_table=self._shared_table,
        )  # fmt: skip
        self.extensions.append(extension)
        extension.start(self.environment_of(found), self.data_folder)
        return extension

    def provide_for(self, workers: int) -> None:
        """Sees to it that there are descriptors for so many more processes."""
        if self._owns_process:
            fd_limit.provide(sum(len(one.all_workers) for one in self.extensions) + workers)

    def _sort(self) -> None:
        self.extensions.sort(key=lambda one: one.found.order)
        self._guards.forget()
        self._catalogue.forget()

    def environment_of(self, found: Found) -> dict[str, str]:
        """What processes of this extension find in their environment."""
        env = self._env(found) if callable(self._env) else self._env
        return {**env, EXTENSION: found.manifest.name, TOKEN: self.token}

    @property
    def is_settled(self) -> bool:
        """Every extension is ready or has failed."""
        return self._guards.is_settled

    def settle(self, deadline: float, enough: Callable[[], bool] | None = None) -> bool:
        """Waits until every extension is ready or has failed, `enough` holds, or the deadline passes."""
        return self.loop.run_until(lambda: self.is_settled or (enough is not None and enough()), deadline)

    def find(self, name: str) -> Extension:
        """Raises `KeyError`."""
        for extension in self.extensions:
            if extension.name == name:
                return extension
        raise KeyError(name)

    def restart(self, name: str) -> None:
        """Ends an extension in order and starts it anew, whatever had become of it. Raises `KeyError`."""
        self.find(name).restart()
        self.sampler.hurry()

    # --- what they registered -----------------------------------------------------------------------------

    def may_guard(self, event: str) -> bool:
        """Whether somebody guards it, or may yet turn out to."""
        return bool(self.guards_of(event)) or not self.is_settled

    def replaced(self, extension: Extension) -> None:
        self._sort()
        self.registered(extension)

    def registered(self, extension: Extension) -> None:
        self._guards.forget()
        self._catalogue.forget()
        self.sampler.hurry()
        self.screen.prune()
        self._tell_of_session(extension)

    # --- telling and asking -------------------------------------------------------------------------------

    def tell(self, event: frames.Event) -> None:
        """Passes an event to all who observe it, in the order of the calls."""
        frame: bytes | None = None
        for extension in self.extensions:
            if event.event in extension.observes:
                frame = frame or self._dialect.tell(event)
                extension.tell(frame, everyone=event.event == "session_end")  # as all have heard of the start

    def begin_session(self) -> None:
        """Tells of the session's start: now to those that are there, and to the others as soon as they subscribe."""
        self._session_begun = True
        for extension in self.extensions:
            self._tell_of_session(extension)

    def _tell_of_session(self, extension: Extension) -> None:
        if self._session_begun and "session_start" in extension.observes:
            for worker in extension.workers:
                if worker.state.is_up and not worker.knows_session:
                    worker.knows_session = True
                    worker.tell(self._dialect.tell(frames.Event("session_start")))

    def begin_call(
        self,
        tool: str,
        args: bytes,
        done: Callable[[Answer], None],
        on_progress: Callable[[str], None] | None = None,
    ) -> InFlight:
        """Calls a tool; `done` hears the answer. Raises `KeyError` if there is no such tool now."""
        owned = self._catalogue.tool(tool)
        if (heard := self.on_asked) is not None:
            began, answered = Timestamp.now(), done

            def done(answer: Answer) -> None:
                heard("tool_call", tool, owned.owner.name, began, answer.reason)
                answered(answer)

        return ToolCallInFlight(self.loop, owned, args, done, on_progress)

    def begin_command(self, name: str, args: str, done: Callable[[CommandAnswer], None]) -> InFlight:
        """Runs a slash command; `done` hears what it said. A panel that it opens is open by then. Raises `KeyError` if
        there is none of that name now."""
        owned = self._catalogue.commands()[name]

        def answered(answer: CommandAnswer) -> None:
            frame = answer.frame
            if frame is not None and frame.action == "open_panel" and not frame.error and answer.worker is not None:
                refusal = "it names no panel to open"
                if frame.open_panel is not None:
                    refusal = self.screen.open(owned.owner, answer.worker, frame.open_panel) or ""
                if refusal:
                    answer = CommandAnswer(None, Failure.BAD_ANSWER, refusal)
            done(answer)

        return CommandInFlight(self.loop, owned, args, answered)

    def start_call(
        self, owned: OwnedTool, args: bytes, done: Callable[[Answer], None], on_progress: Callable[[str], None]
    ) -> InFlight:
        """Calls a tool of the caller's choice, whom `on_progress` keeps up to date."""
        return ToolCallInFlight(self.loop, owned, args, done, on_progress)

    def intercept(self, event: frames.Event) -> Judgement:
        """Asks the guards of an event and waits for their judgement: see `GuardChain.judge`."""
        if (heard := self.on_asked) is None or not self.guards_of(event.event):
            return self._chain.judge(event)
        began = Timestamp.now()
        judgement = self._chain.judge(event)
        heard("intercept", event.event, judgement.blocked_by or "", began, judgement.reason)
        return judgement

    def begin_intercept(self, event: frames.Event, done: Callable[[Judgement], None]) -> InFlight:
        """Asks the guards of an event; `done` hears the judgement. Raises `KeyError` for what cannot be guarded."""
        if (heard := self.on_asked) is not None:
            began, answered = Timestamp.now(), done

            def done(judgement: Judgement) -> None:
                heard("intercept", event.event, judgement.blocked_by or "", began, judgement.reason)
                answered(judgement)

        return VerdictInFlight(self.loop, self._guards, self._dialect, event, done)

    # --- watching -----------------------------------------------------------------------------------------

    def noticed(self, extension: Extension, kind: Kind, message: str) -> None:
        if self._on_notice is not None:
            self._on_notice(extension, kind, message)

    def showed(self, extension: Extension, worker: Worker, frame: Shown) -> None:
        self.screen.showed(extension, worker, frame)

    def noted(self, extension: Extension, level: str, message: str) -> None:
        self.screen.note(extension.name, level, message)
        if self._on_note is not None:
            self._on_note(extension, level, message)

    def adopted(self, table: ProcessTable, extension: str, start: str | None = None) -> Iterable[int]:
        return self._orphans.of(table, extension, start) if self._owns_process else ()

    def sample(self) -> None:
        """Looks at all process trees now."""
        if not self.closed:
            self.sampler.sample()

    def _sampled(self) -> None:
        for callback in self.on_sample:
            callback()

    @property
    def sampled_at(self) -> float:
        return self.sampler.sampled_at

    def costs(self) -> dict[str, Cost]:
        """What each extension has cost so far, in guard order."""
        return {one.name: one.account.cost(one.state.value) for one in self.extensions}

    def stats(self) -> dict[str, ExtensionStats]:
        """What each extension is and uses now, as of the last sample, in guard order."""
        now = self.loop.clock()
        return {one.name: reports.of_extension(one, now) for one in self.extensions}

    def write_stats(
        self,
        kind: HostKind,
        version: str,
        cwd: str,
        *,
        stats_file: Path | None,
        metrics_file: Path | None,
        on_error: Callable[[str], None],
    ) -> Recording:
        """Writes the figures to these files from now on; `close` what is returned after `stop`. `on_error` gets a line
        for the user. Raises `RecordingError`."""
        from supervisor.monitoring.stats_file import Recording

        recording = Recording(
            self.loop.clock,
            lambda: self.host_stats(kind, version, cwd),
            self.stats,
            stats_file=stats_file,
            metrics_file=metrics_file,
            on_error=on_error,
        )
        self.on_sample.append(lambda: recording.sampled(is_last=self.closed))
        if stats_file is not None:
            self.on_asked = recording.asked
        return recording

    def host_stats(self, kind: HostKind, version: str, cwd: str) -> HostStats:
        return reports.of_host(self.loop, self.sampler, self._started, kind=kind, version=version, cwd=cwd)

    def kill_now(self) -> None:
        """SIGKILL for every process group, without asking: the user does not want to wait."""
        for extension in self.extensions:
            extension.forgo_restarts()
            for worker in extension.all_workers:
                worker.kill(signal.SIGKILL)

    # --- end ----------------------------------------------------------------------------------------------

    def stop(self, others: Iterable[Stoppable] = (), *, at_once: bool = False, wanted_all: bool = True) -> None:
        """Stops all extensions, and `others` with them, at the same time, and whatever they left running. Of those that
        had not said hello yet a user is told, unless not all were wanted."""
        if self.closed:
            return
        if self._session_begun:
            self.tell(frames.Event("session_end"))
        self.closed = True
        try:
            self._look_back(at_once=at_once, wanted_all=wanted_all)
        finally:
            self._stop_all(others, at_once=at_once)

    def _look_back(self, *, at_once: bool, wanted_all: bool) -> None:
        """What can be known only while they run."""
        if not at_once and self.extensions:
            self.sampler.sample(thorough=True)
        self.sampler.stop()
        for extension in self.extensions:
            if wanted_all and extension.state is State.SPAWNED and not extension.is_settled:
                waited = self.loop.clock() - extension.started_at
                self.noticed(extension, "failed", f"said no hello in the {waited:.1f} s of the run; stopped with it")

    def _stop_all(self, others: Iterable[Stoppable], *, at_once: bool) -> None:
        left = {worker: known for one in self.extensions for worker, known in one.retire().items()}
        stuck = stop_all(self.loop, [*left, *others], at_once=at_once, known=left, shared_table=self._shared_table)
        if self._owns_process:
            sweep(self.loop)
        for extension in self.extensions:
            for worker in extension.all_workers:
                if worker in stuck:
                    self.noticed(extension, "warning", f"process {worker.pid} could not be killed")
            extension.close()
        if self._tracker is not None:
            self._tracker.close()
        self._shared_table.close()


def _unseen(_record: Record) -> None:
    """Nobody looks at what extensions show."""


def _unheard(_line: str) -> None:
    """A host that is embedded may have nobody to tell."""
