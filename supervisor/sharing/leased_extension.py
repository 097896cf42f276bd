"""One extension whose processes each serve one run at a time: a pool that grows to the runs that have it at once.

A process is handed to the next run by `lease_end` and `lease_begin`; it answers with `lease_ready`. One that does not
answer in time is replaced. A crash hurts the run of that lease alone.
"""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from supervisor.extension.connection.handshake import Readiness
from supervisor.extension.lazy.lazy_worker import LazyWorker
from supervisor.extension.lifecycle import WorkerState
from supervisor.extension.restart import EndCause
from supervisor.loop.future import Failure
from supervisor.sharing.served_extension import ServedExtension, registered
from wire import frames
from wire.dialects import attach

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.extension.extension import Extension
    from supervisor.extension.slot import WorkerSlot
    from supervisor.extension.worker import Worker
    from supervisor.loop.loop import Loop, Timer
    from supervisor.sharing.attachment import Attachment, Forwarded

READY_S = 2.0
"""Seconds that a process may take to answer `lease_begin`."""
PROCESSES_LIMIT = 64
"""Maximum number of processes of one extension. Further runs wait for one."""
NOT_READY = f"has not answered lease_begin with lease_ready within {READY_S:g} s"
WAITS = "it waits for a process of it"
FULL = f"other runs have all its {PROCESSES_LIMIT} processes; it waits for one"
REPLACED = "another version of this extension has taken its place"
ENDS = frozenset({"exited", "failed", "limit"})
"""Kinds of notices that only the run of the process is told of."""


class Place(Enum):
    """The state of the place of one process."""

    FREE = "free"
    """Its process is ready and serves no run."""
    TAKEN = "taken"
    COMING = "coming"
    """Its process starts, or will be started again."""
    DOWN = "down"
    """It has no process, and gets none by itself."""


class PoolStep(msgspec.Struct, frozen=True):
    given: tuple[tuple[int, int], ...]
    """Runs, each with the place that it gets."""
    starts: int
    """The number of processes to start."""
    late: tuple[int, ...]
    """Runs that get a process only when another run ends: the pool is full."""


def next_step(waiting: Sequence[int], places: Sequence[Place], limit: int = PROCESSES_LIMIT) -> PoolStep:
    """Decides for the runs that wait, the first one first. Lower places go first, so that the higher ones stay idle."""
    free = [index for index, place in enumerate(places) if place is Place.FREE]
    given = tuple(zip(waiting, free, strict=False))
    alive = len(places) - places.count(Place.DOWN)
    coming = places.count(Place.COMING)
    starts = max(0, min(len(waiting) - len(given) - coming, limit - alive))
    return PoolStep(given, starts, tuple(waiting[len(given) + coming + starts :]))


class LeaseState(Enum):
    """The states of a lease."""

    WAITING = "waiting"
    """It has no process yet, or its process is being restarted."""
    BEGUN = "begun"
    """`lease_begin` is sent."""
    READY = "ready"


class Lease:
    """The lease of one run."""

    __slots__ = ("attachment", "id", "losses", "reason", "slot", "state", "timer", "told", "worker")

    def __init__(self, attachment: Attachment) -> None:
        self.attachment = attachment
        self.state = LeaseState.WAITING
        self.slot: WorkerSlot | None = None
        """The place of its process, which it keeps through restarts; None if it has none."""
        self.worker: Worker | None = None
        """The process that has got `lease_begin`; None while it waits."""
        self.id = ""
        self.timer: Timer | None = None
        self.reason = WAITS
        """Why it has no process; with this, requests fail."""
        self.losses = 0
        """How often it has lost a process."""
        self.told = b""
        """The registrations that its run knows, as a line."""


