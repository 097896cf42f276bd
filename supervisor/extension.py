"""One extension: the processes that serve it, kept running as its restart policy says, and what they have in common.

Nothing that it does reaches beyond it. When a process ends, what was asked of it fails at once; while none is up its
tools fail at once, its guards give no verdict and its observers miss events, which are counted.
"""

from __future__ import annotations

import random
import signal
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from supervisor.accounting import Account
from supervisor.evidence import evidence
from supervisor.launching import Confinement, launch
from supervisor.lifecycle import Occurrence, State
from supervisor.limits import LOG_MB
from supervisor.logs import ExtensionLog, one_line
from supervisor.lookout import Lookout
from supervisor.restart import Again, Cause, Decision, Ending, GivenUp, History, decide
from supervisor.termination import Stage, Teardown
from supervisor.voice import NOTICE_LENGTH, Kind, Voice
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
    from supervisor.loop import Loop, Timer
    from supervisor.processes import Process, ProcessTable
    from supervisor.registrations import Command, Tool
    from supervisor.registry import Registry
    from supervisor.termination import Stoppable
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


@dataclass
class Place:
    """One of the extension's workers, and what is to become of it."""

    worker: Worker
    history: History = field(default_factory=History)
    due: float | None = None
    """When another process is to take this place; None if none is."""
    timer: Timer | None = None
    teardown: Teardown | None = None
    """While what is left of its last process is being ended."""
    starts: int = 0


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
        self.places = [Place(self._new_worker(index)) for index in range(found.manifest.workers)]
        self.lead = self.places[0].worker
        """The worker that is asked for verdicts and told of events."""
        self._reference = self.lead.registry
        self._agreed = self.lead.registry
        """What the workers had all registered by the time when they got ready."""

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
        place.due = place.timer = None
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
            place.history = History()
            self._cancel_timer(place)
            place.due = self._loop.clock()
            if place.teardown is not None:
                continue
            if place.worker.is_running:
                self._tear_down(place, Stage.ASKED)
            else:
                self._loop.call_later(0, lambda place=place: self._refill(place))  # type: ignore[misc]
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
        if worker.child is not None:
            self._tear_down(place, Stage.KILLED if ending.cause is Cause.OVER_LIMIT else Stage.TERMINATED)
        if isinstance(decision, Again) and not self._retired:
            worker.replaced(Occurrence.RETRY, f"{worker.failure}; it is started again in {decision.delay_s:.1f} s")
            place.due = now + decision.delay_s
            place.timer = self._loop.call_at(place.due, lambda: self._refill(place))
        self._settled = self._settled or all(one.state.is_settled for one in self.workers)
        self._report(worker, ending, reason, decision)
        self._choose_lead()

    def _report(self, worker: Worker, ending: Ending, reason: str, decision: Decision) -> None:
        """What a user hears of an end; of an extension that is given up everything else is told in these words too."""
        if self._retired and ending.cause is Cause.EXIT:
            return  # it was killed with the rest
        said = self.voice.last_words()
        log = f" (log: {self.log.path})"
        if isinstance(decision, GivenUp):
            last = self.account.exit_status if ending.cause is Cause.EXIT else reason
            worker.failure = one_line(
                f"{decision.exits} exits in {decision.span_s:.0f} s, last {last}{said}", NOTICE_LENGTH
            )
            self.voice.tell("failed", worker.failure, f"; given up: zot ext restart {self.name} tries again{log}")
            return
        then = ""
        if isinstance(decision, Again):
            then = f"; starting it again in {decision.delay_s:.1f} s" if not self._retired else ""
        elif ending.cause not in (Cause.UNSTARTABLE, Cause.DISAGREES) and self.manifest.restart.policy != "temporary":
            then = f"; not started again: {decision.why}"
        kind: Kind = "failed"
        if ending.cause is Cause.OVER_LIMIT:
            kind = "limit"
        elif isinstance(decision, Again) or (ending.was_ready and ending.cause is Cause.EXIT):
            kind = "exited"
        self.voice.tell(kind, reason, f"{said}{then}{log}")

    def _tear_down(self, place: Place, first: Stage) -> None:
        """Ends what is left of a worker's process tree."""

        def over() -> None:
            assert place.teardown is not None
            if place.teardown.stuck:
                self.voice.warn("stuck", f"process {place.worker.pid} could not be killed")
            place.teardown = None
            if self._custody is not None and place.worker.child is not None:
                self._custody.ended(place.worker.child.identity)
            self._refill(place)

        place.teardown = Teardown(
            self._loop, [place.worker], first=first, on_over=over, adopted=self._adopted, lookout=self._lookout
        )

    def _adopted(self, table: ProcessTable, _owner: Stoppable) -> Iterable[int]:
        return self._listener.adopted(table, self.name) if len(self.places) == 1 else ()

    def collected(self, worker: Worker) -> None:
        if self._custody is not None and worker.child is not None:
            self._custody.collected(worker.child.identity)

    def gone(self, worker: Worker) -> None:
        teardown = self.places[worker.index].teardown
        if teardown is not None:
            teardown.hurry()

    def _refill(self, place: Place) -> None:
        """Starts another process, once it is due and nothing of the last one is left."""
        if self._retired or place.due is None or place.teardown is not None or self._loop.clock() < place.due:
            return
        place.worker = self._new_worker(place.worker.index)
        self._choose_lead()
        self._start(place)

    def _cancel_timer(self, place: Place) -> None:
        if place.timer is not None:
            place.timer.cancel()
            place.timer = None

    def forgo_restarts(self) -> None:
        """No more starts: what ends from now on has ended for good."""
        self._retired = True

    def retire(self) -> dict[Stoppable, Iterable[Process]]:
        """No more starts; returns the workers, whose processes the caller is to end, each with what is known to be
        left of it besides."""
        self._retired = True
        left: dict[Stoppable, Iterable[Process]] = dict.fromkeys(self.workers, ())
        for place in self.places:
            self._cancel_timer(place)
            place.due = None
            if place.teardown is not None:
                left[place.worker] = place.teardown.cancel()
                place.teardown = None
        return left

    def close(self) -> None:
        self.voice.close()
