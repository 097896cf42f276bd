"""The requests of runs on their way through the pool, and its model workers: leased, idle, or ending."""

from __future__ import annotations

import heapq
import re
from dataclasses import dataclass, field
from enum import Enum
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec
import orjson

from agent.model.worker_process import ModelWorker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent.batch.pool.prefix_turns import Prefix
    from agent.batch.throttle import Throttle
    from agent.model.provider import Line
    from agent.model.worker_process import StartWorker
    from supervisor.loop.loop import Loop, Timer
    from supervisor.process.child import Child
    from supervisor.process.teardown import Stoppable
    from supervisor.template.forked_child import ForkedChild
    from wire.batch.link import ModelRequest

_FAMILY = re.compile(r"claude-(?:(?P<name>[a-z]+)-(?P<major>\d{1,2})(?!\d)|\d{1,2}(?:-\d{1,2})?-[a-z]+)")
"""`claude-opus-4-1-20250805` and `claude-3-5-haiku-20241022`: Anthropic limits the models of one name and one major
version together, and those with the older names each by itself."""
_VERSION = re.compile(r"[-@](?:\d{8}|latest)$")


class Served(Protocol):
    """A request, as a worker needs it."""

    @property
    def id(self) -> str: ...
    @property
    def connection(self) -> WorkerConnection: ...


Request = TypeVar("Request", bound=Served)


class LeasedWorker(Protocol):
    """A worker that serves a lease."""

    @property
    def is_ready(self) -> bool:
        """Whether it has got the request, or would get it at once."""

    def send_once_ready(self, line: bytes) -> None: ...
    def hold(self) -> None: ...
    def read_on(self) -> None: ...


class Workers(Protocol):
    """The workers of a pool, as `WorkerSet` has them on this machine."""

    @property
    def leased(self) -> int: ...
    def lease(self, lease: Lease, most: int) -> LeasedWorker: ...
    def free(self, lease: Lease) -> None: ...
    def kill(self, lease: Lease) -> None: ...
    def children(self) -> list[Child | ForkedChild]: ...
    def stop(self) -> Sequence[Stoppable]: ...


class MakeWorkers(Protocol):
    """Makes them; the callbacks are those of `WorkerSet`."""

    def __call__(
        self,
        *,
        on_line: Callable[[Lease, Line, bytes | bytearray], None],
        on_failed: Callable[[Lease, str], None],
    ) -> Workers: ...


class LeaseState(Enum):
    """The pool changes it: from `QUEUED` on, from `SENT` back to `QUEUED` after a refusal, and from all to `OVER`."""

    QUEUED = "queued"
    SENT = "sent"
    """A worker has the request; its reply has not begun."""
    STREAMING = "streaming"
    OVER = "over"


class RunCounters(msgspec.Struct):
    """Counters of one run."""

    requests: int = 0
    """Sent to the provider; one that was refused for a rate limit counts again."""
    rate_limited: int = 0


class WorkerConnection(msgspec.Struct, frozen=True):
    """The configuration of a model worker, from which the accounts of its requests follow."""

    line: Mapping[str, Any]
    """The `configure` line, with what the pool adds."""
    raw: bytes
    """The same as the run wrote it."""

    def account(self, model: str) -> ModelAccount:
        return account_of(self.line, model)


@dataclass(order=True)
class Lease:
    """A request and, once it is sent, its worker."""

    sequence: int
    """Requests are sent in this order; one that was refused keeps its place."""
    run: str = field(compare=False)
    id: str = field(compare=False)
    model: str = field(compare=False)
    line: bytes = field(compare=False, repr=False)
    """For the worker."""
    max_tokens: int = field(compare=False)
    connection: WorkerConnection = field(compare=False, repr=False)
    throttle: Throttle = field(compare=False, repr=False)
    queued_at: float = field(compare=False)
    prefix: Prefix | None = field(compare=False, default=None, repr=False)
    """The beginning that it may share with requests of other runs."""
    state: LeaseState = field(compare=False, default=LeaseState.QUEUED)
    worker: LeasedWorker | None = field(compare=False, default=None, repr=False)
    refusals: int = field(compare=False, default=0)
    is_told: bool = field(compare=False, default=False)
    """Whether its run knows that it is paused."""

    @property
    def size(self) -> int:
        return len(self.line)


class LeaseQueue:
    """The requests of one account that wait, oldest first."""

    def __init__(self, throttle: Throttle) -> None:
        self.throttle = throttle
        self._heap: list[Lease] = []

    def add(self, lease: Lease) -> None:
        heapq.heappush(self._heap, lease)

    def first(self, may_go: Callable[[Lease], bool]) -> Lease | None:
        """The oldest one that may go; None if there is none."""
        while self._heap and self._heap[0].state is not LeaseState.QUEUED:
            heapq.heappop(self._heap)
        if not self._heap or may_go(self._heap[0]):
            return self._heap[0] if self._heap else None
        return min((lease for lease in self.waiting() if may_go(lease)), default=None)

    def take(self, lease: Lease) -> None:
        """Removes this one."""
        if lease is self._heap[0]:
            heapq.heappop(self._heap)
        else:
            self._heap.remove(lease)
            heapq.heapify(self._heap)

    def waiting(self) -> list[Lease]:
        return [lease for lease in self._heap if lease.state is LeaseState.QUEUED]


class _Needed(msgspec.Struct):
    max_tokens: int = 0


_needed = msgspec.json.Decoder(_Needed)


