"""One extension of the host for all runs that have taken it: sends their requests in turn, and tells them of its life.

The host owns the process: its restarts, its limits, its log. A run learns of exits and registrations by `state` and
`registered`. When the process dies, calls under way fail at once; verdicts under way are asked once more after the
restart, since the death may have been the fault of another run.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure, Pending
from supervisor.registry.registration import INTERACTIVE_S
from supervisor.sharing import run_frames
from supervisor.sharing.fair_queue import FairQueue
from supervisor.sharing.forwarded import Forwarded
from supervisor.sharing.registrations import registered
from supervisor.sharing.session_use import Uses
from supervisor.sharing.suspects import Suspects
from wire import attach, frames

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.extension.extension import Extension
    from supervisor.extension.worker import Worker
    from supervisor.loop.loop import Loop, Timer
    from supervisor.sharing.attachment import Attachment
    from wire.dialects.base import PanelChange, RunSession

    Waiting = Forwarded | frames.Event

FULL = 256 * 1024
"""Bytes that wait for the process above which nothing more is sent to it: further requests wait in their lines."""
LOOK_S = 0.25
"""Seconds between two looks for requests that are over their time."""
ROOM_S = 2e-3
"""Seconds until the next look whether a full process has read."""
LATE = 0.9
"""Part of its time after which a request whose run stops waiting counts as unanswered."""
FLOODS = "too many requests of this run wait for it"
CONVICTED = "it died twice with a request of this run; the run starts a process of its own"


class ServedExtension:
    """An extension that runs share."""

    def __init__(self, loop: Loop, extension: Extension) -> None:
        self.extension = extension
        self.name = extension.name
        self.uses = Uses(loop.clock)
        self.runs: dict[int, Attachment] = {}
        """The runs that have it, by their numbers."""
        self._loop = loop
        self._queue: FairQueue[Waiting] = FairQueue()
        self._suspects = Suspects()
        self._under_way: dict[int, Forwarded] = {}
        self._hurt: set[int] = set()
        """Runs with a request under way at the death that is judged in the next pass."""
        self._pump_timer: Timer | None = None
        self._look_timer: Timer | None = None
        self._state = b""
        """The line with the state of the extension, or with its registrations if it is up."""
        self._cpu_before = extension.account.cpu_s
        self.changed()

    # --- runs ---------------------------------------------------------------------------------------------------

    def join(self, attachment: Attachment) -> None:
        """A run takes the extension. It is told of its state, and of its registrations."""
        number = attachment.run.number
        self.runs[number] = attachment
        self._queue.join(number)
        attachment.run.send(self._state)

    def leave(self, attachment: Attachment, reason: str) -> None:
        """The run no longer has the extension: what it had in flight is freed at once."""
        number = attachment.run.number
        if self.runs.pop(number, None) is None:
            return
        for forwarded in list(attachment.open.values()):
            self.cancel(forwarded, reason)
        attachment.open.clear()
        self._queue.leave(number)
        self.uses.left(attachment.use)
        self._suspects.forget(number)
        attachment.close(reason)
        if attachment.knows_session and "session_end" in self.extension.observes:
            ended = frames.Event("session_end", reason="shutdown")
            run_frames.stamp(ended, attachment.run.session)
            self.extension.tell(ended, everyone=True)
        self._pump()

    def use_of(self, attachment: Attachment) -> attach.SessionUse:
        return self.uses.told(attachment.use, self.extension.account.cpu_s - self._cpu_before)

    # --- requests -----------------------------------------------------------------------------------------------

    def submit(self, forwarded: Forwarded) -> None:
        """Sends a request, at once or in its run's turn; fails it if the extension is down or too many wait."""
        if not self.extension.is_up:
            forwarded.attachment.fail(forwarded, Failure.DIED, self.extension.failure)
            return
        run = forwarded.attachment.run.number
        if self._queue.may_pass(run, self._loop.clock()) and self._has_room():
            self._send(forwarded)
        elif self._queue.add(run, forwarded, forwarded.size):
            self._pump_later()
        else:
            forwarded.attachment.fail(forwarded, Failure.NOT_READING, FLOODS)

    def tell(self, attachment: Attachment, event: frames.Event, size: int) -> None:
        """Sends an event, behind what already waits of its run. Drops and counts it if too many wait."""
        run = attachment.run.number
        if not self.extension.is_up:
            self.extension.account.events_dropped += 1
        elif not self._queue.waiting(run) and self._has_room():
            self.extension.tell(event, everyone=event.event in ("session_start", "session_end"))
        elif self._queue.add(run, event, size):
            self._pump_later()
        else:
            self.extension.account.events_dropped += 1

    def panel(self, change: PanelChange) -> None:
        """Passes on what the user of a run did with a panel."""
        if self.extension.is_up:
            self.extension.lead.requests.tell_panel(change)

    def ping(self, done: Callable[[], None]) -> None:
        """Calls `done` when all earlier output of the extension is handled."""
        lead = self.extension.lead
        if not (lead.state.is_up and lead.can_ping and lead.channel.round_trips.begin(done)):
            done()

    def cancel(self, forwarded: Forwarded, reason: str) -> None:
        """The run no longer waits for this request."""
        run = forwarded.attachment.run.number
        if forwarded.pending is None:
            self._queue.remove(run, forwarded)
            return
        pending, worker = forwarded.pending, forwarded.worker
        assert worker is not None
        pending.on_done = pending.on_progress = None
        self._is_over(forwarded)
        if self._loop.clock() - pending.asked_at >= forwarded.limit_s * LATE:
            worker.requests.expire(pending, forwarded.limit_s)
        else:
            worker.requests.cancel(pending, reason)
        self._pump()

    def _has_room(self) -> bool:
        stdin = self.extension.lead.requests.stdin
        return stdin is None or stdin.queued < FULL

    def _send(self, forwarded: Forwarded) -> None:
        attachment, frame = forwarded.attachment, forwarded.frame
        run, session = attachment.run.number, attachment.run.session
        worker = self._worker_for(forwarded)
        forwarded.worker, requests = worker, worker.requests
        forwarded.limit_s, pending = _request(worker, frame, session, self.extension)
        forwarded.pending = pending
        pending.session = session.id
        if pending.done:  # refused at once
            attachment.ended(forwarded, pending)
            return
        key = id(forwarded)
        self._under_way[key] = forwarded
        self._queue.began(run, key, pending.asked_at)
        self.uses.began(attachment.use)
        pending.on_done = partial(self._answered, forwarded)
        if type(frame) is frames.ToolCall:
            pending.on_progress = partial(attachment.progressed, forwarded.id)
        if self._look_timer is None:
            self._look_timer = self._loop.call_later(LOOK_S, self._look)
        assert requests is not None

    def _worker_for(self, forwarded: Forwarded) -> Worker:
        return self.extension.lead if forwarded.is_verdict else self.extension.least_busy()

    def _is_over(self, forwarded: Forwarded) -> None:
        """A request is no longer under way."""
        key = id(forwarded)
        if self._under_way.pop(key, None) is not None:
            self._queue.ended(forwarded.attachment.run.number, key)
            self.uses.ended(forwarded.attachment.use)

    def _answered(self, forwarded: Forwarded) -> None:
        pending, attachment = forwarded.pending, forwarded.attachment
        assert pending is not None
        run = attachment.run.number
        self._is_over(forwarded)
        if pending.failure is Failure.DIED:
            if forwarded.worker is not None and forwarded.worker.state is WorkerState.FAILED:
                self._hurt_by_death(run)
            if forwarded.is_verdict and not forwarded.is_asked_again:
                forwarded.is_asked_again, forwarded.pending = True, None
                self._queue.put_back(run, forwarded, forwarded.size)
                self._pump_later()
                return
        elif pending.failure is None:
            self._suspects.cleared(run)
        attachment.ended(forwarded, pending)
        if self._queue.is_waiting:
            self._pump()

    # --- turns --------------------------------------------------------------------------------------------------

    def _pump(self) -> None:
        """Sends what may go now."""
        if self._suspects.is_any:
            self._suspects.keep_only(self._queue.has)
        self._queue.is_serial = self._suspects.is_any
        while self.extension.is_up and self._has_room():
            taken = self._queue.take(self._loop.clock())
            if taken is None:
                break
            item = taken[1]
            if isinstance(item, Forwarded):
                self._send(item)
            else:
                self.extension.tell(item, everyone=item.event in ("session_start", "session_end"))
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

    def _look(self) -> None:
        """Fails requests that are over their time: the extension hangs, and so may the run."""
        self._look_timer = None
        now = self._loop.clock()
        for forwarded in list(self._under_way.values()):
            pending, worker = forwarded.pending, forwarded.worker
            assert pending is not None
            assert worker is not None
            if now - (pending.progressed_at or pending.asked_at) > forwarded.limit_s:
                worker.requests.expire(pending, forwarded.limit_s)
        if self._under_way:
            self._look_timer = self._loop.call_later(LOOK_S, self._look)

    # --- the life of the extension --------------------------------------------------------------------------------

    def _hurt_by_death(self, run: int) -> None:
        if not self._hurt:
            self._loop.call_later(0, self._judge_death)
        self._hurt.add(run)

    def _judge_death(self) -> None:
        hurt, self._hurt = self._hurt & self.runs.keys(), set()
        for run in self._suspects.died_with(hurt):
            self.convict(self.runs[run])
        self._pump()

    def convict(self, attachment: Attachment) -> None:
        """Takes the extension from a run, which starts a process of its own."""
        attachment.run.drop(attachment, CONVICTED, is_private=True)

    def changed(self) -> None:
        """The extension's state or its registrations may have changed: tells the runs."""
        extension, before = self.extension, self._state
        if not extension.is_settled:
            self._state = attach.encode(attach.State(self.name, "starting"))
        elif extension.is_up:
            self._state = attach.encode(registered(extension))
        else:
            self._state = attach.encode(
                attach.State(self.name, "gone" if extension.is_given_up else "down", extension.failure)
            )
        if self._state == before:
            return
        for attachment in list(self.runs.values()):
            attachment.run.send(self._state)
        if extension.is_given_up:
            self._fail_waiting(extension.failure)
        self._pump()

    def _fail_waiting(self, reason: str) -> None:
        for number, attachment in self.runs.items():
            for item in self._queue.waiting(number):
                self._queue.remove(number, item)
                if isinstance(item, Forwarded):
                    attachment.fail(item, Failure.DIED, reason)

    def told(self, kind: str, message: str) -> None:
        """Passes a notice about the extension on to its runs."""
        line = attach.encode(attach.Told(self.name, kind, message))
        for attachment in list(self.runs.values()):
            attachment.run.send(line)


def _request(
    worker: Worker, frame: frames.Event | frames.ToolCall | frames.CommandInvoked, session: RunSession,
    extension: Extension,
) -> tuple[float, Pending]:  # fmt: skip
    """Sends a request to a worker. Returns the seconds that it may take, and the request."""
    requests, timeouts = worker.requests, worker.timeouts
    if isinstance(frame, frames.Event):
        return timeouts.intercept, requests.ask(frame)
    if isinstance(frame, frames.CommandInvoked):
        return timeouts.command, requests.invoke(frame.name, frame.args or "", session)
    tool = extension.tools.get(frame.name)
    limit_s = timeouts.tool_call if tool is None or tool.timeout_s is None else tool.timeout_s
    if tool is not None and tool.is_interactive:
        limit_s = INTERACTIVE_S
    return limit_s, requests.call(frame.name, bytes(frame.args), limit_s, "", session)
