"""The records of `zot batch --json`. One JSON object per line.

The stream also has the records of each run, as in `zot --json`, with `task` and `attempt` as their first two fields.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from wire.batch.outcome import Outcome, Usage  # noqa: TC001  (msgspec reads the annotations)

SCHEMA_VERSION = 1


class Record(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of the batch's own records; their `type` is the class's tag."""


class BatchStart(Record, frozen=True, kw_only=True, tag="batch_start"):
    """The first record."""

    schema_version: int = SCHEMA_VERSION
    zot_version: str
    folder: str
    """Absolute path of RUNDIR."""
    tasks: int
    """Number of tasks after `--slice`, `--filter`, `--limit` and `--shard`."""
    done: int
    """Number of tasks that earlier starts finished and that are not run again."""
    again: tuple[str, ...] = ()
    """Ids of the tasks that are done and run again (`--redo`): each keeps its result until it begins again."""
    jobs: int
    time: str


class BatchShared(Record, frozen=True, kw_only=True, tag="batch_shared"):
    """The host of the batch serves for the first time."""

    extensions: tuple[str, ...]
    """Extensions of which one process serves all runs."""
    leased: tuple[str, ...] = ()
    """Extensions of which a process serves one run after another."""
    private: dict[str, str] = {}
    """Extensions that were to be shared and are not, each with the reason: each run starts its own."""
    time: str


class BatchChanged(Record, frozen=True, kw_only=True, tag="batch_changed"):
    """The batch was changed while it runs, as the line `changed` of its journal tells."""

    what: Literal["jobs", "budget", "pause", "resume", "stop", "requeue"]
    value: float | None = None
    """The new number of `jobs`, or of US dollars of `budget`."""
    before: float | None = None
    """The one until then; null if there was none."""
    task: str = ""
    """The task that was requeued."""
    now: bool = False
    """With `pause` and `requeue`: whether running ones were aborted."""
    by: Literal["ctl", "key"]
    """`zot batch ctl`, or the key p of the progress view."""
    time: str


class TaskStart(Record, frozen=True, kw_only=True, tag="task_start"):
    task: str
    attempt: int
    node: str | msgspec.UnsetType = msgspec.UNSET
    """The node that runs it; absent for a batch on one machine."""
    time: str


class TaskPaused(Record, frozen=True, kw_only=True, tag="task_paused"):
    """The run waits for a rate limit."""

    task: str
    attempt: int
    reason: str
    time: str


class TaskResumed(Record, frozen=True, kw_only=True, tag="task_resumed"):
    task: str
    attempt: int
    time: str


class TaskEnd(Record, frozen=True, kw_only=True, tag="task_end"):
    """An attempt has ended. Follows its last record."""

    task: str
    attempt: int
    final: bool
    """False if another attempt follows, now or at the next start of the batch."""
    outcome: Outcome


class BatchEnd(Record, frozen=True, kw_only=True, tag="batch_end"):
    """The last record."""

    reason: Literal["done", "drained", "stopped", "budget", "deadline", "failures", "failed"]
    """failed: the files of the batch could not be written."""
    limit: str = ""
    """The flag of the limit that was used up, such as `--max-cost-usd`; empty if none was."""
    exit_code: int
    tasks: int
    statuses: dict[str, int]
    """Number of tasks by `TaskStatus`, earlier starts included; `not_run` counts those that have not ended."""
    usage: Usage
    """Tokens of all attempts, earlier starts included."""
    cost_usd: float | None
    """US dollars; null if the cost of an attempt is unknown. `known_cost_usd` is then the sum of the known costs."""
    known_cost_usd: float
    reserved_usd: float = 0.0
    """US dollars that the requests of unknown cost count, by the rule of `--reserve`."""
    duration_ms: int
    """Milliseconds since this start of the batch."""
    time: str


AnyRecord = BatchStart | BatchShared | BatchChanged | TaskStart | TaskPaused | TaskResumed | TaskEnd | BatchEnd

_encoder = msgspec.json.Encoder()


def encode_record(record: AnyRecord) -> bytes:
    """One line, LF included."""
    return _encoder.encode(record) + b"\n"


def add_task(event: bytes, task: str, attempt: int) -> bytes:
    """Adds `task` and `attempt` to a line of a run's event stream. `event` is one object, with or without LF."""
    return b'{"task":%s,"attempt":%d,%s' % (_encoder.encode(task), attempt, event.lstrip()[1:])
