"""The lines of a journal without what only their readers need: a resume decodes no texts."""

from __future__ import annotations

import msgspec

from wire.batch.journal_lines import (
    BatchCreated,
    BatchPlanned,
    Changed,
    Closed,
    Finished,
    Line,
    Opened,
    Paused,
    Reopened,
    Resumed,
    Scored,
    Started,
)
from wire.batch.outcome import Lost, TaskStatus, Usage


class OutcomeGlance(msgspec.Struct, frozen=True, gc=False):
    """The fields of a `wire.batch.outcome.Outcome` that sums and the schedule need."""

    status: TaskStatus
    usage: Usage = Usage()
    cost_usd: float | None = None
    known_cost_usd: float = 0.0
    reserved_usd: float = 0.0
    lost: Lost | None = None
    answers: int = 0
    largest_answer: int = 0
    digest: str = ""


class FinishedGlance(Line, frozen=True, kw_only=True, tag="finished"):
    """A `Finished` without the texts of its outcome."""

    task: str
    attempt: int
    final: bool
    outcome: OutcomeGlance


class ScoredGlance(Line, frozen=True, kw_only=True, tag="scored"):
    """A `Scored` without the score."""

    task: str
    attempt: int


GlancedLine = (
    Opened | Started | Paused | Resumed | FinishedGlance | Reopened | ScoredGlance | Changed | BatchPlanned
    | BatchCreated | Closed
)  # fmt: skip
JournalLine = GlancedLine | Finished | Scored
glance_decoder: msgspec.json.Decoder[GlancedLine] = msgspec.json.Decoder(GlancedLine)
