"""Decides what to ask the provider about one message batch, and when. Pure: each function returns the next state.

A message batch is never created twice. Before the call that creates it, its plan is on disk; the call may be repeated
only once it is certain that the one before has created nothing. If the answer was lost, or the batch process died
before it noted the answer, the provider's own list decides: a message batch that was created since the plan, with as
many requests, *may be ours*. It is once the `custom_id` of one of its results shows our nonce, so its end is awaited.
Only if a list shows none that may be ours, `settle_s` after the call has ended, the call is made again.

Times are in seconds: `now` and `due` on the clock of the loop, all others since 1970.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from agent.batch.message_batches.chunk import number_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

SKEW_S = 24 * 3600.0
"""How much the clock of this machine may be ahead of the provider's: a wrong time zone is half a day. With less, one
that was created would be taken for an older one, and sent twice."""
CREATIONS = 8
"""Calls that may fail to create a message batch, refusals for a rate limit not counted."""


class Pace(msgspec.Struct, frozen=True):
    """The waits between two calls, in seconds."""

    first_s: float = 1.0
    longest_s: float = 60.0
    settle_s: float = 60.0
    """After a call whose answer was lost: then a list shows what it has created."""

    def wait_s(self, calls: int) -> float:
        """After so many calls with the same answer."""
        return float(min(self.first_s * 2 ** min(calls, 20), self.longest_s))


POLL_VARIABLE = "ZOT_BATCH_API_POLL"
"""The variable with the longest wait between two looks at a message batch, in seconds."""
POLLS_S = (0.01, 3_600.0)


def pace_from(environ: Mapping[str, str]) -> Pace:
    """The pace by the variable; the default without one, and for one that is no number within `POLLS_S`."""
    try:
        longest = float(environ.get(POLL_VARIABLE) or "")
    except ValueError:
        return Pace()
    if not POLLS_S[0] <= longest <= POLLS_S[1]:
        return Pace()
    return Pace(min(Pace().first_s, longest), longest, longest)


class Phase(Enum):
    """The state of a message batch."""

    PLANNED = "planned"
    """The provider does not have it."""
    DOUBTFUL = "doubtful"
    """The provider may have it: the answer to its creation is unknown."""
    IN_PROGRESS = "in_progress"
    CANCELING = "canceling"
    """Somebody has cancelled it at the provider; the rest of its requests comes back as cancelled."""
    ENDED = "ended"
    """Its results can be fetched."""
    FETCHED = "fetched"
    """All its results are recorded."""
    LOST = "lost"
    """Its results are out of reach: the provider has deleted or archived it."""
    REFUSED = "refused"
    """The provider has refused to create it."""


OVER = frozenset({Phase.FETCHED, Phase.LOST, Phase.REFUSED})
AT_PROVIDER = frozenset({Phase.IN_PROGRESS, Phase.CANCELING, Phase.ENDED})


class Call(Enum):
    """The next call to the provider."""

    CREATE = "create"
    LIST = "list"
    """All message batches since the plan."""
    LOOK = "look"
    """At one that may be ours."""
    RETRIEVE = "retrieve"
    RESULTS = "results"


class Info(msgspec.Struct, frozen=True):
    """A message batch as the provider describes it."""

    id: str
    status: str
    """in_progress, canceling or ended."""
    created: float
    expires: float
    count: int
    """Its requests."""
    is_archived: bool = False
    """Whether its results are deleted, as they are 29 days after its creation."""


class Failure(msgspec.Struct, frozen=True):
    """A call without the answer that was asked for."""

    kind: str
    message: str
    status: int | None = None
    retry_after_s: float | None = None
    is_unanswered: bool = False
    """Whether the provider may have done what it was asked for."""


class MessageBatch(msgspec.Struct, frozen=True, kw_only=True):
    nonce: str
    count: int
    """Its requests."""
    planned: float
    phase: Phase = Phase.PLANNED
    id: str = ""
    expires: float = 0.0
    candidates: tuple[str, ...] = ()
    """Message batches that may be this one."""
    rejected: frozenset[str] = frozenset()
    """Message batches that are another one."""
    doubted: float = 0.0
    """When it became doubtful, on the clock of the loop."""
    is_out_of_reach: bool = False
    """Whether one that may be ours is archived."""
    due: float = 0.0
    """When the next call may be made."""
    calls: int = 0
    """Calls since anything has changed."""
    creations: int = 0
    """Calls that have failed to create it."""
    trouble: str = ""
    """Why the last call has failed; empty if it has not."""

    @property
    def is_over(self) -> bool:
        return self.phase in OVER


_CALLS = {
    Phase.PLANNED: Call.CREATE,
    Phase.IN_PROGRESS: Call.RETRIEVE,
    Phase.CANCELING: Call.RETRIEVE,
    Phase.ENDED: Call.RESULTS,
}


def next_call(batch: MessageBatch) -> Call | None:
    """The call to make once `due` is reached; None if none is left."""
    if batch.phase is Phase.DOUBTFUL:
        return Call.LOOK if batch.candidates else Call.LIST
    return _CALLS.get(batch.phase)


def begin_again(batch: MessageBatch, now: float, known: Info | None = None) -> MessageBatch:
    """The batch process starts anew. `known`: the message batch, if its creation was noted."""
    if known is None:
        return replace(batch, phase=Phase.DOUBTFUL, doubted=now, due=now, calls=0)
    return replace(batch, phase=Phase.IN_PROGRESS, id=known.id, expires=known.expires, due=now, calls=0)


# --- creation -----------------------------------------------------------------------------------------------


def created(batch: MessageBatch, info: Info, now: float, pace: Pace) -> MessageBatch:
    """The provider has it."""
    known = replace(batch, id=info.id, expires=info.expires, candidates=(), trouble="", calls=0)
    return _as_told(known, info, now, pace)


def creation_failed(batch: MessageBatch, failure: Failure, now: float, pace: Pace) -> MessageBatch:
    """The call to create it has no good answer."""
    limited = failure.kind in ("rate_limit", "overloaded")
    batch = replace(batch, trouble=failure.message, creations=batch.creations + (not limited))
    if may_have_created(failure):
        return replace(batch, phase=Phase.DOUBTFUL, doubted=now, due=now + pace.first_s, calls=0)
    may_pass = limited or failure.kind in ("connection", "timeout") or failure.status in (408, 409)
    if not may_pass or batch.creations >= CREATIONS:
        return replace(batch, phase=Phase.REFUSED)
    return _later(batch, now, pace, failure.retry_after_s)


def may_have_created(failure: Failure) -> bool:
    """Whether a call that has failed in this way may have created the message batch all the same."""
    if failure.status is not None:
        return failure.status >= 500 and failure.kind != "overloaded"
    return failure.is_unanswered or failure.kind in ("worker", "protocol", "dropped")


# --- doubt --------------------------------------------------------------------------------------------------


def listed(
    batch: MessageBatch, found: Iterable[Info], others: Collection[str], asked: float, now: float, pace: Pace
) -> MessageBatch:
    """The provider's list has come, which was asked for at `asked`. `others` are known to be other message batches."""
    unknown = [info for info in found if _may_be(batch, info) and info.id not in others]
    candidates = tuple(info.id for info in unknown if not info.is_archived)
    is_out_of_reach = len(candidates) < len(unknown)
    batch = replace(batch, candidates=candidates, is_out_of_reach=is_out_of_reach, trouble="")
    if candidates:
        return replace(batch, due=now, calls=0)
    if is_out_of_reach:
        return replace(batch, phase=Phase.LOST)
    settled = batch.doubted + pace.settle_s
    if asked < settled:
        return replace(batch, due=max(now, min(settled, now + pace.wait_s(batch.calls))), calls=batch.calls + 1)
    if batch.creations >= CREATIONS:
        return replace(batch, phase=Phase.REFUSED)
    return replace(batch, phase=Phase.PLANNED, due=now, calls=0)


