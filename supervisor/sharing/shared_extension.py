"""One extension whose process serves all runs at the same time: their requests go in turn, each with its session.

When the process dies, calls under way fail at once; verdicts under way are asked once more after the restart, since the
death may have been the fault of another run. A run with which it died twice gets a process of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure
from supervisor.sharing.attachment import Forwarded
from supervisor.sharing.fair_queue import FairQueue
from supervisor.sharing.served_extension import ServedExtension
from supervisor.sharing.suspects import Suspects

if TYPE_CHECKING:
    from supervisor.extension.extension import Extension
    from supervisor.extension.worker import Worker
    from supervisor.loop.future import Pending
    from supervisor.loop.loop import Loop, Timer
    from supervisor.sharing.attachment import Attachment
    from wire import frames

    Waiting = Forwarded | frames.Event

FULL = 256 * 1024
"""Bytes that wait for the process above which nothing more is sent to it: further requests wait in their lines."""
ROOM_S = 2e-3
"""Seconds until the next look whether a full process has read."""
FLOOD_S = 2e-3
"""Seconds for which nothing more is read from a run after that: to refuse its requests would take the host's time."""
FLOODS = "too many requests of this run wait for it"
CONVICTED = "it died twice with a request of this run; the run starts a process of its own"


class SharedExtension(ServedExtension):
    """An extension that all its runs use together."""

    def __init__(self, loop: Loop, extension: Extension) -> None:
        super().__init__(loop, extension)
        self._queue: FairQueue[Waiting] = FairQueue()
        self._suspects = Suspects()
        self._hurt: set[int] = set()
        """Runs with a request under way at the death that is judged in the next pass."""
        self._pump_timer: Timer | None = None
        self._told_sessions: dict[int, Worker] = {}
        """The workers that have been told of all sessions so far."""
        self._tell_sessions()

    # --- runs ---------------------------------------------------------------------------------------------------

    def join(self, attachment: Attachment) -> None:
        super().join(attachment)
        self._queue.join(attachment.run.number)
        attachment.run.send(self._state)

    def leave(self, attachment: Attachment, reason: str) -> None:
        number = attachment.run.number
        self._queue.leave(number)  # before its requests end: nothing that waits may take their place
        self._suspects.forget(number)
        super().leave(attachment, reason)
        self._pump()

    def attachment_of(self, worker: Worker, session_id: str | None) -> Attachment | None:  # noqa: ARG002
        return next((each for each in self.runs.values() if each.run.session.id == session_id), None)

    # --- from runs ----------------------------------------------------------------------------------------------

    def submit(self, forwarded: Forwarded) -> None:
        """Sends a request, at once or in its run's turn. While the extension is down a verdict waits for its restart,
        and a call fails, as does what is too much."""
        extension, run = self.extension, forwarded.attachment.run.number
        if not extension.is_up and (extension.is_given_up or not forwarded.is_verdict):
            forwarded.attachment.fail(forwarded, Failure.DIED, extension.lead.requests.refusal)
        elif extension.is_up and self._queue.may_pass(run, self._loop.pass_time) and self._has_room():
            self._send(forwarded, self._choose_worker(forwarded))
        elif self._queue.add(run, forwarded, forwarded.size):
            self._pump_later()
        else:
            forwarded.attachment.fail(forwarded, Failure.NOT_READING, FLOODS)
            forwarded.attachment.run.pause(FLOOD_S)

    def tell(self, attachment: Attachment, event: frames.Event, size: int) -> None:
        """Sends an event, behind what already waits of its run. Drops and counts it if too many wait."""
        run = attachment.run.number
        if not self._queue.waiting(run) and self._has_room():
            self._pass_event(attachment, event)
        elif self._queue.add(run, event, size):
            self._pump_later()
        else:
            self.extension.account.events_dropped += 1

    def cancel(self, forwarded: Forwarded, reason: str) -> None:
        if forwarded.pending is None:
            self._queue.remove(forwarded.attachment.run.number, forwarded)
            return
        super().cancel(forwarded, reason)
        self._pump()

    # --- turns --------------------------------------------------------------------------------------------------

    def _worker_for(self, attachment: Attachment) -> Worker | None:  # noqa: ARG002
        return self.extension.lead if self.extension.is_up else None

    def _choose_worker(self, forwarded: Forwarded) -> Worker:
        extension = self.extension
        is_only = len(extension.slots) == 1
        return extension.lead if is_only or forwarded.is_verdict else extension.least_busy()

    def _pass_event(self, attachment: Attachment, event: frames.Event) -> None:  # noqa: ARG002
        self.extension.tell(event, everyone=event.event in ("session_start", "session_end"))

    def _has_room(self) -> bool:
        stdin = self.extension.lead.requests.stdin
        return stdin is None or stdin.queued < FULL

    def _began(self, forwarded: Forwarded, pending: Pending) -> None:
        self._queue.began(forwarded.attachment.run.number, id(forwarded), pending.asked_at)

    def _is_over(self, forwarded: Forwarded) -> None:
        super()._is_over(forwarded)
        self._queue.ended(forwarded.attachment.run.number, id(forwarded))

    def _answered(self, forwarded: Forwarded) -> None:
        if forwarded.pending is not None and forwarded.pending.failure is None:
            self._suspects.cleared(forwarded.attachment.run.number)
        super()._answered(forwarded)
        if self._queue.is_waiting:
            self._pump()

    def _pump(self) -> None:
        """Sends what may go now."""
        if self._suspects.is_any:
            self._suspects.keep_only(self._queue.has)
        self._queue.is_serial = self._suspects.is_any or bool(self._hurt)
        while self.extension.is_up and self._has_room():
            taken = self._queue.take(self._loop.clock())
            if taken is None:
                break
            run, item = taken
            if isinstance(item, Forwarded):
                self._send(item, self._choose_worker(item))
            else:
                self._pass_event(self.runs[run], item)
        self._pump_later()

    def _pump_later(self) -> None:
        """Looks again when a request is no longer young, or the process has read. An answer pumps by itself."""
        if self._pump_timer is not None or not self._queue.is_waiting or not self.extension.is_up:
            return
        now = self._loop.clock()
        at = self._queue.next_at(now) if self._has_room() else now + ROOM_S
        if at is None and not self._under_way:
            at = now
        if at is not None:
            self._pump_timer = self._loop.call_at(at, self._pump_again)

    def _pump_again(self) -> None:
        self._pump_timer = None
        self._pump()

    # --- the life of the extension --------------------------------------------------------------------------------

    def _asks_again(self, forwarded: Forwarded) -> bool:
        run = forwarded.attachment.run.number
        if forwarded.worker is not None and forwarded.worker.state is WorkerState.FAILED:
            if not self._hurt:
                self._loop.call_later(0, self._judge_death)
            self._hurt.add(run)
        if not forwarded.is_verdict or forwarded.is_asked_again:
            return False
        forwarded.is_asked_again, forwarded.pending = True, None
        self._queue.put_back(run, forwarded, forwarded.size)
        self._pump_later()
        return True

    def _judge_death(self) -> None:
        hurt, self._hurt = self._hurt & self.runs.keys(), set()
        for run in self._suspects.died_with(hurt):
            attachment = self.runs[run]
            attachment.run.drop(attachment, CONVICTED, is_private=True)
        self._pump()

    def changed(self) -> None:
        """Tells the runs of a new state, or of new registrations, and new processes of the sessions."""
        self._tell_sessions()
        state = self._state_now()
        if state == self._state:
            return
        self._state = state
        for attachment in list(self.runs.values()):
            attachment.run.send(state)
        if self.extension.is_given_up:
            self._fail_waiting(self.extension.failure)
        self._pump()

    def _tell_sessions(self) -> None:
        """Sends the start of each session to the workers that have come since. While none is up, runs are told so, and
        they tell the next one themselves."""
        if not self.extension.is_up:
            for attachment in self.runs.values():
                attachment.started = None
        workers = {
            id(each): each
            for each in self.extension.workers
            if each.state.is_up and "session_start" in each.registry.observes
        }
        for key, worker in workers.items():
            if self._told_sessions.get(key) is not worker:
                for attachment in self.runs.values():
                    if attachment.started is not None:
                        worker.requests.tell(attachment.started)
        self._told_sessions = workers

    def _fail_waiting(self, reason: str) -> None:
        for number, attachment in self.runs.items():
            for item in self._queue.waiting(number):
                self._queue.remove(number, item)
                if isinstance(item, Forwarded):
                    attachment.fail(item, Failure.DIED, reason)