def max_tokens_of(request: ModelRequest) -> int:
    """The most tokens that the reply may have. Raises `msgspec.DecodeError`."""
    return _needed.decode(request.params).max_tokens


def request_line(request: ModelRequest) -> bytes:
    """The line for a worker."""
    return b'{"type":"request","id":%b,"params":%b}\n' % (orjson.dumps(request.id), bytes(request.params))


def connection_of(request: ModelRequest) -> WorkerConnection:
    """Raises `msgspec.DecodeError`. The pool decides about rate limits, so its workers report them and do not wait."""
    raw = bytes(request.configure)
    line = msgspec.json.decode(raw, type=dict[str, Any])
    return WorkerConnection({"provider": "", **line, "report_limits": True, "retry_rate_limits": False}, raw)


class ModelAccount(NamedTuple):
    """The requests that share a rate limit: those to one address with one credential for one family of models."""

    base_url: str
    fingerprint: str
    """Fingerprint of the credential: equal for equal ones, and says nothing of it. "" for none."""
    family: str


def account_of(configure: Mapping[str, Any], model: str) -> ModelAccount:
    """The account of a request for `model` by a worker with this `configure` line."""
    credential = configure.get("api_key") or configure.get("auth_token") or ""
    fingerprint = sha256(str(credential).encode("utf-8", "surrogatepass")).hexdigest()[:16] if credential else ""
    return ModelAccount(str(configure.get("base_url", "")).rstrip("/"), fingerprint, family(model))


def family(model: str) -> str:
    """The models that share a limit with this one: its name without minor version and date."""
    if found := _FAMILY.search(model):
        return found[0]
    return _VERSION.sub("", model)


IDLE_S = 30.0
"""Seconds after which a worker without requests ends, unless it is the last one."""
ENDS_WITHIN_S = 2.0
"""Seconds that such a worker has before it is killed."""


class WorkerState(Enum):
    """Only `WorkerSet` changes it."""

    IDLE = "idle"
    LEASED = "leased"
    ENDING = "ending"
    """It was told to end, or killed, or has sent what no worker sends. It gets no more requests."""


class _Member(Generic[Request]):
    """One worker. It has a lease exactly while it is `LEASED`."""

    def __init__(self, connection: WorkerConnection) -> None:
        self.connection = connection
        self.state = WorkerState.IDLE
        self.lease: Request | None = None
        self.idle_since = 0.0
        self.worker: ModelWorker | None = None


class WorkerSet(Generic[Request]):
    """`on_line` gets each line of a leased worker, decoded and as it came; `on_failed` a lease whose worker has ended
    or sent nonsense, with the reason; `on_room` is called when a worker has become free or has ended."""

    def __init__(
        self,
        loop: Loop,
        start: StartWorker,
        *,
        on_line: Callable[[Request, Line, bytes | bytearray], None],
        on_failed: Callable[[Request, str], None],
    ) -> None:
        self._loop = loop
        self._start = start
        self._on_line = on_line
        self._on_failed = on_failed
        self._members: list[_Member[Request]] = []
        self._timer: Timer | None = None

    @property
    def all(self) -> list[ModelWorker]:
        """Every worker whose end is not known yet."""
        return [member.worker for member in self._members if member.worker is not None]

    def children(self) -> list[Child | ForkedChild]:
        """The processes of all workers."""
        return [worker.child for worker in self.all]

    @property
    def leased(self) -> int:
        return sum(member.state is WorkerState.LEASED for member in self._members)

    def lease(self, lease: Request, most: int) -> ModelWorker:
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

    def _begin(self, connection: WorkerConnection) -> _Member[Request]:
        member: _Member[Request] = _Member(connection)
        member.worker = ModelWorker(
            self._loop,
            self._start,
            connection.line,
            on_line=lambda line, raw: self._line(member, line, raw),
            on_fault=lambda message: self._fault(member, message),
            on_end=lambda last_words: self._gone(member, last_words),
        )
        return member

    def free(self, lease: Request) -> None:
        """The reply has ended: the worker may serve another run."""
        for member in self._members:
            if member.lease is lease:
                member.state, member.lease = WorkerState.IDLE, None
                member.idle_since = self._loop.clock()
                if member.worker is not None:
                    member.worker.read_on()
                self._look_later()

    def kill(self, lease: Request) -> None:
        """The run is over in mid-reply: its worker must not serve another one."""
        for member in self._members:
            if member.lease is lease:
                self._kill(member)

    def stop(self) -> Sequence[ModelWorker]:
        """Forgets all leases, and returns the workers, for the one who stops them."""
        if self._timer is not None:
            self._timer.cancel()
        for member in self._members:
            member.state, member.lease = WorkerState.ENDING, None
        return self.all

    def _line(self, member: _Member[Request], line: Line, raw: bytes | bytearray) -> None:
        if member.lease is not None and line.get("id") == member.lease.id:
            self._on_line(member.lease, line, raw)

    def _fault(self, member: _Member[Request], message: str) -> None:
        lease = member.lease
        self._kill(member)
        if lease is not None:
            self._on_failed(lease, message)

    def _gone(self, member: _Member[Request], last_words: str) -> None:
        lease, member.lease = member.lease, None
        member.state = WorkerState.ENDING
        if member in self._members:
            self._members.remove(member)
        if lease is not None:
            self._on_failed(lease, last_words)

    def _kill(self, member: _Member[Request]) -> None:
        member.state, member.lease = WorkerState.ENDING, None
        if member.worker is not None:
            member.worker.kill()

    def _end(self, member: _Member[Request]) -> None:
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
