"""Reloads of one extension: a candidate starts beside the current generation and replaces it; the old one drains."""

from __future__ import annotations

import shlex
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

from supervisor.extension.generation import Generation
from supervisor.extension.lifecycle import GenerationState, Trigger, WorkerState
from supervisor.loop.future import Failure
from wire.control import ReloadOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.extension.host_context import EventSink, GenerationOwner, HostContext

DRAINING_LIMIT = 8
"""Maximum number of generations of one extension that drain at the same time. At this number a reload is refused."""
STOPPED = "it was stopped by zot ext stop; zot ext start {} starts it again"
"""The reason with which requests to an extension fail that a user has stopped."""
RELOAD_FAILED = "reload failed: "
"""Beginning of the notice about a failed reload."""


class StoppedBy(Enum):
    """Why an extension runs no process although its host would start it."""

    NOTHING = "nothing"
    RELOAD = "reload"
    """A reload has found it disabled or missing, or the embedding program has ended it."""
    COMMAND = "command"
    """A user has stopped it. No reload of all extensions starts it again."""


class Handover:
    """Creates the generations of one extension. `on_replaced` is called when another generation has become current,
    before the old one drains."""

    def __init__(
        self,
        host: HostContext,
        owner: GenerationOwner,
        found: FoundExtension,
        sink: EventSink,
        *,
        on_replaced: Callable[[], None],
    ) -> None:
        self.count = 0
        """How often a candidate has become the current generation."""
        self.stopped_by = StoppedBy.NOTHING
        self._host = host
        self._loop = host.loop
        self._owner = owner
        self._name = found.manifest.name
        self._sink = sink
        self._on_replaced = on_replaced
        self._draining: list[Generation] = []
        self._waiting: list[Callable[[ReloadOutcome], None]] = []
        """The callbacks that get the outcome of the present reload."""
        self._at_rest: list[Callable[[], None]] = []
        """Called once, when no generation drains."""
        self.candidate: Generation | None = None
        self.current = self._new_generation(found, GenerationState.CURRENT)

    def _new_generation(self, found: FoundExtension, state: GenerationState) -> Generation:
        return Generation(
            self._host,
            self._owner,
            found,
            self._sink,
            state=state,
            on_ready=self._candidate_ready,
            on_failed=self._candidate_failed,
            on_drained=self._drained,
        )

    @property
    def is_stopped(self) -> bool:
        return self.stopped_by is not StoppedBy.NOTHING

    @property
    def generations(self) -> list[Generation]:
        """The generations that may have processes, the current one first."""
        return [self.current, *([] if self.candidate is None else [self.candidate]), *self._draining]

    # --- begin ----------------------------------------------------------------------------------------------

    def reload(
        self, found: FoundExtension, env: Mapping[str, str], data: Path | None, done: Callable[[ReloadOutcome], None]
    ) -> None:
        """Starts a candidate beside the current generation. When all workers of the candidate are ready, it replaces
        the current generation.

        `done` gets the outcome in a later pass, at the latest when the candidate's own deadlines are over. If a second
        reload begins before that, its candidate replaces the first, and both callbacks get the outcome of the second.
        """
        if len(self._draining) >= DRAINING_LIMIT:
            self.refuse(f"{DRAINING_LIMIT} earlier versions still finish their calls; try again later", done)
            return
        self._waiting.append(done)
        if (before := self.candidate) is not None:
            before.log.add("reload: starting over, since something has changed again")
            self._drain(before)
        self.candidate = generation = self._new_generation(found, GenerationState.CANDIDATE)
        generation.log.add("reload: starting a new version beside the one that runs")
        generation.start(env, data)

    def refuse(self, reason: str, done: Callable[[ReloadOutcome], None]) -> None:
        """Refuses a reload: sends a notice with the reason. `done` gets the outcome `kept` in a later pass."""
        self._tell_of_failure(reason)
        self._loop.call_later(0, lambda: done(ReloadOutcome(self._name, "kept", reason)))

    def stop(self, reason: str, done: Callable[[ReloadOutcome], None]) -> None:
        """Stops the extension. From now on it offers nothing. Each worker is stopped when its pending requests have
        ended. `done` gets the outcome in a later pass."""
        before = self.current
        self.rest(f"it was stopped by a reload: {reason}")
        before.log.add(f"stopped by a reload: {reason}")
        self.current.notices.tell("exited", f"stopped by a reload: {reason}")
        outcome = ReloadOutcome(self._name, "stopped", reason)
        self.answer(outcome)
        self._loop.call_later(0, lambda: done(outcome))

    def rest(self, failure: str, by: StoppedBy = StoppedBy.RELOAD) -> None:
        """From now on the extension offers nothing, and requests fail with this reason. Each worker is stopped when its
        pending requests have ended."""
        idle = self._new_generation(self.current.found, GenerationState.CURRENT)
        idle.prepare_idle(failure, self.current, Trigger.HALTED if by is StoppedBy.COMMAND else Trigger.UNUSED)
        if self.candidate is not None:
            self._drain(self.candidate)
        self.stopped_by = by
        self._replace(idle)

    def halt(self, done: Callable[[], None]) -> None:
        """Stops the extension for a user. Pending requests fail at once; then each worker is stopped gracefully. `done`
        is called in a later pass, when no process is left."""
        failure, before = STOPPED.format(shlex.quote(self._name)), self.generations
        for generation in before:
            generation.lazy.end(failure)  # no process is started for requests that wait for one
        self.rest(failure, StoppedBy.COMMAND)
        for worker in (worker for generation in before for worker in generation.workers):
            worker.requests.fail_pending(Failure.DIED, failure)
        self.current.log.add("stopped by zot ext stop")
        self.current.notices.tell("stopped", "stopped by zot ext stop")
        self.answer(ReloadOutcome(self._name, "stopped", failure))
        self._when_at_rest(done)

    def restart(self) -> None:
        """Starts the extension again for a user: at once, or when the processes of a version that was stopped have
        ended."""
        self.stopped_by = StoppedBy.NOTHING
        if any(worker.state is WorkerState.STOPPED for worker in self.current.workers):
            self._when_at_rest(self._start_again)
        else:
            self.current.restart()

    def _start_again(self) -> None:
        if not self.is_stopped:
            self.current.restart()

    def _when_at_rest(self, callback: Callable[[], None]) -> None:
        self._at_rest.append(callback)
        self._look_at_rest()

    def _look_at_rest(self) -> None:
        waiting, self._at_rest = ([], self._at_rest) if self._draining else (self._at_rest, [])
        for callback in waiting:
            self._loop.call_later(0, callback)

    def sleep(self, generation: object) -> bool:
        """Stops the workers of the current generation, which have nothing to do, until a request or event needs one.
        Returns False if that cannot be now."""
        before = self.current
        if generation is not before or self.candidate is not None or self._draining:
            return False
        asleep = self._new_generation(before.found, GenerationState.CURRENT)
        asleep.prepare_idle("", before)
        self._replace(asleep)
        return True

    def connect_again(self, found: FoundExtension, data: Path | None) -> None:
        """Connects an extension of the embedding program again whose workers have ended."""
        generation = self._new_generation(found, GenerationState.CURRENT)
        self.stopped_by = StoppedBy.NOTHING
        self._replace(generation)
        generation.start({}, data)

    # --- end ------------------------------------------------------------------------------------------------

    def _candidate_ready(self, generation: Generation) -> None:
        was_there = any(worker.state.is_up or worker.state is WorkerState.SPAWNED for worker in self.current.workers)
        self.candidate = None
        self.count += 1
        self.stopped_by = StoppedBy.NOTHING
        self._replace(generation)
        version = f"version {generation.manifest.version}, " if generation.manifest.version else ""
        pids = " ".join(str(worker.pid) for worker in generation.workers)
        line = f"reload {self.count}: {version}pid {pids} has taken over"
        generation.log.add(line)
        generation.notices.tell("reloaded", line)
        self.answer(ReloadOutcome(self._name, "reloaded" if was_there else "started"))

    def _candidate_failed(self, generation: Generation, reason: str) -> None:
        self._drain(generation)
        self._tell_of_failure(reason)
        self.answer(ReloadOutcome(self._name, "kept", reason))

    def _tell_of_failure(self, reason: str) -> None:
        current = self.current
        then = "the running version stays" if current.lead.state.is_up else "it stays down"
        current.log.add(f"{RELOAD_FAILED}{reason}")
        current.notices.tell("warning", RELOAD_FAILED + reason, f"; {then} (log: {current.log.path})")

    def answer(self, outcome: ReloadOutcome) -> None:
        """Ends the present reload with this outcome. Does nothing without a reload."""
        waiting, self._waiting = self._waiting, []
        for done in waiting:
            self._loop.call_later(0, partial(done, outcome))

    def _replace(self, generation: Generation) -> None:
        """Makes a generation current in one step: the next request or event goes to it."""
        before = self.current
        generation.promote()
        self.current = generation
        self._on_replaced()
        self._drain(before)
        self._owner.settled()

    def _drain(self, generation: Generation) -> None:
        self._draining.append(generation)
        if self.candidate is generation:
            self.candidate = None
        generation.drain()

    def _drained(self, generation: Generation) -> None:
        self._draining = [other for other in self._draining if other is not generation]
        self.current.lazy.go_on()
        self._look_at_rest()
        self._sink.changed()