def _may_be(batch: MessageBatch, info: Info) -> bool:
    is_new = info.created >= batch.planned - SKEW_S
    return is_new and info.count == batch.count and info.id not in batch.rejected


def looked(batch: MessageBatch, info: Info, first_id: str | None, now: float, pace: Pace) -> MessageBatch:
    """One that may be ours was looked at. `first_id` is the `custom_id` of its first result, once it has ended."""
    others = tuple(name for name in batch.candidates if name != info.id)
    batch = replace(batch, trouble="")
    if info.status != "ended":  # the others are looked at first
        due = now + (pace.wait_s(batch.calls) if len(others) <= batch.calls else 0.0)
        return replace(batch, candidates=(*others, info.id), due=due, calls=batch.calls + 1)
    if info.is_archived:
        return replace(batch, candidates=others, is_out_of_reach=True, due=now)
    if first_id is None:
        return _later(replace(batch, candidates=(*others, info.id)), now, pace)
    if number_in(first_id, batch.nonce) is not None:
        return created(batch, info, now, pace)
    return replace(batch, candidates=others, rejected=batch.rejected | {info.id}, due=now, calls=0)


# --- at the provider ----------------------------------------------------------------------------------------


def retrieved(batch: MessageBatch, info: Info, now: float, pace: Pace) -> MessageBatch:
    """The provider has told its state."""
    return _as_told(replace(batch, expires=info.expires, trouble=""), info, now, pace)


def _as_told(batch: MessageBatch, info: Info, now: float, pace: Pace) -> MessageBatch:
    if info.status == "ended":
        return replace(batch, phase=Phase.LOST if info.is_archived else Phase.ENDED, due=now, calls=0)
    phase = Phase.CANCELING if info.status == "canceling" else Phase.IN_PROGRESS
    return replace(batch, phase=phase, due=now + pace.wait_s(batch.calls), calls=batch.calls + 1)


def fetched(batch: MessageBatch) -> MessageBatch:
    """All results have come."""
    return replace(batch, phase=Phase.FETCHED, trouble="")


def failed(batch: MessageBatch, failure: Failure, now: float, pace: Pace) -> MessageBatch:
    """A call other than the creation has failed. It is made again, however often: the results are paid for."""
    if failure.status == 404:
        if batch.phase is Phase.DOUBTFUL:  # one that may be ours was deleted since the list
            return _later(replace(batch, candidates=batch.candidates[1:]), now, pace)
        return replace(batch, phase=Phase.LOST, trouble=failure.message)
    return _later(replace(batch, trouble=failure.message), now, pace, failure.retry_after_s)


def _later(batch: MessageBatch, now: float, pace: Pace, retry_after_s: float | None = None) -> MessageBatch:
    wait = max(pace.wait_s(batch.calls), min(retry_after_s or 0.0, pace.longest_s))
    return replace(batch, due=now + wait, calls=batch.calls + 1)
