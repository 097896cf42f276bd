"""One extension: its current generation, the candidate that a reload starts, and the generations that drain.

Failures stay within the extension. When a worker ends, its pending requests fail at once. While no worker is up, tools
fail at once, guards give no verdict, and observers miss events, which are counted.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from supervisor.accounting.account import Account
from supervisor.accounting.fall import Fall
from supervisor.extension.handover import Handover, StoppedBy
from supervisor.extension.lifecycle import BEST_FIRST, WorkerState
from supervisor.extension.program_worker import RestartedElsewhereError
from wire.control import ReloadOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from supervisor.accounting.fall import FallKind
    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.extension.generation import Generation
    from supervisor.extension.host_context import EventSink, HostContext
    from supervisor.extension.log import ExtensionLog
    from supervisor.extension.notices import Notices
    from supervisor.extension.restart import EndCause
    from supervisor.extension.slot import WorkerSlot
    from supervisor.extension.worker import Worker
    from supervisor.process.child import Child
    from supervisor.process.table import Process
    from supervisor.process.teardown import Stoppable
    from supervisor.registry.registration import Command, Tool
    from supervisor.registry.worker_registry import Registry
    from wire.frames import Event


class Extension:
    """An extension of a host. No process runs before `start`."""

    def __init__(
        self,
        host: HostContext,
        found: FoundExtension,
        sink: Callable[[Extension], EventSink],
        dice: Callable[[], float] = random.random,
    ) -> None:
        """`sink` returns the functions by which this extension reports. `dice` returns random numbers from 0 to 1."""
        self.name = found.manifest.name
        self.account = Account()
        self.started_at = host.loop.clock()
        self.was_ready = False
        """A worker of the extension has been ready at least once."""
        self.on_settled: Callable[[], None] | None = None
        """Called once, when the first start is over, with or without success."""
        self.dice = dice
        self._is_strict = host.is_strict
        self.lets_asked_pass = host.lets_asked_pass
        """Whether an event is allowed if this extension wants a person to decide about it."""
        self._host = host
        self._sink = sink(self)
        self.active_tools: set[str] = set()
        """The deferred tools that results have activated in this conversation. Its crashes do not change that."""
        self._starts = 0
        self.handover = Handover(host, self, found, self._sink, on_replaced=self._replaced)
        self._take_current()

    def _take_current(self) -> None:
        """Sets the values that each request reads as plain attributes: they are faster than properties."""
        self._generation = generation = self.handover.current
        self.found = generation.found
        self.manifest = generation.manifest
        self.timeouts = generation.timeouts
        self.limits = generation.limits
        self.denies_on_failure = self._is_strict or self.manifest.on_failure == "deny"
        """Whether a missing verdict means deny."""
        self.is_independent = self.manifest.independent
        """Whether its verdict does not depend on other guards: they may all be asked at the same time."""
        self.slots: list[WorkerSlot] = generation.slots
        self.lead: Worker = generation.lead
        """The worker that gets verdict requests and events."""

    # --- state ----------------------------------------------------------------------------------------------

    @property
    def log(self) -> ExtensionLog:
        return self._generation.log

    @property
    def notices(self) -> Notices:
        return self._generation.notices

    @property
    def workers(self) -> list[Worker]:
        """The workers of the current generation."""
        return self._generation.workers

    @property
    def generations(self) -> list[Generation]:
        """The generations that may have processes, the current one first."""
        return self.handover.generations

    @property
    def all_workers(self) -> list[Worker]:
        """The workers of all generations that may have processes."""
        return [worker for generation in self.generations for worker in generation.workers]

    @property
    def state(self) -> WorkerState:
        """The best state among the workers of the current generation, see `BEST_FIRST`."""
        return min((worker.state for worker in self.workers), key=BEST_FIRST.index)

    @property
    def is_up(self) -> bool:
        return self.lead.state.is_up or any(slot.worker.state.is_up for slot in self.slots)

    @property
    def is_working(self) -> bool:
        """A worker has said that it still works on an event."""
        return any(slot.worker.is_working for slot in self.slots)

    @property
    def has_person(self) -> bool:
        """Whether a person may answer a call that waits for one."""
        return self._host.has_person

    @property
    def may_send(self) -> bool:
        """A worker that is up may send a prompt as it reacts to an event."""
        return any(slot.worker.state.is_up and slot.worker.channel.session.may_send for slot in self.slots)

    @property
    def is_reloading(self) -> bool:
        """A candidate is starting."""
        return self.handover.candidate is not None

    @property
    def reloads(self) -> int:
        """How often a candidate has become the current generation."""
        return self.handover.count

    @property
    def is_settled(self) -> bool:
        """The first start is over, with or without success. It stays True while workers are restarted."""
        return self._generation.is_settled

    @property
    def is_given_up(self) -> bool:
        """No worker runs, and no worker will be started."""
        return all(worker.state.is_down for worker in self.workers)

    @property
    def is_halted(self) -> bool:
        """A user has stopped it, and no worker has been started since."""
        return any(worker.state is WorkerState.STOPPED for worker in self.workers)

    @property
    def stays_halted(self) -> bool:
        """A user has stopped it, and has not asked for its start since."""
        return self.handover.stopped_by is StoppedBy.COMMAND

    @property
    def start_s(self) -> float:
        """Longest start in seconds: the deadline for the hello plus the deadline for `ready`."""
        return self._generation.hello_s + self.timeouts.ready

    @property
    def failure(self) -> str:
        """The reason with which requests fail; empty while a worker is up."""
        return "" if self.is_up else self.lead.failure

    @property
    def registry(self) -> Registry:
        """The registrations of the lead; while no worker is ready, as during a restart, of the last ready lead."""
        return self._generation.registry

    @property
    def next_registry(self) -> Registry:
        """During a reload the registrations that the new version has made so far; else those of `registry`."""
        return (self.handover.candidate or self._generation).registry

    @property
    def tools(self) -> dict[str, Tool]:
        return self._generation.registry.tools

    @property
    def offered(self) -> list[Tool]:
        """The tools that the model is offered: all but deferred ones that no result has activated."""
        active = self.active_tools
        return [tool for tool in self.tools.values() if not tool.is_deferred or tool.name in active]

    @property
    def commands(self) -> dict[str, Command]:
        return self._generation.registry.commands

    @property
    def observes(self) -> set[str]:
        return self._generation.registry.observes

    @property
    def guards(self) -> set[str]:
        return self._generation.registry.guards

    @property
    def child(self) -> Child | None:
        return self.lead.child

    @property
    def pid(self) -> int | None:
        return self.lead.pid

    # --- start and restart ----------------------------------------------------------------------------------

    def start(self, env: Mapping[str, str], data: Path | None = None) -> None:
        """Starts the workers. A worker that cannot be started fails, and a notice says why. `data` is the folder that
        contains the data folders of all extensions; with None the extension's own folder is its data folder."""
        self._generation.start(env, data)

    def add_worker(self) -> None:
        """Starts one more worker of the current generation."""
        self._generation.add_worker()

    def restart(self) -> None:
        """Stops the workers of the current generation gracefully and starts new ones, whatever the workers' states.
        Raises `RestartedElsewhereError` for an extension of the embedding program, or of another host."""
        self.require_own()
        self.handover.restart()

    def halt(self, done: Callable[[], None]) -> None:
        """Stops the extension for a user, until a restart: its tools and commands are gone, its pending requests fail,
        and its guards give no verdict. `done` is called when no process is left. Raises `RestartedElsewhereError`."""
        self.require_own()
        was_ready = self.was_ready
        self.handover.halt(done)
        self.was_ready = was_ready  # if it never was, its guards are unknown

    def apply_limits(self) -> None:
        """Takes the limits that the host's rules have now. Raises `RestartedElsewhereError`."""
        self.require_own()
        for generation in self.generations:
            generation.apply_limits()
        self.limits = self._generation.limits

    def require_own(self) -> None:
        """Raises `RestartedElsewhereError` for an extension of the embedding program, or of another host."""
        if self.found.link is not None:
            raise RestartedElsewhereError(self.found.link.restarted_by)

    def connect_again(self, found: FoundExtension, data: Path | None) -> None:
        """Connects an extension of the embedding program again after its end. Until it is ready, its guards are
        unknown, as at a first start."""
        self.handover.connect_again(found, data)
        self.was_ready = False

    def leave(self, reason: str) -> None:
        """The embedding program ends the extension: it no longer offers or guards anything; requests fail."""
        if (link := self.found.link) is not None:
            link.on_lost(reason)
        self.handover.rest(reason)

    @property
    def has_left(self) -> bool:
        """The embedding program has ended the extension."""
        return self.found.link is not None and self.handover.is_stopped

    def give_up(self, reason: str, cause: EndCause) -> None:
        """Gives up the workers of the current generation and of the candidate."""
        for generation in (self.handover.candidate, self._generation):
            for worker in () if generation is None else generation.workers:
                worker.give_up(reason, cause)

    # --- what its generations report ------------------------------------------------------------------------

    def _replaced(self) -> None:
        self._take_current()
        self.was_ready = True  # its first start is over: it no longer guards every event
        self._generation.choose_lead()
        self._sink.replaced()

    def got_ready(self) -> None:
        self.was_ready = True

    def changed(self) -> None:
        self.lead = self._generation.lead
        self._sink.changed()

    def fell(self, kind: FallKind, cause: str) -> None:
        """Reports a fall that is not the end of a worker."""
        self._sink.fell(self.lead, Fall(kind, cause, self.lead.pid))

    def settled(self) -> None:
        if (callback := self.on_settled) is not None:
            self.on_settled = None
            callback()
        self._sink.settled()

    def rest(self, generation: object) -> bool:
        return self.handover.sleep(generation)

    def next_mark(self) -> str:
        self._starts += 1
        return str(self._starts)

    # --- requests and events --------------------------------------------------------------------------------

    def least_busy(self, besides: Worker | None = None) -> Worker:
        """Returns the worker with the fewest pending requests among the workers that are up, without `besides`. Returns
        the lead if there is no such worker; a lead that is down fails the request at once."""
        if len(self.slots) == 1:
            return self.lead
        up = [slot.worker for slot in self.slots if slot.worker.state.is_up and slot.worker is not besides]
        return min(up, key=lambda worker: len(worker.requests.pending)) if up else self.lead

    @property
    def instructions(self) -> str:
        """Its instructions to the model, for the system prompt; empty while no worker is up."""
        return self._generation.registry.instructions if self.is_up else ""

    def activate(self, names: Sequence[str], tool: str) -> None:
        """A result of `tool` has the model offered these deferred tools from the next request on."""
        self._sink.activated(names, tool)

    def tell(self, event: Event, *, everyone: bool = False) -> None:
        """Sends an event to the lead, or to every worker. If no worker is up, the event is dropped and counted."""
        if not self.is_up:
            self.account.events_dropped += 1
            return
        for worker in self.workers if everyone else (self.lead,):
            if worker.state.is_up:
                worker.requests.tell(event)

    def cancel_pending(self, reason: str) -> None:
        """Cancels all pending requests of all workers. Late answers are ignored."""
        for worker in self.all_workers:
            worker.requests.cancel_pending(reason)

    # --- end ------------------------------------------------------------------------------------------------

    def forgo_restarts(self) -> None:
        """From now on no worker is restarted."""
        for generation in self.generations:
            generation.forgo_restarts()

    def retire(self) -> dict[Stoppable, Iterable[Process]]:
        """From now on no worker is restarted, and the caller must end the workers. Returns each worker with the
        processes that it is known to have left, without its own process."""
        self.handover.answer(ReloadOutcome(self.name, "kept", "the host is stopping"))
        return {worker: known for generation in self.generations for worker, known in generation.retire().items()}

    def close(self) -> None:
        """Closes the log files. The last call."""
        for generation in self.generations:
            generation.notices.close()
