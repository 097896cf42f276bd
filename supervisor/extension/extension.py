"""One extension: its current generation, the candidate that a reload starts, and the generations that drain.

Failures stay within the extension. When a worker ends, its pending requests fail at once. While no worker is up, tools
fail at once, guards give no verdict, and observers miss events, which are counted.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from supervisor.accounting.account import Account
from supervisor.extension.handover import Handover
from supervisor.extension.lifecycle import BEST_FIRST, State
from supervisor.process.shared_table import SharedProcessTable
from wire.control import ReloadOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from supervisor.cleanup.tracker import ProcessTracker
    from supervisor.discovery.discover import Found
    from supervisor.extension.generation import Generation
    from supervisor.extension.log import ExtensionLog
    from supervisor.extension.notices import NoticeKind, Notices
    from supervisor.extension.slot import WorkerSlot
    from supervisor.extension.worker import Shown, Worker
    from supervisor.loop.loop import Loop
    from supervisor.process.child import Child
    from supervisor.process.table import Process, ProcessTable
    from supervisor.process.teardown import Stoppable
    from supervisor.registry.registration import Command, Tool
    from supervisor.registry.worker_registry import Registry
    from wire.dialects.base import HostInfo
    from wire.manifest import Limits


class Listener:
    """What an extension reports to its supervisor. The methods do nothing by default."""

    def registered(self, extension: Extension) -> None:
        """Its tools, commands, subscriptions or its state changed."""

    def replaced(self, extension: Extension) -> None:
        """Another generation is current: as `registered`, and its place among the guards may have changed."""

    def noticed(self, extension: Extension, kind: NoticeKind, message: str) -> None:
        """A line for the user about the extension."""

    def noted(self, extension: Extension, level: str, message: str) -> None:
        """The extension sent a note for the user."""

    def showed(self, extension: Extension, worker: Worker, frame: Shown) -> None:
        """The extension changes its notes or a panel."""

    def adopted(self, table: ProcessTable, extension: str, start: str | None = None) -> Iterable[int]:  # noqa: ARG002
        """Pids of processes of this extension that have left its process trees. With a `start` mark only those of that
        start."""
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
        """`limits` are the host's defaults; the manifest's come first. `dice` gives numbers from 0 to 1."""
        self.name = found.manifest.name
        self.account = Account()
        self.started_at = loop.clock()
        self.was_ready = False
        """A worker of it has been ready at least once."""
        self.on_settled: Callable[[], None] | None = None
        """Called once, when its start is over."""
        self.dice = dice
        self._listener = listener
        self._starts = 0
        self.handover = Handover(
            loop,
            self,
            found,
            host=host,
            logs=logs,
            limits=limits,
            tracker=tracker,
            shared_table=shared_table or SharedProcessTable(loop),
            on_replaced=self._replaced,
            on_drained=lambda: listener.registered(self),
        )
        self._take_current()

    def _take_current(self) -> None:
        """Copies what each request reads into plain attributes, which are faster than properties."""
        self._generation = generation = self.handover.current
        self.found = generation.found
        self.manifest = generation.manifest
        self.timeouts = generation.timeouts
        self.limits = generation.limits
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
        """Of the current generation."""
        return self._generation.workers

    @property
    def generations(self) -> list[Generation]:
        """All that may have processes, the current one first."""
        return self.handover.generations

    @property
    def all_workers(self) -> list[Worker]:
        """Of all generations."""
        return [worker for generation in self.generations for worker in generation.workers]

    @property
    def state(self) -> State:
        """The best state that a worker of the current generation has."""
        return min((worker.state for worker in self.workers), key=BEST_FIRST.index)

    @property
    def is_up(self) -> bool:
        return any(slot.worker.state.is_up for slot in self.slots)

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
        """Its first start is over. It stays True while workers are started again."""
        return self._generation.is_settled

    @property
    def is_given_up(self) -> bool:
        """No worker runs or will be started."""
        return all(worker.state in (State.FAILED, State.EXITED) for worker in self.workers)

    @property
    def start_s(self) -> float:
        """Seconds that its own deadlines give it to become ready."""
        return self._generation.hello_s + self.timeouts.ready

    @property
    def failure(self) -> str:
        """Why requests to it fail; empty while it is up."""
        return "" if self.is_up else self.lead.failure

    @property
    def registry(self) -> Registry:
        """The registrations of the lead. While none is ready, as during a restart, those of the last one."""
        return self._generation.registry

    @property
    def tools(self) -> dict[str, Tool]:
        return self._generation.registry.tools

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
        """Starts its workers. A worker that cannot be started fails, and a notice says why. `data` is the folder of the
        data folders of all extensions."""
        self._generation.start(env, data)

    def restart(self) -> None:
        """Stops the workers of the current generation in order and starts new ones, in whatever state they are."""
        self.handover.restarted()
        self._generation.restart()

    # --- what its generations report ------------------------------------------------------------------------

    def _replaced(self) -> None:
        self._take_current()
        self.was_ready = True  # its first start is over, so that verdicts do not wait for it
        self._generation.choose_lead()
        self._listener.replaced(self)

    def got_ready(self) -> None:
        self.was_ready = True

    def changed(self) -> None:
        self.lead = self._generation.lead
        self._listener.registered(self)

    def settled(self) -> None:
        if (callback := self.on_settled) is not None:
            self.on_settled = None
            callback()

    def noticed(self, kind: NoticeKind, message: str) -> None:
        self._listener.noticed(self, kind, message)

    def noted(self, level: str, message: str) -> None:
        self._listener.noted(self, level, message)

    def showed(self, worker: Worker, frame: Shown) -> None:
        self._listener.showed(self, worker, frame)

    def adopted(self, table: ProcessTable, start: str) -> Iterable[int]:
        return self._listener.adopted(table, self.name, start)

    def next_mark(self) -> str:
        self._starts += 1
        return str(self._starts)

    # --- requests and events --------------------------------------------------------------------------------

    def least_busy(self, besides: Worker | None = None) -> Worker:
        """The worker to ask next: of those that are up, the one with the fewest pending requests. If none is up it is
        the lead, which fails the request at once."""
        up = [worker for worker in self.workers if worker.state.is_up and worker is not besides]
        return min(up, key=lambda worker: len(worker.pending)) if up else self.lead

    def tell(self, event: bytes, *, everyone: bool = False) -> None:
        """Sends an event to the lead, or to every worker. Without a worker that is up it is dropped and counted."""
        if not self.is_up:
            self.account.events_dropped += 1
            return
        for worker in self.workers if everyone else (self.lead,):
            if worker.state.is_up:
                worker.tell(event)

    def cancel_pending(self, reason: str) -> None:
        """Cancels all pending requests; late answers are ignored."""
        for worker in self.all_workers:
            worker.cancel_pending(reason)

    # --- end ------------------------------------------------------------------------------------------------

    def forgo_restarts(self) -> None:
        """Starts nothing again."""
        for generation in self.generations:
            generation.forgo_restarts()

    def retire(self) -> dict[Stoppable, Iterable[Process]]:
        """Starts nothing again. The caller ends the returned workers; with each come the processes that are known to be
        left of it, without its own."""
        self.handover.answer(ReloadOutcome(self.name, "kept", "the host is stopping"))
        return {worker: known for generation in self.generations for worker, known in generation.retire().items()}

    def close(self) -> None:
        for generation in self.generations:
            generation.notices.close()
