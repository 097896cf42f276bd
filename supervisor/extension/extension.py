"""One extension: the processes of its present version, of one that is to take their place, and of those that leave.

Nothing that it does reaches beyond it. When a process ends, what was asked of it fails at once; while none is up its
tools fail at once, its guards give no verdict and its observers miss events, which are counted.
"""

from __future__ import annotations

import random
from functools import partial
from typing import TYPE_CHECKING

from supervisor.accounting.account import Account
from supervisor.extension.generation import BEST_FIRST, Generation
from supervisor.extension.generation_state import DRAINING_LIMIT, FAILED, GenerationState, GenerationTrigger, advance
from supervisor.extension.lifecycle import State
from supervisor.process.shared_table import SharedProcessTable
from wire.control import ReloadOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from supervisor.cleanup.tracker import ProcessTracker
    from supervisor.discovery.discover import Found
    from supervisor.extension.log import ExtensionLog
    from supervisor.extension.notices import Kind, Notices
    from supervisor.extension.slot import WorkerSlot
    from supervisor.extension.worker import Shown, Worker
    from supervisor.loop.loop import Loop
    from supervisor.process.child import Child
    from supervisor.process.table import Process, ProcessTable
    from supervisor.process.teardown import Stoppable
    from supervisor.registry.registration import Command, Tool
    from supervisor.registry.registry import Registry
    from wire.dialects.base import HostInfo
    from wire.manifest import Limits


