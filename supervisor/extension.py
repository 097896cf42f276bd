"""One extension: the processes that serve it, kept running as its restart policy says, and what they have in common.

Nothing that it does reaches beyond it. When a process ends, what was asked of it fails at once; while none is up its
tools fail at once, its guards give no verdict and its observers miss events, which are counted.
"""

from __future__ import annotations

import random
import signal
from dataclasses import replace
from typing import TYPE_CHECKING

from supervisor.accounting import Account
from supervisor.evidence import evidence
from supervisor.launching import Confinement, launch
from supervisor.lifecycle import State
from supervisor.limits import LOG_MB
from supervisor.logs import ExtensionLog, one_line
from supervisor.lookout import Lookout
from supervisor.obituary import obituary
from supervisor.place import Place
from supervisor.restart import Again, Cause, Decision, Ending, Left, decide
from supervisor.termination import Stage
from supervisor.voice import NOTICE_LENGTH, Voice
from supervisor.watchdog import Watchdog
from supervisor.worker import Worker
from wire.framing import DEFAULT_FRAME_LIMIT
from wire.zot import ZotDialect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from supervisor.cgroups import Leaf
    from supervisor.child import Child
    from supervisor.custody import Custody
    from supervisor.discovery import Found
    from supervisor.loop import Loop
    from supervisor.processes import Process, ProcessTable
    from supervisor.registrations import Command, Tool
    from supervisor.registry import Registry
    from supervisor.termination import Stoppable
    from supervisor.voice import Kind
    from wire.dialect import HostInfo
    from wire.manifest import Limits

DUMP_S = 0.5
"""From SIGQUIT until a process that hangs is ended: time to write where it is."""

BEST_FIRST = (
    State.READY, State.GREETED, State.SPAWNED, State.BACKOFF, State.STOPPING, State.FAILED, State.EXITED,
)  # fmt: skip


class Listener:
    """What an extension tells its supervisor. The methods do nothing; a listener overrides what it wants."""

    def registered(self, extension: Extension) -> None:
        """Its tools, commands, subscriptions or its state changed."""

    def noticed(self, extension: Extension, kind: Kind, message: str) -> None:
        """Something that a user should know, in one line."""

    def noted(self, extension: Extension, level: str, message: str) -> None:
        """It sent a note for the user."""

    def adopted(self, table: ProcessTable, extension: str) -> Iterable[int]:  # noqa: ARG002
        """Processes of this extension that have left its trees."""
        return ()


