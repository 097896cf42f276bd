"""A worker whose process is started when it is needed. Until it is ready, requests and events for it wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from supervisor.extension.lazy.held_requests import HeldRequests
from supervisor.extension.lifecycle import Trigger, WorkerState
from supervisor.extension.process_worker import ProcessWorker
from supervisor.loop.future import Failure
from supervisor.loop.link import Link
from wire.dialects.base import UnsendableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.extension.connection.handshake import Readiness
    from supervisor.extension.restart import EndCause
    from supervisor.extension.worker import WorkerOwner
    from supervisor.loop.loop import Loop
    from supervisor.process.child import ExitStatus
    from wire.dialects.base import Dialect, HostInfo, Setup

NOTICED_S = 0.5
"""Seconds of a wait for a start from which the user is told of it."""


class Waker(Protocol):
    """The one who starts the processes of lazy workers."""

    def needed(self, worker: LazyWorker) -> None:
        """A request or event needs the process of a worker that sleeps. Called from within the request."""

    def ready(self, worker: LazyWorker) -> None:
        """The process of a worker is ready."""


class LazyWorker(ProcessWorker):
    """One process of an extension that may sleep. Until `fall_asleep` is called, it is a `ProcessWorker`."""

    __slots__ = ("_held", "_needed_at", "_waker", "is_resting")

    def __init__(
        self,
        loop: Loop,
        owner: WorkerOwner,
        dialect: Dialect,
        setup: Setup,
        *,
        waker: Waker,
        host: HostInfo,
        folder: str,
        index: int,
    ) -> None:
        super().__init__(loop, owner, dialect, setup, host=host, folder=folder, index=index)
        self._waker = waker
        self._held: HeldRequests | None = None
        """The requests and events that wait; None if none has to wait."""
        self._needed_at: float | None = None
        """When the first request came that waits for the start; None if no request waits."""
        self.is_resting = False
        """Whether it is stopped because it had nothing to do."""

    def fall_asleep(self) -> None:
        """Called instead of a start: from now on requests and events wait, and the first has a process started."""
        self._held = held = HeldRequests(self._session, self._owner.account, self._need)
        requests = self.requests
        requests.session, requests.waits_for_start = held, True
        requests.stdin = requests.stdout = Link(self._owner.name, held)
        self._move(Trigger.SLEPT)

    def start_soon(self) -> None:
        """Has its process started, if it sleeps."""
        self._need(False)

    def _need(self, is_request: bool) -> None:
        if is_request and self._needed_at is None:
            self._needed_at = self._clock()
        if self.state is WorkerState.ASLEEP:
            self._waker.needed(self)

    @property
    def needed_since(self) -> float | None:
        """The time of the first request that waits for the start; None if no request waits."""
        return self._needed_at

    @property
    def has_waiting(self) -> bool:
        """Whether requests or events wait for its process."""
        return self._held is not None and self._held.has_waiting

    def wake(self) -> None:
        """Called before the start of the process."""
        self.started_at = self._clock()
        self._move(Trigger.WOKEN)

    def leave(self, reason: str) -> None:
        """Called if no process will be started for a worker that sleeps. Its requests fail with this reason."""
        if self.state is WorkerState.ASLEEP:
            self.requests.refusal = reason
            self.channel.end(reason)
            self._tell_wait()

    def _become_ready(self, why: Readiness) -> None:
        super()._become_ready(why)
        if self.state is WorkerState.READY:
            self._waker.ready(self)
            self._release()

    def _release(self) -> None:
        """Sends the requests and events that wait. The time limit of a call or a command begins now."""
        held, self._held = self._held, None
        if held is None:
            return
        requests, now = self.requests, self._clock()
        self._tell_wait()
        requests.session, requests.waits_for_start = self._session, False
        for call_id, encode in held.take():
            pending = requests.pending.get(call_id)
            if call_id and pending is None:
                continue  # it was cancelled, or has run out of time
            if pending is not None and pending.what is not None:
                pending.asked_at = now
            self._send(call_id, encode)

    def _send(self, call_id: str, encode: Callable[[], bytes]) -> None:
        requests, stdin = self.requests, self.requests.stdin
        assert stdin is not None
        try:
            frame = encode()
        except UnsendableError as error:
            requests.pending.pop(call_id).fail(Failure.INVALID_ARGS, str(error))
            return
        if not frame or stdin.send(frame):
            requests.account.bytes_out += len(frame)
            requests.account.frames_out += bool(frame) and not call_id  # a request was counted when it came
        elif call_id:
            requests.pending.pop(call_id).fail(Failure.NOT_READING, f"it does not read {stdin.name}")
        else:
            requests.account.events_dropped += 1

    def _tell_wait(self) -> None:
        """Counts the time for which requests have waited for the start, and tells the user of a long one."""
        if self._needed_at is None:
            return
        waited, self._needed_at = self._clock() - self._needed_at, None
        account = self._owner.account
        account.start_waits += 1
        account.start_wait_s += waited
        if self.state is WorkerState.READY and waited >= NOTICED_S:
            self._notices.tell("late", f"waited {waited:.1f} s for its start")

    def _end(self, reason: str, full_reason: str, trigger: Trigger, cause: EndCause, code: int | None) -> None:
        super()._end(reason, full_reason, trigger, cause, code)
        self._held = None
        self._tell_wait()

    def _count_exit(self, status: ExitStatus, *, is_told: bool = True) -> None:
        super()._count_exit(status, is_told=is_told and not self.is_resting)
