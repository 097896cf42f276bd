"""Decides which requests wait until an earlier one with the same beginning has filled the provider's cache. Pure.

Requests of a batch begin with the same tools and the same first block of the system prompt, their prefix. The provider
can serve it from its cache once the reply of the request that wrote it has begun: requests that are sent together each
pay for a write. So the first request of a prefix goes alone until its reply begins, and then the rest. If it ends
before, the next one goes alone; all go once `WAIT_S` have passed since the first was sent, and until one begins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
from msgspec import Raw

from agent.model import catalogue

if TYPE_CHECKING:
    from collections.abc import Hashable

    from wire.batch.link import ModelRequest

WAIT_S = 30.0
"""Maximum seconds from the first request of a prefix until the others are sent."""
BYTES_PER_TOKEN = 3
"""Of a prefix: fewer than in most texts, so that a prefix is never thought too short to be cached."""
KEPT = 1_000
"""Prefixes after which those are dropped that are no longer in use."""
TTL_S = {"5m": 300.0, "1h": 3600.0}


class Prefix(NamedTuple):
    """The beginning of a request that the provider caches."""

    key: bytes
    """Equal for requests that can read each other's."""
    ttl_s: float
    """Seconds that the provider keeps it, from the start of the last request that used it."""


class _Mark(msgspec.Struct):
    ttl: Literal["5m", "1h"] = "5m"


class _Marked(msgspec.Struct):
    cache_control: _Mark | None = None


class _Beginning(msgspec.Struct):
    tools: Raw = Raw(b"[]")
    system: list[Raw] = []


_beginning = msgspec.json.Decoder(_Beginning)
_marked = msgspec.json.Decoder(_Marked)
_tools = msgspec.json.Decoder(list[_Marked])


def prefix_of(request: ModelRequest, account: Hashable) -> Prefix | None:
    """The prefix of a request of this account; None if it has none that the model caches."""
    least = catalogue.least_cached(request.model)
    found = None if least is None else _marked_beginning(request)
    if least is None or found is None:
        return None
    tools, system, ttl = found
    if len(tools) + len(system) < least * BYTES_PER_TOKEN:
        return None
    signs = b"\0".join((repr(account).encode(), request.model.encode("utf-8", "surrogatepass"), tools, system))
    return Prefix(sha256(signs).digest(), TTL_S[ttl])


def asks_for_an_hour(request: ModelRequest) -> bool:
    """Whether the provider keeps for an hour what the request adds to its cache, which costs more."""
    found = _marked_beginning(request)
    return found is not None and found[2] == "1h"


def _marked_beginning(request: ModelRequest) -> tuple[bytes, bytes, str] | None:
    """The tools, the first block of the system prompt, and how long it is cached; None if it is not marked."""
    try:
        beginning = _beginning.decode(request.params)
        tools, system = bytes(beginning.tools), bytes(beginning.system[0]) if beginning.system else b""
        marks = [*_tools.decode(tools)[-1:], *([_marked.decode(system)] if system else [])]
    except msgspec.DecodeError:
        return None
    mark = marks[-1].cache_control if marks else None
    return None if mark is None else (tools, system, mark.ttl)


@dataclass
class _Turn:
    """The requests of one prefix."""

    warm_until: float = 0.0
    """The prefix is cached until then."""
    cold_since: float | None = None
    """When the first request was sent that did not find it cached; None if it was cached since."""
    sent_at: float = 0.0
    """When the last request was sent."""
    open: dict[str, float] = field(default_factory=dict)
    """When the requests without a reply were sent, by id."""

    def is_idle(self, now: float) -> bool:
        return not self.open and now >= self.sent_at + WAIT_S


class PrefixTurns:
    """The caller tells that a request is `sent`, and then that its reply has `begun`, or that the request has `ended`
    before."""

    def __init__(self) -> None:
        self._turns: dict[bytes, _Turn] = {}

    def wait_until(self, prefix: Prefix | None, now: float) -> float | None:
        """The time until which a request waits, unless another one begins or ends before; None: it may be sent now."""
        turn = None if prefix is None else self._turns.get(prefix.key)
        if turn is None or turn.cold_since is None or not turn.open or now < turn.warm_until:
            return None
        until = turn.cold_since + WAIT_S
        return until if now < until else None

    def sent(self, prefix: Prefix | None, request_id: str, now: float) -> None:
        if prefix is None:
            return
        if len(self._turns) >= KEPT and prefix.key not in self._turns:
            self._forget(now)
        turn = self._turns.setdefault(prefix.key, _Turn())
        if now >= turn.warm_until and (turn.cold_since is None or turn.is_idle(now)):
            turn.cold_since = now
        turn.sent_at = turn.open[request_id] = now

    def begun(self, prefix: Prefix | None, request_id: str) -> None:
        """Does nothing if the request is not open."""
        turn = None if prefix is None else self._turns.get(prefix.key)
        if prefix is not None and turn is not None and request_id in turn.open:
            turn.warm_until = max(turn.warm_until, turn.open.pop(request_id) + prefix.ttl_s)
            turn.cold_since = None

    def ended(self, prefix: Prefix | None, request_id: str) -> None:
        """It has failed, was refused or was given up. Does nothing if the request is not open."""
        turn = None if prefix is None else self._turns.get(prefix.key)
        if turn is not None:
            turn.open.pop(request_id, None)

    def _forget(self, now: float) -> None:
        """Drops the prefixes that are neither cached nor asked for."""
        self._turns = {key: turn for key, turn in self._turns.items() if now < turn.warm_until or not turn.is_idle(now)}
