"""One request of a run on its way through the pool of model workers."""

from __future__ import annotations

import heapq
import re
from dataclasses import dataclass, field
from enum import Enum
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent.batch.throttle import Throttle
    from agent.model.worker_process import ModelWorker
    from wire.batch.link import Request


_FAMILY = re.compile(r"claude-(?:(?P<name>[a-z]+)-(?P<major>\d{1,2})(?!\d)|\d{1,2}(?:-\d{1,2})?-[a-z]+)")
"""`claude-opus-4-1-20250805` and `claude-3-5-haiku-20241022`: Anthropic limits the models of one name and one major
version together, and those with the older names each by itself."""
_VERSION = re.compile(r"[-@](?:\d{8}|latest)$")


class LeaseState(Enum):
    """The pool changes it: from `QUEUED` on, from `SENT` back to `QUEUED` after a refusal, and from all to `OVER`."""

    QUEUED = "queued"
    SENT = "sent"
    """A worker has the request; its reply has not begun."""
    STREAMING = "streaming"
    OVER = "over"


class RunCounters(msgspec.Struct):
    """Of one run."""

    requests: int = 0
    """Sent to the provider; one that was refused for a rate limit counts again."""
    rate_limited: int = 0


class Connection(msgspec.Struct, frozen=True):
    """What a worker is configured with, and which accounts its requests are on."""

    line: Mapping[str, Any]
    """The `configure` line, with what the pool adds."""
    raw: bytes
    """The same as the run wrote it."""

    def account(self, model: str) -> Account:
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
    connection: Connection = field(compare=False, repr=False)
    throttle: Throttle = field(compare=False, repr=False)
    queued_at: float = field(compare=False)
    state: LeaseState = field(compare=False, default=LeaseState.QUEUED)
    worker: ModelWorker | None = field(compare=False, default=None, repr=False)
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

    def first(self) -> Lease | None:
        while self._heap and self._heap[0].state is not LeaseState.QUEUED:
            heapq.heappop(self._heap)
        return self._heap[0] if self._heap else None

    def take(self) -> Lease:
        """Removes the first one."""
        return heapq.heappop(self._heap)

    def waiting(self) -> list[Lease]:
        return [lease for lease in self._heap if lease.state is LeaseState.QUEUED]


class _Needed(msgspec.Struct):
    max_tokens: int = 0


_needed = msgspec.json.Decoder(_Needed)


def max_tokens_of(request: Request) -> int:
    """The most tokens that the reply may have. Raises `msgspec.DecodeError`."""
    return _needed.decode(request.params).max_tokens


def request_line(request: Request) -> bytes:
    """The line for a worker."""
    return b'{"type":"request","id":%b,"params":%b}\n' % (orjson.dumps(request.id), bytes(request.params))


def connection_of(request: Request) -> Connection:
    """Raises `msgspec.DecodeError`. The pool decides about rate limits, so its workers report them and do not wait."""
    raw = bytes(request.configure)
    line = msgspec.json.decode(raw, type=dict[str, Any])
    return Connection({"provider": "", **line, "report_limits": True, "retry_rate_limits": False}, raw)


class Account(NamedTuple):
    """The requests that share a rate limit: those to one address with one credential for one family of models."""

    base_url: str
    fingerprint: str
    """Of the credential: equal for equal ones, and says nothing of it. "" for none."""
    family: str


def account_of(configure: Mapping[str, Any], model: str) -> Account:
    """The account of a request for `model` by a worker with this `configure` line."""
    credential = configure.get("api_key") or configure.get("auth_token") or ""
    fingerprint = sha256(str(credential).encode("utf-8", "surrogatepass")).hexdigest()[:16] if credential else ""
    return Account(str(configure.get("base_url", "")).rstrip("/"), fingerprint, family(model))


def family(model: str) -> str:
    """The models that share a limit with this one: its name without minor version and date."""
    if found := _FAMILY.search(model):
        return found[0]
    return _VERSION.sub("", model)
