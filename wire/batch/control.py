"""The messages on the control socket of a running batch (`zot batch ctl`): one JSON object per line, both ways.

Each answer has the id of its request. A request that is not carried out is answered by `error`, as on a host's control
socket; a client that is not served gets an `error` without an id.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from wire.batch.outcome import Usage  # noqa: TC001  (msgspec reads the annotations)
from wire.control import ErrorReply, Message, decode_with
from wire.lenient_json import UNREADABLE

MOST_JOBS = 100_000
Change = Literal["jobs", "budget", "pause", "resume", "stop", "requeue"]


class SetJobs(Message, frozen=True, tag="jobs"):
    """Sets the number of runs at the same time. If fewer than before, the running ones end first."""

    id: str
    jobs: Annotated[int, Meta(ge=1, le=MOST_JOBS)]


class SetBudget(Message, frozen=True, tag="budget"):
    """Sets `--max-cost-usd`. The batch goes on if only the former budget kept it from starting tasks."""

    id: str
    usd: Annotated[float, Meta(ge=0)]
    """US dollars, earlier starts included."""


class Pause(Message, frozen=True, tag="pause"):
    """No new starts and no new requests to the model, until `resume`."""

    id: str
    now: bool = False
    """Whether the runs are aborted, too: they count as interrupted, and their tasks start again after `resume`."""


class Resume(Message, frozen=True, tag="resume"):
    id: str


class Stop(Message, frozen=True, tag="stop"):
    """The runs are aborted, and the batch ends."""

    id: str


class Requeue(Message, frozen=True, tag="requeue"):
    """A task that is done is run again; its result stands until the new attempt has started."""

    id: str
    task: str
    now: bool = False
    """Whether a task that runs is aborted and run again. Without it such a request is refused."""


class Show(Message, frozen=True, tag="show"):
    """Asks about one task. Answered by `task`."""

    id: str
    task: str


class GetState(Message, frozen=True, tag="get_state"):
    """Asks about the batch. Answered by `state`."""

    id: str


Request = SetJobs | SetBudget | Pause | Resume | Stop | Requeue | Show | GetState


class Changed(Message, frozen=True, tag="changed", omit_defaults=False):
    """The request was carried out, and its line in the journal is safe; or there was nothing to do."""

    id: str
    what: Change
    is_changed: bool
    """False if there was nothing to do."""
    words: str
    """The change, and what follows from it, for a person."""


class NodeState(msgspec.Struct, frozen=True):
    """One node of the cluster of a batch."""

    name: str
    address: str
    """Of its machine, for people; empty if unknown."""
    runs: int
    jobs: int
    """Runs at the same time that it offers; 0 until that is known."""
    trouble: str = ""
    """Why it takes no runs: it was lost, or cannot run this batch; empty while it does."""


class BatchState(Message, frozen=True, tag="state", omit_defaults=False):
    id: str
    folder: str
    pid: int
    version: str
    tasks: int
    statuses: dict[str, int]
    """Number of tasks that are done, by status, earlier starts included."""
    running: int
    waiting: int
    """Tasks that are to be started, those included whose next attempt may not begin yet."""
    jobs: int
    max_cost_usd: float | None
    """US dollars; null without a limit."""
    known_cost_usd: float
    """US dollars of all starts whose cost is known."""
    reserved_usd: float
    """US dollars that requests of unknown cost count, by the rule of `--reserve`."""
    is_paused: bool
    is_draining: bool
    """Whether no new tasks start: it was asked to drain, or a limit is used up."""
    is_stopping: bool
    why: str
    """Why nothing new is started or sent now; empty while it is."""
    elapsed_s: float
    """Since this start."""
    eta_s: float | None
    nodes: tuple[NodeState, ...] = ()
    """Empty for a batch on one machine."""


class TaskState(Message, frozen=True, tag="task", omit_defaults=False):
    id: str
    task: str
    state: Literal["waiting", "running", "done"]
    phase: str
    """Of a run, its part: setup, starting, running, paused, check, score or stopping; sent with --batch-api; else
    empty."""
    attempts: int
    """Number of attempts in all starts, the one that runs included."""
    failed: int
    """Attempts that have failed and were tried again."""
    status: str
    """How it ended, if it is done; its result counts until a new attempt has started."""
    reason: str
    waits_for: str
    """Why it does not run, or what its run waits for; empty if it waits for nothing."""
    step: int
    """Of the attempt that runs or has ended last, as the next three."""
    usage: Usage
    cost_usd: float | None
    """US dollars; null if unknown."""
    since_s: float
    """Seconds from its start, until now or until its end."""
    events: str
    """The path of the events of the last attempt; empty without one."""
    node: str = ""
    """The node of the last attempt; empty if it is on the machine of the batch, or if there is none."""


Reply = Changed | BatchState | TaskState | ErrorReply

UNKNOWN_TASK = "no such task"
"""The beginning of the error for an id that the batch does not have."""

_requests: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
_replies: msgspec.json.Decoder[Reply] = msgspec.json.Decoder(Reply)


class _Id(msgspec.Struct):
    id: Any = None


_id = msgspec.json.Decoder(_Id)


def decode_request(line: bytes) -> Request:
    """Raises `ControlError`."""
    return decode_with(_requests, line)


def decode_reply(line: bytes) -> Reply:
    """Raises `ControlError`."""
    return decode_with(_replies, line)


def request_id(line: bytes) -> str | None:
    """The id of a request that cannot be decoded; None if it has none."""
    try:
        found = _id.decode(line).id
    except UNREADABLE:
        return None
    return found if isinstance(found, str) else None
