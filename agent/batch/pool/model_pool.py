"""Model workers that the runs of a batch share: a worker serves one run at a time, for one request.

A request waits until the throttle of its account permits it and a worker is free, and until another one with the same
beginning has filled the provider's cache. A refusal for a rate limit does not reach the run: the request waits again,
at its old place. A worker whose run is over in mid-reply is killed.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import msgspec
import orjson

from agent.batch.pool.leases import (
    Lease,
    LeaseQueue,
    LeaseState,
    RunCounters,
    connection_of,
    max_tokens_of,
    request_line,
)
from agent.batch.pool.prefix_turns import PrefixTurns, prefix_of
from agent.batch.throttle import RateWait, Throttle
from agent.cassette.reply_lines import Limits
from agent.model.provider import TERMINAL
from agent.model.worker_process import REQUEST_LIMIT, worker_failed
from supervisor.process.child import SpawnError
from wire.lenient_json import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent.batch.pool.leases import MakeWorkers, ModelAccount, WorkerConnection
    from agent.model.provider import Line
    from supervisor.loop.loop import Loop, Timer
    from supervisor.process.child import Child
    from supervisor.process.teardown import Stoppable
    from supervisor.template.forked_child import ForkedChild
    from wire.batch.link import ModelRequest

TELL_AFTER_S = 0.2
"""Seconds. A shorter wait is no pause."""
TELL_TURN_AFTER_S = 5.0
"""Seconds. A request that waits for another one to fill the provider's cache for less is no pause."""
TURN = "another request fills the provider's cache; --no-warm-cache does not wait for it"
TOO_LARGE_AFTER = 3
"""Refusals of a request that takes more than the whole limit, before its run gets the refusal."""


