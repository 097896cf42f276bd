"""One extension whose processes each serve one run at a time: a pool that grows to the runs that have it at once.

A process is handed to the next run by `lease_end` and `lease_begin`; it answers with `lease_ready`. One that does not
answer in time is replaced. A crash hurts the run of that lease alone.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from supervisor.extension.lazy.lazy_worker import LazyWorker
from supervisor.extension.lifecycle import WorkerState
from supervisor.extension.restart import EndCause
from supervisor.loop.future import Failure
from supervisor.sharing.served_extension import ServedExtension
from wire import attach, frames

if TYPE_CHECKING:
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


class LeaseState(Enum):
    """The states of a lease."""

    WAITING = "waiting"
    """It has no process yet, or its process is being restarted."""
    BEGUN = "begun"
    """`lease_begin` is sent."""
    READY = "ready"


class Lease:
    """The lease of one run."""

    __slots__ = ("attachment", "id", "slot", "state", "timer", "worker")

    def __init__(self, attachment: Attachment) -> None:
        self.attachment = attachment
        self.state = LeaseState.WAITING
        self.slot: WorkerSlot | None = None
        self.worker: Worker | None = None
        """The process that has got `lease_begin`; None while it waits."""
        self.id = ""
        self.timer: Timer | None = None


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
        lease = self._lease_of(worker)
        if lease is None or session_id not in (None, lease.attachment.run.session.id):
            return None
        return lease.attachment

    def _lease_of(self, worker: Worker) -> Lease | None:
        return next((each for each in self._leases.values() if each.worker is worker), None)

    # --- requests -----------------------------------------------------------------------------------------------

    def submit(self, forwarded: Forwarded) -> None:
        if (worker := self._worker_for(forwarded.attachment)) is None:
            forwarded.attachment.fail(forwarded, Failure.DIED, self.extension.failure or WAITS)
        else:
            self._send(forwarded, worker)

    def tell(self, attachment: Attachment, event: frames.Event, size: int) -> None:  # noqa: ARG002
        self._pass_event(attachment, event)

    def _worker_for(self, attachment: Attachment) -> Worker | None:
        lease = self._leases.get(attachment.run.number)
        return lease.worker if lease is not None and lease.state is LeaseState.READY else None

    # --- processes ----------------------------------------------------------------------------------------------

    def changed(self) -> None:
        """A process has started or ended, or the extension was reloaded."""
        self._state = self._state_now()
        for lease in list(self._leases.values()):
            if lease.worker is not None and not self._holds(lease):
                self._lose(lease)
        self._fill()

    def _holds(self, lease: Lease) -> bool:
        """Whether the process of the lease is still there, and of the current version."""
        worker = lease.worker
        return worker is not None and worker.state.is_up and worker in self.extension.workers

    def _lose(self, lease: Lease) -> None:
        """The process of the lease is gone: its run is told, and waits for the next one."""
        assert lease.worker is not None
        reason = lease.worker.failure or "another version of this extension has taken its place"
        self._stop_timer(lease)
        lease.state, lease.worker, lease.slot = LeaseState.WAITING, None, None
        lease.attachment.run.send(attach.encode(attach.State(self.name, "down", reason)))

    def _fill(self) -> None:
        """Gives a process to each lease that waits, and starts further ones."""
        waiting = [each for each in self._leases.values() if each.state is LeaseState.WAITING]
        if not waiting:
            return
        taken = {id(each.slot) for each in self._leases.values() if each.slot is not None}
        free = [slot for slot in self.extension.slots if id(slot) not in taken]
        for lease in waiting:
            slot = next((each for each in free if each.worker.state is WorkerState.READY), None)
            if slot is None:
                break
            free.remove(slot)
            waiting = waiting[1:]
            self._begin(lease, slot)
        asleep = [each.worker for each in free if each.worker.state is WorkerState.ASLEEP]
        for worker in asleep[: len(waiting)]:
            if isinstance(worker, LazyWorker):
                worker.start_soon()
        coming = len(asleep) + sum(
            not slot.worker.state.is_settled or slot.worker.state is WorkerState.BACKOFF for slot in free
        )
        if self.extension.is_given_up:
            for lease in waiting:
                state = attach.State(self.name, "gone", self.extension.failure)
                lease.attachment.run.send(attach.encode(state))
            return
        if self.extension.is_settled:
            for _ in range(min(len(waiting) - coming, PROCESSES_LIMIT - len(self.extension.slots))):
                self.extension.add_worker()

    def _begin(self, lease: Lease, slot: WorkerSlot) -> None:
        worker = slot.worker
        self._number += 1
        lease.id = f"lease-{self._number}"
        lease.slot, lease.worker, lease.state = slot, worker, LeaseState.BEGUN
        worker.channel.handlers[frames.LeaseReady] = self._on_ready
        session = lease.attachment.run.session
        worker.requests.write(frames.encode(frames.LeaseBegin(lease.id, session.id, session.cwd)))
        lease.timer = self._loop.call_later(READY_S, lambda: self._late(lease))

    def _on_ready(self, frame: frames.LeaseReady) -> None:
        lease = next((each for each in self._leases.values() if each.id == frame.id), None)
        if lease is None or lease.state is not LeaseState.BEGUN:
            return
        self._stop_timer(lease)
        lease.state = LeaseState.READY
        lease.attachment.run.send(self._state)

    def _late(self, lease: Lease) -> None:
        """Replaces a process that does not answer."""
        worker, lease.timer = lease.worker, None
        lease.state, lease.worker, lease.slot = LeaseState.WAITING, None, None
        self.extension.account.timeouts += 1
        assert worker is not None
        worker.give_up(NOT_READY, EndCause.STALLED)

    def _end(self, lease: Lease) -> None:
        self._stop_timer(lease)
        if lease.worker is not None and lease.worker.state.is_up:
            ended = frames.LeaseEnd(lease.id, lease.attachment.run.session.id)
            lease.worker.requests.write(frames.encode(ended))

    def _stop_timer(self, lease: Lease) -> None:
        if lease.timer is not None:
            lease.timer.cancel()
            lease.timer = None
