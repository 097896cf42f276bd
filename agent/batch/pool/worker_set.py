"""The model workers of a pool: which are leased, which are idle, which end."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from agent.model.worker_process import ModelWorker

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.batch.pool.lease import Connection, Lease
    from agent.model.provider import Line
    from agent.model.worker_process import StartWorker
    from supervisor.loop.loop import Loop, Timer

IDLE_S = 30.0
"""Seconds after which a worker without requests ends, unless it is the last one."""
ENDS_WITHIN_S = 2.0
"""Seconds that such a worker has before it is killed."""


class WorkerState(Enum):
    """Only `WorkerSet` changes it."""

    IDLE = "idle"
    LEASED = "leased"
    ENDING = "ending"
    """It was told to end, or killed, or has sent what no worker sends. It gets no request any more."""


class _Member:
    """One worker. It has a lease exactly while it is `LEASED`."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.state = WorkerState.IDLE
        self.lease: Lease | None = None
        self.idle_since = 0.0
        self.worker: ModelWorker | None = None


class WorkerSet:
    """`on_line` gets each line of a leased worker, decoded and as it came; `on_failed` a lease whose worker has ended
    or sent nonsense, with the reason; `on_room` is called when a worker has become free or has ended."""

    def __init__(
        self,
        loop: Loop,
        start: StartWorker,
        *,
        on_line: Callable[[Lease, Line, bytes | bytearray], None],
        on_failed: Callable[[Lease, str], None],
    ) -> None:
        self._loop = loop
        self._start = start
        self._on_line = on_line
        self._on_failed = on_failed
        self._members: list[_Member] = []
        self._timer: Timer | None = None

    @property
    def all(self) -> list[ModelWorker]:
        """Every worker whose end is not known yet."""
        return [member.worker for member in self._members if member.worker is not None]

    @property
    def leased(self) -> int:
        return sum(member.state is WorkerState.LEASED for member in self._members)

    def lease(self, lease: Lease, most: int) -> ModelWorker:
        """Gives a worker to a lease: an idle one with the same connection, or a new one. If there are `most` workers,
        an idle one with another connection ends. Raises `SpawnError`."""
        idle = [member for member in self._members if member.state is WorkerState.IDLE]
        same = [member for member in idle if member.connection == lease.connection]
        if same:
            member = same[-1]  # the one that was used last: the others become superfluous together
            self._members.remove(member)
        else:
            if idle and len(idle) + self.leased >= most:
                self._end(idle[0])
            member = self._begin(lease.connection)
        self._members.append(member)
        member.state, member.lease = WorkerState.LEASED, lease
        assert member.worker is not None
        return member.worker

    def _begin(self, connection: Connection) -> _Member:
        member = _Member(connection)
        member.worker = ModelWorker(
            self._loop,
            self._start,
            connection.line,
            on_line=lambda line, raw: self._line(member, line, raw),
            on_fault=lambda message: self._fault(member, message),
            on_end=lambda last_words: self._gone(member, last_words),
        )
        return member

    def free(self, lease: Lease) -> None:
        """The reply has ended: the worker may serve another run."""
        for member in self._members:
            if member.lease is lease:
                member.state, member.lease = WorkerState.IDLE, None
                member.idle_since = self._loop.clock()
                if member.worker is not None:
                    member.worker.read_on()
                self._look_later()

    def kill(self, lease: Lease) -> None:
        """The run is over in mid-reply: its worker must not serve another one."""
        for member in self._members:
            if member.lease is lease:
                self._kill(member)

    def stop(self) -> list[ModelWorker]:
        """Forgets all leases, and returns the workers, for the one who stops them."""
        if self._timer is not None:
            self._timer.cancel()
        for member in self._members:
            member.state, member.lease = WorkerState.ENDING, None
        return self.all

    def _line(self, member: _Member, line: Line, raw: bytes | bytearray) -> None:
        if member.lease is not None and line.get("id") == member.lease.id:
            self._on_line(member.lease, line, raw)

    def _fault(self, member: _Member, message: str) -> None:
        lease = member.lease
        self._kill(member)
        if lease is not None:
            self._on_failed(lease, message)

    def _gone(self, member: _Member, last_words: str) -> None:
        lease, member.lease = member.lease, None
        member.state = WorkerState.ENDING
        if member in self._members:
            self._members.remove(member)
        if lease is not None:
            self._on_failed(lease, last_words)

    def _kill(self, member: _Member) -> None:
        member.state, member.lease = WorkerState.ENDING, None
        if member.worker is not None:
            member.worker.kill()

    def _end(self, member: _Member) -> None:
        """Lets an idle worker end by itself."""
        member.state = WorkerState.ENDING
        if (worker := member.worker) is not None:
            worker.hint_to_stop()
            self._loop.call_later(ENDS_WITHIN_S, worker.kill)

    def _look_later(self) -> None:
        idle = [member for member in self._members if member.state is WorkerState.IDLE]
        if self._timer is None and len(idle) > 1:
            oldest = min(member.idle_since for member in idle)
            self._timer = self._loop.call_at(oldest + IDLE_S, self._end_idle)

    def _end_idle(self) -> None:
        """Ends the workers that were idle for long, but for the last worker."""
        self._timer = None
        idle = [member for member in self._members if member.state is WorkerState.IDLE]
        idle.sort(key=lambda member: member.idle_since)
        for member in idle[:-1]:
            if self._loop.clock() - member.idle_since >= IDLE_S:
                self._end(member)
        self._look_later()