class ModelPool:
    """At most `jobs` workers serve requests. The callbacks get the name of the run: `on_line` a line of a worker
    without its LF, `on_paused` the reason why a request waits, `on_resumed` and `on_free` nothing else. `on_free` tells
    that its request has ended and has cost nothing, `on_lost` that it was sent without an answer and is sent again.
    They may call the pool."""

    def __init__(
        self,
        loop: Loop,
        make_workers: MakeWorkers,
        *,
        jobs: int,
        warm_cache: bool = True,
        on_line: Callable[[str, bytes | bytearray], None],
        on_paused: Callable[[str, str], None],
        on_resumed: Callable[[str], None],
        on_free: Callable[[str], None],
        on_lost: Callable[[str], None],
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._loop = loop
        self._jobs = jobs
        self._on_line = on_line
        self._on_paused = on_paused
        self._on_resumed = on_resumed
        self._on_free = on_free
        self._on_lost = on_lost
        self._wall_clock = wall_clock
        self._connections: dict[bytes, WorkerConnection] = {}
        self._queues: dict[ModelAccount, LeaseQueue] = {}
        self._open: dict[str, Lease] = {}
        """By run."""
        self._counters: dict[str, RunCounters] = {}
        self._sequence = 0
        self._users_pause = ""
        self._turns = PrefixTurns()
        self._warms = warm_cache
        self._workers = make_workers(on_line=self._take, on_failed=self._fail)
        self._timer: Timer | None = None
        self._is_pumping = False
        self._is_stopping = False

    # --- for the runs -------------------------------------------------------------------------------------

    def request(self, run: str, request: ModelRequest) -> None:
        """Queues the request of a run. A fault in it becomes the `error` line of its reply."""
        if run in self._open:
            self._end(self._open[run])
        try:
            connection = self._connections.get(bytes(request.configure)) or connection_of(request)
            most = max_tokens_of(request)
        except UNREADABLE as error:
            self._refuse_unsent(run, request.id, f"the request of the run is not valid: {error}")
            return
        self._connections[connection.raw] = connection
        line = request_line(request)
        if len(line) > REQUEST_LIMIT:
            self._refuse_unsent(run, request.id, f"the conversation makes a request of more than {REQUEST_LIMIT} bytes")
            return
        account = connection.account(request.model)
        queue, now = self._queue(account), self._loop.clock()
        prefix = prefix_of(request, account) if self._warms and self._jobs > 1 else None
        self._sequence += 1
        lease = Lease(
            self._sequence, run, request.id, request.model, line, most, connection, queue.throttle, now, prefix
        )
        self._open[run] = lease
        queue.add(lease)
        self._pump()

    def _queue(self, account: ModelAccount) -> LeaseQueue:
        if account not in self._queues:
            self._queues[account] = LeaseQueue(Throttle(self._jobs))
        return self._queues[account]

    def cancel(self, run: str) -> None:
        """The run gives its request up, or has ended: it gets no more lines. Its worker is killed."""
        if (lease := self._open.get(run)) is not None:
            self._end(lease)
            self._pump()

    def forget(self, run: str) -> RunCounters:
        """The run has ended. Returns what it has counted."""
        self.cancel(run)
        return self._counters.pop(run, RunCounters())

    def hold(self, run: str) -> None:
        """The run does not read: its worker is not read until `read_on`."""
        if (lease := self._open.get(run)) is not None and lease.worker is not None:
            lease.worker.hold()

    def read_on(self, run: str) -> None:
        if (lease := self._open.get(run)) is not None and lease.worker is not None:
            lease.worker.read_on()

    # --- for the batch ------------------------------------------------------------------------------------

    def pause(self, reason: str) -> None:
        """No new requests until `resume`; replies that have begun go on."""
        self._users_pause = reason
        self._pump()

    def resume(self) -> None:
        self._users_pause = ""
        self._pump()

    def set_jobs(self, jobs: int) -> None:
        """From now on at most `jobs` workers serve requests; replies that have begun go on."""
        self._jobs = jobs
        for queue in self._queues.values():
            queue.throttle.set_most(jobs)
        self._pump()

    def counters(self, run: str) -> RunCounters:
        return self._counters.get(run) or RunCounters()

    def why_paused(self) -> str:
        """Why the oldest request that waits is not sent; "" if none waits for a permit."""
        now = self._loop.clock()
        firsts = [self._first(queue, now) for queue in self._queues.values()]
        for lease in sorted(filter(None, firsts)):
            if (wait := self._wait_of(lease, now)) is not None:
                return self._sentence(wait, now)
        return ""

    @property
    def rate_limited(self) -> int:
        return sum(queue.throttle.rate_limited for queue in self._queues.values())

    def children(self) -> list[Child | ForkedChild]:
        """The processes of all workers."""
        return self._workers.children()

    def stoppables(self) -> Sequence[Stoppable]:
        """The workers, to stop them at the end of the batch, which begins with this call."""
        self._is_stopping = True
        if self._timer is not None:
            self._timer.cancel()
        return self._workers.stop()

    # --- from the queue to a worker -----------------------------------------------------------------------

    def _pump(self) -> None:
        """Sends what may be sent, tells runs that they wait, and comes back when more may be sent."""
        if self._is_pumping or self._is_stopping:
            return
        self._is_pumping = True
        try:
            now = self._loop.clock()
            while (found := self._next(now)) is not None:
                lease, queue = found
                queue.take(lease)
                self._send(lease, now)
                now = self._loop.clock()
        finally:
            self._is_pumping = False
        self._tell_and_wait(now)

    def _next(self, now: float) -> tuple[Lease, LeaseQueue] | None:
        """The oldest request that may be sent, and its queue."""
        if self._workers.leased >= self._jobs:
            return None
        ready = []
        for queue in self._queues.values():
            lease = self._first(queue, now)
            if lease is not None and self._wait_of(lease, now) is None:
                ready.append((lease, queue))
        return min(ready, key=lambda one: one[0]) if ready else None

    def _first(self, queue: LeaseQueue, now: float) -> Lease | None:
        """The oldest request that does not wait for another one to fill the provider's cache."""
        return queue.first(lambda lease: self._turn_at(lease, now) is None)

    def _turn_at(self, lease: Lease, now: float) -> float | None:
        """The time until which the request waits for another one to fill the provider's cache; None: it does not."""
        return None if self._users_pause else self._turns.wait_until(lease.prefix, now)

    def _wait_of(self, lease: Lease, now: float) -> RateWait | None:
        if self._users_pause:
            return RateWait(math.inf, self._users_pause)
        return lease.throttle.may_send(now, lease.throttle.estimate(lease.size))

    def _send(self, lease: Lease, now: float) -> None:
        try:
            worker = self._workers.lease(lease, self._jobs)
        except SpawnError as error:
            self._fail(lease, f"the model worker could not be started: {error}")
            return
        lease.state, lease.worker = LeaseState.SENT, worker
        lease.throttle.sent(lease.id, lease.size)
        self._turns.sent(lease.prefix, lease.id, now)
        self._counters.setdefault(lease.run, RunCounters()).requests += 1
        if lease.is_told:
            lease.is_told = False
            self._on_resumed(lease.run)
        worker.send_once_ready(lease.line)

    def _tell_and_wait(self, now: float) -> None:
        """Tells the runs that wait, and sets the timer for the next look. `now` is the time of the look at which none
        could be sent: at a later one a request may be found that could, and nobody would look again."""
        soonest = math.inf
        for queue in list(self._queues.values()):
            first = self._first(queue, now)
            wait = None if first is None else self._wait_of(first, now)
            for lease in queue.waiting():
                if (turn_at := self._turn_at(lease, now)) is not None:
                    soonest, reason, tell_at = min(soonest, turn_at), TURN, lease.queued_at + TELL_TURN_AFTER_S
                elif wait is not None:
                    soonest, reason = min(soonest, wait.until), self._sentence(wait, now)
                    tell_at = 0.0 if lease.refusals or self._users_pause else lease.queued_at + TELL_AFTER_S
                else:
                    continue
                if lease.is_told:
                    continue
                if tell_at > now:
                    soonest = min(soonest, tell_at)
                    continue
                lease.is_told = True
                self._on_paused(lease.run, reason)
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if math.isinf(soonest) else self._loop.call_at(soonest, self._pump)

    def _sentence(self, wait: RateWait, now: float) -> str:
        """`rate limit: 30,000 input tokens per minute are used up; next at 12:03:20`."""
        if self._users_pause:
            return wait.reason
        if math.isinf(wait.until):
            return f"rate limit: {wait.reason}"
        at = time.localtime(self._wall_clock() + wait.until - now)
        return f"rate limit: {wait.reason}; next at {time.strftime('%H:%M:%S', at)}"

    # --- from a worker to its run -------------------------------------------------------------------------

    def _take(self, lease: Lease, line: Line, raw: bytes | bytearray) -> None:
        """Passes a line on, and learns from it."""
        now = self._loop.clock()
        kind = line["type"]
        if kind == "message_start" and lease.state is LeaseState.SENT:
            lease.state = LeaseState.STREAMING
            self._turns.begun(lease.prefix, lease.id)
            lease.throttle.answered(now, lease.id, _limits(line))
        elif kind == "error" and self._is_to_wait(lease, line):
            self._refuse(lease, line)
            return
        elif kind == "retry" and line.get("unanswered"):
            self._on_lost(lease.run)
        elif kind in TERMINAL:
            if kind == "error" and lease.state is LeaseState.SENT and not line.get("unanswered"):
                self._on_free(lease.run)
            self._close(lease)
            lease.throttle.finished(now, lease.id, line.get("usage"))
            self._workers.free(lease)
        self._on_line(lease.run, raw)
        if kind in TERMINAL or kind == "message_start":
            self._pump()

    def _is_to_wait(self, lease: Lease, line: Line) -> bool:
        """Whether a request was refused for now, so that it can be sent again later."""
        if line["kind"] != "rate_limit" or lease.state is not LeaseState.SENT:
            return False
        limits = _limits(line)
        if "credit balance" in line["message"].lower() or (limits is not None and limits.should_retry is False):
            return False
        is_too_large = lease.throttle.is_too_large(lease.throttle.estimate(lease.size))
        return not (is_too_large and lease.refusals >= TOO_LARGE_AFTER)

    def _refuse(self, lease: Lease, line: Line) -> None:
        """The request goes back to its place in the queue, and its worker is free."""
        lease.throttle.refused(self._loop.clock(), lease.id, line.get("retry_after_s"), _limits(line))
        self._turns.ended(lease.prefix, lease.id)
        self._workers.free(lease)
        lease.state, lease.worker = LeaseState.QUEUED, None
        lease.refusals += 1
        self._counters.setdefault(lease.run, RunCounters()).rate_limited += 1
        self._queue(lease.connection.account(lease.model)).add(lease)
        self._pump()

    def _fail(self, lease: Lease, message: str) -> None:
        """The worker of a request has failed, or could not be started."""
        self._close(lease)
        if lease.worker is None or not lease.worker.is_ready:
            self._on_free(lease.run)
        lease.throttle.finished(self._loop.clock(), lease.id)
        self._tell_error(lease.run, lease.id, message)
        self._pump()

    def _end(self, lease: Lease) -> None:
        """Ends a request whose run no longer wants the reply."""
        self._workers.kill(lease)
        self._close(lease)
        if lease.worker is None or not lease.worker.is_ready:
            self._on_free(lease.run)
        lease.throttle.finished(self._loop.clock(), lease.id)

    def _close(self, lease: Lease) -> None:
        lease.state = LeaseState.OVER
        self._turns.ended(lease.prefix, lease.id)
        if self._open.get(lease.run) is lease:
            del self._open[lease.run]

    def _refuse_unsent(self, run: str, request_id: str, message: str) -> None:
        self._on_free(run)
        self._tell_error(run, request_id, message)

    def _tell_error(self, run: str, request_id: str, message: str) -> None:
        self._on_line(run, orjson.dumps({**worker_failed(message), "id": request_id}))


def _limits(line: Line) -> Limits | None:
    return msgspec.convert(line.get("limits"), Limits | None)