class Extension:
    def __init__(
        self,
        loop: Loop,
        found: Found,
        *,
        host: HostInfo,
        logs: Path,
        listener: Listener,
        limits: Limits | None = None,
        custody: Custody | None = None,
        dice: Callable[[], float] = random.random,
        lookout: Lookout | None = None,
    ) -> None:
        self.found = found
        self.manifest = found.manifest
        self.name = found.manifest.name
        self.timeouts = found.manifest.timeouts
        self.limits = found.manifest.limits if limits is None else found.manifest.limits.over(limits)
        self.account = Account()
        self.log = ExtensionLog(logs, self.name, total=int((self.limits.log_mb or LOG_MB) * 2**20))
        self.started_at = loop.clock()
        self.was_ready = False
        """Whether any process of it ever was."""
        self._loop = loop
        self._host = host
        self._listener = listener
        self._dialect = ZotDialect(min(DEFAULT_FRAME_LIMIT, self.limits.output_bytes or DEFAULT_FRAME_LIMIT))
        self._dice = dice
        self._lookout = lookout or Lookout(loop)
        self._custody = custody
        self._env: dict[str, str] = {}
        self._retired = False
        self._settled = False
        self.voice = Voice(
            loop,
            self.log,
            self.account,
            on_notice=lambda kind, message: listener.noticed(self, kind, message),
            on_note=lambda level, message: listener.noted(self, level, message),
        )
        self._stalling: dict[Worker, str] = {}
        """Those that hang, and why, while they are to write where they are."""
        self.places = [self._new_place(index) for index in range(found.manifest.workers)]
        self.lead = self.places[0].worker
        """The worker that is asked for verdicts and told of events."""
        self._reference = self.lead.registry
        self._agreed = self.lead.registry
        """What the workers had all registered by the time when they got ready."""

    def _new_place(self, index: int) -> Place:
        return Place(
            self._loop,
            self._new_worker(index),
            self._lookout,
            on_free=self._fill,
            on_cleared=self._cleared,
            adopted=self._adopted,
        )

    def _new_worker(self, index: int) -> Worker:
        return Worker(
            self._loop, self, self._dialect, host=self._host, folder=str(self.found.folder), index=index
        )  # fmt: skip

    # --- what it is -----------------------------------------------------------------------------------------

    @property
    def workers(self) -> list[Worker]:
        return [place.worker for place in self.places]

    @property
    def state(self) -> State:
        """That of the worker that is best off."""
        return min((worker.state for worker in self.workers), key=BEST_FIRST.index)

    @property
    def is_up(self) -> bool:
        return any(place.worker.state.is_up for place in self.places)

    @property
    def is_settled(self) -> bool:
        """Its start has come to an end, once. Starts after that are nobody's to wait for."""
        return self._settled

    @property
    def is_given_up(self) -> bool:
        """Nothing of it runs or will be started."""
        return all(worker.state in (State.FAILED, State.EXITED) for worker in self.workers)

    @property
    def start_s(self) -> float:
        """Seconds within which it must be ready, by its own deadlines."""
        return (self.timeouts.hello or self.found.default_hello_s) + self.timeouts.ready

    @property
    def failure(self) -> str:
        """Why it is of no use now; empty while it is."""
        return "" if self.is_up else self.lead.failure

    @property
    def registry(self) -> Registry:
        """What its present or last process has registered; during a restart still what the one before had."""
        return self._reference

    @property
    def tools(self) -> dict[str, Tool]:
        return self._reference.tools

    @property
    def commands(self) -> dict[str, Command]:
        return self._reference.commands

    @property
    def observes(self) -> set[str]:
        return self._reference.observes

    @property
    def guards(self) -> set[str]:
        return self._reference.guards

    @property
    def child(self) -> Child | None:
        return self.lead.child

    @property
    def pid(self) -> int | None:
        return self.lead.pid

    # --- start ----------------------------------------------------------------------------------------------

    def start(self, env: Mapping[str, str]) -> None:
        """Starts its processes. What cannot be started leaves it failed, and the reason noticed."""
        self.log.note(f"starting {self.name} {self.manifest.version or ''}".rstrip())
        if self.log.error is not None:
            self.voice.log_failed(self.log.error)
        self.log.on_error = self.voice.log_failed
        self._env = dict(env)
        for place in self.places:
            self._start(place)

    def _start(self, place: Place) -> None:
        place.starts += 1
        leaf: Leaf | None = None

        def argv() -> list[str]:
            nonlocal leaf
            command, folder = self.found.argv, str(self.found.folder)
            if self._custody is None:
                return launch(command, Confinement.of(self.limits), cwd=folder, env=self._env)
            command, leaf = self._custody.confine(self.name, command, self.limits, cwd=folder, env=self._env)
            return command

        worker = place.worker
        started = worker.start(argv, self._env, self.timeouts.hello or self.found.default_hello_s)
        if self._custody is not None:
            if started and worker.child is not None:
                self._custody.started(worker.child.identity, leaf)
            else:
                self._custody.release(leaf)

    def got_ready(self, worker: Worker) -> None:
        place = self.places[worker.index]
        others = [one for one in self.workers if one is not worker and one.state is State.READY]
        if others and (difference := worker.registry.difference(self._agreed)) is not None:
            reason = f"worker {worker.index + 1} is not like the others: {difference}"
            worker.give_up(reason, Cause.DISAGREES)
            return
        if not others:
            self._agreed = worker.registry.snapshot()
        self.was_ready = self._settled = True
        if self.manifest.watchdog_s is not None and worker.can_ping:
            Watchdog(self._loop, worker, self.manifest.watchdog_s, self._stall)
        self._choose_lead()
        if place.starts > 1:
            self.account.restarts += 1
            down = "" if len(self.places) == 1 else f" (worker {worker.index + 1})"
            self.voice.tell("restarted", f"ready again, restart {self.account.restarts}{down}")
        elif not others:
            self.voice.tell("started", "ready")

    def registered(self, worker: Worker) -> None:
        if worker.state.is_up and not self.lead.state.is_up:
            self._choose_lead()
        elif worker.registry is self._reference or worker is self.lead:
            self._listener.registered(self)

    def _choose_lead(self) -> None:
        """The first that is up; else the first whose place will be filled; else the first."""
        self.lead = min(self.workers, key=lambda one: (BEST_FIRST.index(one.state), one.index))
        if self.lead.state is State.READY:
            self._reference = self.lead.registry
        self._listener.registered(self)

    # --- asking and telling ---------------------------------------------------------------------------------

    def least_busy(self, besides: Worker | None = None) -> Worker:
        """The worker to ask next: of those that are up the one that owes the fewest answers; else the lead, which
        fails at once."""
        up = [one for one in self.workers if one.state.is_up and one is not besides]
        return min(up, key=lambda one: len(one.pending)) if up else self.lead

    def tell(self, event: bytes, *, everyone: bool = False) -> None:
        """Passes an event on: to one of its workers, or to all of them. Missed ones are counted."""
        if not self.is_up:
            self.account.events_dropped += 1
            return
        for worker in self.workers if everyone else (self.lead,):
            if worker.state.is_up:
                worker.tell(event)

    def cancel_pending(self, reason: str) -> None:
        """Gives up all calls under way; late answers are ignored."""
        for worker in self.workers:
            worker.cancel_pending(reason)

    # --- health ---------------------------------------------------------------------------------------------

    def ran_out_of_time(self, worker: Worker) -> None:
        row = worker.timeouts_in_row
        if row >= self.manifest.stall_after:
            self._stall(worker, f"{row} request{'s' * (row > 1)} in a row without an answer in time")

    def _stall(self, worker: Worker, why: str) -> None:
        if worker in self._stalling or not worker.state.is_up:
            return
        self._stalling[worker] = why
        self.log.note(f"hangs: {why}")
        for line in evidence(worker):
            self.log.note(line)
        for line in self.log.last_lines():
            self.log.note(f"its stderr before that: {line}")

        def end() -> None:
            worker.give_up(f"it hangs: {why}", Cause.STALLED)

        if self.manifest.dump_on_stall:
            worker.kill(signal.SIGQUIT)
            self._loop.call_later(DUMP_S, end)
        else:
            end()

    def over_limit(self, worker: Worker, figures: str) -> None:
        """Ends the worker, to be started again or not as its limits say."""
        if worker.state.is_settled and worker.state is not State.READY:
            return  # it is ending already
        self.account.limit_breaches += 1
        self.log.note(f"over its limits: {figures}")
        worker.give_up(f"it is over its limits: {figures}", Cause.OVER_LIMIT)

    def restart(self) -> None:
        """Ends what runs of it, in order, and starts it anew, whatever had become of it."""
        self.log.note("a user asks to start it again")
        for place in self.places:
            place.worker.failure = "it is being started again"
            place.renew()
        self._choose_lead()

    # --- end of a process -----------------------------------------------------------------------------------

    def ended(self, worker: Worker, ending: Ending, reason: str) -> None:
        if (why := self._stalling.pop(worker, None)) is not None:
            ending = replace(ending, cause=Cause.STALLED)  # be it that it took SIGQUIT for its end
            reason = worker.failure = f"it hangs: {why}"
        place = self.places[worker.index]
        now = self._loop.clock()
        decision, place.history = decide(
            self.manifest.restart,
            place.history,
            ending,
            now=now,
            dice=self._dice(),
            stop_on_limit=self.limits.action == "stop",
        )
        if self._retired and isinstance(decision, Again):
            decision = Left("its host stops")
        if worker.child is not None:
            place.clear(Stage.KILLED if ending.cause is Cause.OVER_LIMIT else Stage.TERMINATED)
        self._settled = self._settled or all(one.state.is_settled for one in self.workers)
        if not (self._retired and ending.cause is Cause.EXIT):  # else it was killed with all others
            self._report(worker, ending, reason, decision)
        if isinstance(decision, Again):
            worker.retry()
            place.fill_later(decision.delay_s)
        self._choose_lead()

    def _report(self, worker: Worker, ending: Ending, told: str, decision: Decision) -> None:
        said = obituary(
            self.name,
            ending,
            decision,
            reason=worker.failure,
            told=told,
            exit_status=self.account.exit_status,
            last_words=self.voice.last_words(),
            log=str(self.log.path),
            is_silent=ending.cause in (Cause.UNSTARTABLE, Cause.DISAGREES)
            or self.manifest.restart.policy == "temporary",
        )
        worker.failure = one_line(said.failure, NOTICE_LENGTH)
        self.voice.tell(said.kind, said.message, said.evidence)

    def _cleared(self, worker: Worker, is_stuck: bool) -> None:
        if is_stuck:
            self.voice.warn("stuck", f"process {worker.pid} could not be killed")
        if self._custody is not None and worker.child is not None:
            self._custody.ended(worker.child.identity)

    def _adopted(self, table: ProcessTable, _owner: Stoppable) -> Iterable[int]:
        return self._listener.adopted(table, self.name) if len(self.places) == 1 else ()

    def collected(self, worker: Worker) -> None:
        if self._custody is not None and worker.child is not None:
            self._custody.collected(worker.child.identity)

    def gone(self, worker: Worker) -> None:
        self.places[worker.index].hurry()

    def _fill(self, place: Place) -> None:
        if not self._retired:
            self.log.note(f"starting {self.name} again")
            place.worker = self._new_worker(place.worker.index)
            self._choose_lead()
            self._start(place)

    def forgo_restarts(self) -> None:
        """No more starts: what ends from now on has ended for good."""
        self._retired = True

    def retire(self) -> dict[Stoppable, Iterable[Process]]:
        """No more starts; returns the workers, whose processes the caller is to end, each with what is known to be
        left of it besides."""
        self._retired = True
        return {place.worker: place.retire() for place in self.places}

    def close(self) -> None:
        self.voice.close()