class LeasedExtension(ServedExtension):
    """An extension with a process for each run that has it now."""

    def __init__(self, loop: Loop, extension: Extension) -> None:
        super().__init__(loop, extension)
        self._leases: dict[int, Lease] = {}
        """The leases by the numbers of their runs."""
        self._number = 0

    # --- runs ---------------------------------------------------------------------------------------------------

    def join(self, attachment: Attachment) -> None:
        super().join(attachment)
        self._leases[attachment.run.number] = Lease(attachment)
        attachment.run.send(attach.encode(attach.State(self.name, "starting")))
        self._fill()

    def leave(self, attachment: Attachment, reason: str) -> None:
        super().leave(attachment, reason)
        if (lease := self._leases.pop(attachment.run.number, None)) is not None:
            self._end(lease)
            self._fill()

    def attachment_of(self, worker: Worker, session_id: str | None) -> Attachment | None:
        lease = next((each for each in self._leases.values() if each.worker is worker), None)
        if lease is None:
            return None
        is_named = session_id == lease.attachment.run.session.id
        # Before `lease_ready` a frame without a session may still be about the session of the lease before.
        if is_named or (session_id is None and lease.state is LeaseState.READY):
            return lease.attachment
        return None

    # --- requests -----------------------------------------------------------------------------------------------

    def submit(self, forwarded: Forwarded) -> None:
        attachment = forwarded.attachment
        if (worker := self._worker_for(attachment)) is None:
            lease = self._leases.get(attachment.run.number)
            attachment.fail(forwarded, Failure.DIED, WAITS if lease is None else lease.reason)
        else:
            self._send(forwarded, worker)

    def tell(self, attachment: Attachment, event: frames.Event, size: int) -> None:  # noqa: ARG002
        self._pass_event(attachment, event)

    def _worker_for(self, attachment: Attachment) -> Worker | None:
        lease = self._leases.get(attachment.run.number)
        return lease.worker if lease is not None and lease.state is LeaseState.READY else None

    # --- processes ----------------------------------------------------------------------------------------------

    def changed(self) -> None:
        """A process has started or ended, its registrations have changed, or the extension was reloaded."""
        for lease in list(self._leases.values()):
            if lease.worker is not None and not self._holds(lease):
                self._lose(lease)
            elif lease.state is LeaseState.READY:
                self._tell_registrations(lease)
        self._fill()

    def told(self, kind: str, message: str) -> None:
        """Passes a new version on to all runs, and the end of a process to its own run: it is told before `changed`."""
        line = attach.encode(attach.Told(self.name, kind, message))
        for lease in list(self._leases.values()):
            is_hurt = kind in ENDS and lease.worker is not None and not self._holds(lease)
            if is_hurt or kind == "reloaded":
                lease.attachment.run.send(line)

    def _holds(self, lease: Lease) -> bool:
        """Whether the process of the lease is still there, and of the current version."""
        worker = lease.worker
        return worker is not None and worker.state.is_up and worker in self.extension.workers

    def _lose(self, lease: Lease) -> None:
        """The process of the lease is gone: its run is told, and waits for the next one."""
        assert lease.worker is not None
        self._stop_timer(lease)
        lease.state, lease.reason = LeaseState.WAITING, lease.worker.failure or self.extension.failure or REPLACED
        lease.worker = None
        lease.losses += 1
        if not self._is_gone(lease):
            lease.attachment.run.send(attach.encode(attach.State(self.name, "down", lease.reason)))

    def _is_gone(self, lease: Lease) -> bool:
        """Whether the place of the lease gets no further process. One of another version is a place no longer."""
        if lease.slot not in self.extension.slots:
            lease.slot = None
        return lease.slot is not None and lease.slot.worker.state.is_down and not lease.slot.is_due

    def _fill(self) -> None:
        """Gives a process to each lease that waits, and starts further ones; none while a user has it stopped."""
        extension = self.extension
        if extension.is_halted:
            return
        waiting = [each for each in self._leases.values() if each.state is LeaseState.WAITING]
        for lease in waiting:
            is_gone, slot = self._is_gone(lease), lease.slot
            if is_gone and slot is not None:
                lease.attachment.run.drop(lease.attachment, slot.worker.failure)
                return  # the end of this lease has filled the others
            if slot is not None and slot.worker.state is WorkerState.READY:
                self._begin(lease, slot)
        waiting = [each for each in waiting if each.slot is None]
        if waiting and self._is_hopeless:
            waiting[0].attachment.run.drop(waiting[0].attachment, extension.failure)
            return
        taken = {id(each.slot) for each in self._leases.values()}
        step = next_step(range(len(waiting)), [_place(slot, taken) for slot in extension.slots])
        for number, index in step.given:
            self._begin(waiting[number], extension.slots[index])
        if extension.is_settled:
            self._start(step.starts)
            for number in step.late:
                self._delay(waiting[number])

    def _start(self, count: int) -> None:
        """Starts this number of processes, first those that sleep."""
        workers = (each.worker for each in self.extension.slots)
        asleep = [each for each in workers if isinstance(each, LazyWorker) and each.state is WorkerState.ASLEEP]
        for worker in asleep[:count]:
            worker.start_soon()
        for _ in range(count - len(asleep)):
            self.extension.add_worker()

    @property
    def _is_hopeless(self) -> bool:
        """Whether no process is there, none will be started, and the last one has failed before it was ready. After one
        that has served a run another is tried."""
        extension = self.extension
        has_any = any(slot.is_due for slot in extension.slots) or not extension.is_given_up
        return not has_any and extension.lead.readiness is Readiness.NOT_YET

    def _delay(self, lease: Lease) -> None:
        """Tells a run once that it waits for the end of another."""
        if lease.reason is WAITS:
            lease.reason = FULL
            lease.attachment.run.send(attach.encode(attach.State(self.name, "starting", FULL)))

    def _begin(self, lease: Lease, slot: WorkerSlot) -> None:
        lease.slot, worker = slot, slot.worker
        self._number += 1
        lease.id = f"lease-{self._number}"
        lease.worker, lease.state = worker, LeaseState.BEGUN
        worker.channel.handlers[frames.LeaseReady] = partial(self._ready, lease, lease.id)
        session = lease.attachment.run.session
        worker.requests.write(frames.encode(frames.LeaseBegin(lease.id, session.id, session.cwd)))
        lease.timer = self._loop.call_later(READY_S, lambda: self._late(lease))

    def _ready(self, lease: Lease, begun: str, frame: frames.LeaseReady) -> None:
        """Takes `lease_ready`. Does nothing if it is for another lease, or comes again."""
        if not begun == frame.id == lease.id or lease.state is not LeaseState.BEGUN:
            return
        self._stop_timer(lease)
        lease.state, lease.told = LeaseState.READY, b""
        if lease.losses:
            again = f"ready again, restart {lease.losses}"
            lease.attachment.run.send(attach.encode(attach.Told(self.name, "restarted", again)))
        self._tell_registrations(lease)

    def _tell_registrations(self, lease: Lease) -> None:
        assert lease.worker is not None
        line = attach.encode(registered(self.extension, lease.worker))
        if line != lease.told:
            lease.told = line
            lease.attachment.run.send(line)

    def _late(self, lease: Lease) -> None:
        """Replaces a process that does not answer."""
        lease.timer = None
        self.extension.account.timeouts += 1
        assert lease.worker is not None
        lease.worker.give_up(NOT_READY, EndCause.STALLED)

    def _end(self, lease: Lease) -> None:
        self._stop_timer(lease)
        if (worker := lease.worker) is not None and worker.state.is_up:
            ended = frames.LeaseEnd(lease.id, lease.attachment.run.session.id)
            worker.requests.write(frames.encode(ended))
        lease.state, lease.slot, lease.worker = LeaseState.WAITING, None, None

    def _stop_timer(self, lease: Lease) -> None:
        if lease.timer is not None:
            lease.timer.cancel()
            lease.timer = None


def _place(slot: WorkerSlot, taken: set[int]) -> Place:
    if id(slot) in taken:
        return Place.TAKEN
    state = slot.worker.state
    if state is WorkerState.READY:
        return Place.FREE
    is_coming = slot.is_due or not state.is_settled or state is WorkerState.WAKING
    return Place.COMING if is_coming else Place.DOWN