class Listener:
    """What an extension tells its supervisor. The methods do nothing; a listener overrides what it wants."""

    def registered(self, extension: Extension) -> None:
        """Its tools, commands, subscriptions or its state changed."""

    def replaced(self, extension: Extension) -> None:
        """Another version of it is asked and told from now on. All that `registered` means, and its place among the
        guards may be another one."""

    def noticed(self, extension: Extension, kind: Kind, message: str) -> None:
        """Something that a user should know, in one line."""

    def noted(self, extension: Extension, level: str, message: str) -> None:
        """It sent a note for the user."""

    def showed(self, extension: Extension, worker: Worker, frame: Shown) -> None:
        """It has something on the user's screen changed."""

    def adopted(self, table: ProcessTable, extension: str, start: str | None = None) -> Iterable[int]:  # noqa: ARG002
        """Processes of this extension that have left its trees: all of them, or those that one start of it has left."""
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
        tracker: ProcessTracker | None = None,
        dice: Callable[[], float] = random.random,
        shared_table: SharedProcessTable | None = None,
    ) -> None:
        self.name = found.manifest.name
        self.account = Account()
        self.started_at = loop.clock()
        self.was_ready = False
        """Whether any process of it ever was."""
        self.reloads = 0
        """How often another version has taken over."""
        self.is_stopped = False
        """A reload has stopped it, and nothing has started it since."""
        self.on_settled: Callable[[], None] | None = None
        """Called when its start has come to an end."""
        self._loop = loop
        self._host = host
        self._logs = logs
        self._listener = listener
        self._defaults = limits
        self._dice = dice
        self._shared_table = shared_table or SharedProcessTable(loop)
        self._tracker = tracker
        self._starts = 0
        self._candidate: Generation | None = None
        self._leaving: list[Generation] = []
        self._waiting: list[Callable[[ReloadOutcome], None]] = []
        """Who wants to know what becomes of the candidate."""
        self._take(self._new_generation(found, GenerationState.CURRENT))

    def _new_generation(self, found: Found, standing: GenerationState) -> Generation:
        asked = found.manifest.limits
        return Generation(
            self._loop,
            self,
            found,
            standing=standing,
            host=self._host,
            logs=self._logs,
            limits=asked if self._defaults is None else asked.over(self._defaults),
            tracker=self._tracker,
            shared_table=self._shared_table,
        )

    def _take(self, generation: Generation) -> None:
        """Makes it the present one. Plain attributes, since every call looks at them."""
        self._generation = generation
        self.found = generation.found
        self.manifest = generation.manifest
        self.timeouts = generation.timeouts
        self.limits = generation.limits
        self.slots: list[WorkerSlot] = generation.slots
        self.lead: Worker = generation.lead
        """The worker that is asked for verdicts and told of events."""

    # --- what it is -----------------------------------------------------------------------------------------

    @property
    def log(self) -> ExtensionLog:
        return self._generation.log

    @property
    def notices(self) -> Notices:
        return self._generation.notices

    @property
    def workers(self) -> list[Worker]:
        """Of the version that is asked and told."""
        return self._generation.workers

    @property
    def generations(self) -> list[Generation]:
        """Of all versions of which something may run, the present one first."""
        return [self._generation, *([] if self._candidate is None else [self._candidate]), *self._leaving]

    @property
    def all_workers(self) -> list[Worker]:
        """Of all versions."""
        return [worker for generation in self.generations for worker in generation.workers]

    @property
    def state(self) -> State:
        """That of the worker that is best off."""
        return min((worker.state for worker in self.workers), key=BEST_FIRST.index)

    @property
    def is_up(self) -> bool:
        return any(slot.worker.state.is_up for slot in self.slots)

    @property
    def is_reloading(self) -> bool:
        """A new version is starting."""
        return self._candidate is not None

    @property
    def is_settled(self) -> bool:
        """Its start has come to an end, once. Starts after that are nobody's to wait for."""
        return self._generation.is_settled

    @property
    def is_given_up(self) -> bool:
        """Nothing of it runs or will be started."""
        return all(worker.state in (State.FAILED, State.EXITED) for worker in self.workers)

    @property
    def start_s(self) -> float:
        """Seconds within which it must be ready, by its own deadlines."""
        return self._generation.hello_s + self.timeouts.ready

    @property
    def failure(self) -> str:
        """Why it is of no use now; empty while it is."""
        return "" if self.is_up else self.lead.failure

    @property
    def registry(self) -> Registry:
        """What its present or last process has registered; during a restart still what the one before had."""
        return self._generation.reference

    @property
    def tools(self) -> dict[str, Tool]:
        return self._generation.reference.tools

    @property
    def commands(self) -> dict[str, Command]:
        return self._generation.reference.commands

    @property
    def observes(self) -> set[str]:
        return self._generation.reference.observes

    @property
    def guards(self) -> set[str]:
        return self._generation.reference.guards

    @property
    def child(self) -> Child | None:
        return self.lead.child

    @property
    def pid(self) -> int | None:
        return self.lead.pid

    # --- start, and start again -----------------------------------------------------------------------------

    def start(self, env: Mapping[str, str], data: Path | None = None) -> None:
        """Starts its processes. What cannot be started leaves it failed, and the reason noticed. `data` is where the
        data folders of all extensions are."""
        self._generation.start(env, data)

    def restart(self) -> None:
        """Ends what runs of it, in order, and starts it anew, whatever had become of it."""
        self.is_stopped = False
        self._generation.restart()

    def reload(
        self, found: Found, env: Mapping[str, str], data: Path | None, done: Callable[[ReloadOutcome], None]
    ) -> None:
        """Starts a new version beside what runs of it. Ready, it takes over; until then everything is as it was.

        `done` hears later what became of it, at the latest when the new version's own deadlines are over. A reload
        while one is under way starts over with what is found now, and both hear the same.
        """
        if len(self._leaving) >= DRAINING_LIMIT:
            self.refuse(f"{DRAINING_LIMIT} earlier versions still finish their calls; try again later", done)
            return
        self._waiting.append(done)
        if (before := self._candidate) is not None:
            before.log.note("reload: starting over, since something has changed again")
            self._dismiss(before)
        self._candidate = generation = self._new_generation(found, GenerationState.CANDIDATE)
        generation.log.note("reload: starting a new version beside the one that runs")
        generation.start(env, data)

    def refuse(self, reason: str, done: Callable[[ReloadOutcome], None]) -> None:
        """No new version is started."""
        self._tell_of_failure(reason)
        self._loop.call_later(0, lambda: done(ReloadOutcome(self.name, "kept", reason)))

    def put_away(self, reason: str, done: Callable[[ReloadOutcome], None]) -> None:
        """It is not wanted any more: it offers nothing from now on, finishes what it was asked, and is stopped."""
        before = self._generation
        idle = self._new_generation(self.found, GenerationState.CURRENT)
        idle.lie_idle(f"it was stopped by a reload: {reason}", before)
        if self._candidate is not None:
            self._dismiss(self._candidate)
        self._replace(idle)
        self.is_stopped = True
        before.log.note(f"stopped by a reload: {reason}")
        idle.notices.tell("exited", f"stopped by a reload: {reason}")
        self._answer(ReloadOutcome(self.name, "stopped", reason))
        self._loop.call_later(0, lambda: done(ReloadOutcome(self.name, "stopped", reason)))

    def candidate_ready(self, generation: Generation) -> None:
        was_there = any(worker.state in (State.SPAWNED, State.GREETED, State.READY) for worker in self.workers)
        self._candidate = None
        self.reloads += 1
        self.is_stopped = False
        self._replace(generation)
        version = f"version {generation.manifest.version}, " if generation.manifest.version else ""
        pids = " ".join(str(worker.pid) for worker in generation.workers)
        line = f"reload {self.reloads}: {version}pid {pids} has taken over"
        generation.log.note(line)
        generation.notices.tell("reloaded", line)
        self._answer(ReloadOutcome(self.name, "reloaded" if was_there else "started"))

    def candidate_failed(self, generation: Generation, reason: str) -> None:
        self._dismiss(generation)
        self._candidate = None
        self._tell_of_failure(reason)
        self._answer(ReloadOutcome(self.name, "kept", reason))

    def _tell_of_failure(self, reason: str) -> None:
        then = "the version that was running goes on" if self.is_up else "it stays down as it was"
        self.log.note(f"{FAILED}{reason}")
        self.notices.tell("warning", FAILED + reason, f"; {then} (log: {self.log.path})")

    def _replace(self, generation: Generation) -> None:
        """In one step: whoever asks or tells next, asks or tells the new one."""
        before = self._generation
        generation.standing = advance(generation.standing, GenerationTrigger.PROMOTED)
        self._take(generation)
        self.was_ready = True  # nobody waits for its first start any more
        generation.choose_lead()
        self._listener.replaced(self)
        self._dismiss(before)
        self.settled()

    def _dismiss(self, generation: Generation) -> None:
        self._leaving.append(generation)
        if self._candidate is generation:
            self._candidate = None
        generation.leave()

    def left(self, generation: Generation) -> None:
        """Nothing of it is there any more."""
        self._leaving = [one for one in self._leaving if one is not generation]
        self._listener.registered(self)

    def _answer(self, outcome: ReloadOutcome) -> None:
        waiting, self._waiting = self._waiting, []
        for done in waiting:
            self._loop.call_later(0, partial(done, outcome))

    # --- what its processes tell ------------------------------------------------------------------------------

    def changed(self) -> None:
        self.lead = self._generation.lead
        self._listener.registered(self)

    def settled(self) -> None:
        if (callback := self.on_settled) is not None:
            self.on_settled = None
            callback()

    def noticed(self, kind: Kind, message: str) -> None:
        self._listener.noticed(self, kind, message)

    def noted(self, level: str, message: str) -> None:
        self._listener.noted(self, level, message)

    def showed(self, worker: Worker, frame: Shown) -> None:
        self._listener.showed(self, worker, frame)

    def adopted(self, table: ProcessTable, start: str) -> Iterable[int]:
        return self._listener.adopted(table, self.name, start)

    def dice(self) -> float:
        return self._dice()

    def next_mark(self) -> str:
        """Tells one start of a process of it from all others."""
        self._starts += 1
        return str(self._starts)

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
        for worker in self.all_workers:
            worker.cancel_pending(reason)

    def over_limit(self, worker: Worker, figures: str) -> None:
        """Ends the worker, to be started again or not as its limits say."""
        for generation in self.generations:
            if worker in generation.workers:
                generation.over_limit(worker, figures)

    # --- end ------------------------------------------------------------------------------------------------

    def forgo_restarts(self) -> None:
        """No more starts: what ends from now on has ended for good."""
        for generation in self.generations:
            generation.forgo_restarts()

    def retire(self) -> dict[Stoppable, Iterable[Process]]:
        """No more starts; returns the workers, whose processes the caller is to end, each with what is known to be
        left of it besides."""
        self._answer(ReloadOutcome(self.name, "kept", "the host is stopping"))
        return {worker: known for generation in self.generations for worker, known in generation.retire().items()}

    def close(self) -> None:
        for generation in self.generations:
            generation.notices.close()
