"""The records of `zot batch --json`. One JSON object per line.

Besides the batch's own records there are those of each run, as `zot --json` has them, with `task` and `attempt` as
their first two fields.
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
    """Of this batch, after `--slice`, `--filter`, `--limit` and `--shard`."""
    done: int
    """Of these, those that earlier starts have finished and that are not run again."""
    again: tuple[str, ...] = ()
    """Ids of the tasks that are done and run again (`--redo`): the result of each stands until it has begun."""
    jobs: int
    time: str


class TaskStart(Record, frozen=True, kw_only=True, tag="task_start"):
    task: str
    attempt: int
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
    """After the last record of an attempt."""

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
    """The flag of the limit that was used up, as `--max-cost-usd`."""
    exit_code: int
    tasks: int
    statuses: dict[str, int]
    """How many tasks have ended in each `TaskStatus`, earlier starts included; `not_run` for those without an end."""
    usage: Usage
    """Of all attempts, earlier starts included."""
    cost_usd: float | None
    """Null if the cost of an attempt is not known; `known_cost_usd` is then the sum of the others."""
    known_cost_usd: float
    reserved_usd: float = 0.0
    """As much as the requests of unknown cost count, by the rule of `--reserve`."""
    duration_ms: int
    """Of this start."""
    time: str


AnyRecord = BatchStart | TaskStart | TaskPaused | TaskResumed | TaskEnd | BatchEnd

_encoder = msgspec.json.Encoder()


def encode_record(record: AnyRecord) -> bytes:
    """One line, LF included."""
    return _encoder.encode(record) + b"\n"


def add_task(event: bytes, task: str, attempt: int) -> bytes:
    """A line of a run's event stream with its task. `event` is one object, with or without LF."""
    return b'{"task":%s,"attempt":%d,%s' % (_encoder.encode(task), attempt, event.lstrip()[1:])
