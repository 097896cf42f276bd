"""Turns the result of a request into the events of a run of one turn, and into an outcome. Pure.

The outcome follows from the events, as that of any run does.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from agent.batch.pool.run_facts import Attempt, Ending, RunFacts, outcome_of
from agent.engine.prompt_result import PromptResult
from agent.model.catalogue import BATCH_FACTOR
from agent.model.presets import ANTHROPIC
from agent.output import event_content
from agent.run import cost
from agent.run.turn.reply_builder import ReplyBuilder
from agent.transcript import text_of
from wire import events
from wire.batch.link import RunEnded
from wire.batch.outcome import Lost, Outcome, TaskStatus
from wire.exit_codes import Status

if TYPE_CHECKING:
    from agent.answers.checked_text import CheckedText
    from agent.answers.schema import AnswerSchema
    from agent.run.turn.reply_builder import ModelReply

Line = dict[str, Any]
CANCELED = "its message batch was cancelled at the provider"
EXPIRED = "the provider did not get to it within the 24 hours of its message batch"
MISSING = "its message batch has ended without a result for it"


class SentRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request, and the attempt for which it was made."""

    attempt: Attempt
    custom_id: str
    model: str
    content: list[Any]
    """The content of its message, as the API gets it."""
    cwd: str
    version: str
    started: str
    ended: str
    duration_s: float


class NoReply(msgspec.Struct, frozen=True):
    """A request that has no reply."""

    status: TaskStatus
    reason: str
    may_pass: bool = False
    lost: Lost | None = None
    """The maximum that it may have cost, if that is unknown."""


def no_reply(reason: str) -> NoReply:
    """For the reason of a result without a line of a model worker: `canceled` or `expired`."""
    if reason == "canceled":
        return NoReply(TaskStatus.INTERRUPTED, CANCELED)
    return NoReply(TaskStatus.ERROR, EXPIRED, may_pass=True)


def write_up(sent: SentRequest, result: Line | NoReply, schema: AnswerSchema | None) -> tuple[list[bytes], Outcome]:
    """The lines of the event stream, and the outcome. `result`: the `final` or `error` line of a model worker. The
    `schema` is that of the answer."""
    lines = [events.encode(record) for record in _beginning(sent)]
    facts = RunFacts()
    if isinstance(result, NoReply):
        ran, may_pass = PromptResult(_word(result.status), result.reason, steps=1), result.may_pass
        lines += map(events.encode, _end(sent, ran, "aborted"))
        status = result.status
    else:
        ran, middle, stop = _turn(sent, result, schema)
        lines += map(events.encode, (*middle, *_end(sent, ran, stop)))
        status, may_pass = TaskStatus(ran.status.value), ran.may_pass
    for line in lines:
        facts.take(line)
    if isinstance(result, NoReply) and result.lost is not None:
        facts.has_unknown_cost, facts.lost = True, result.lost
    ending = Ending(
        end_reason=None, exit=None, said=RunEnded(status=status, reason=ran.reason, may_pass=may_pass),
        was_told_to_end=True, started=sent.started, ended=sent.ended, duration_s=sent.duration_s, paused_s=0.0,
        requests=1, memory_peak=0,
    )  # fmt: skip
    return lines, outcome_of(sent.attempt, facts, ending)


def _word(status: TaskStatus) -> Status:
    return next((word for word in Status if word.value == status.value), Status.ERROR)


def _beginning(sent: SentRequest) -> list[events.Record]:
    return [
        events.Session(
            schema_version=events.SCHEMA_VERSION, zot_version=sent.version, id=sent.custom_id, provider=ANTHROPIC.name,
            model=sent.model, cwd=sent.cwd, extensions=(), time=sent.started,
        ),
        events.UserMessage(tuple(map(_shown, sent.content)), sent.started),
        events.TurnStart(1),
    ]  # fmt: skip


def _shown(block: Any) -> events.Content:
    block = block if isinstance(block, dict) else {}
    if block.get("type") != "image":
        return events.TextContent(str(block.get("text") or ""))
    source = block.get("source") or {}
    try:
        size = len(base64.b64decode(source.get("data") or ""))
    except (binascii.Error, ValueError):
        size = 0
    return events.ImageContent(str(source.get("media_type") or ""), size)


def _turn(sent: SentRequest, line: Line, schema: AnswerSchema | None) -> tuple[PromptResult, list[events.Record], str]:
    """The end of the prompt, the records of the reply, and why the turn ended."""
    builder = ReplyBuilder(withhold=False)
    builder.take({**line, "message": line.get("message", "")})
    reply = builder.reply
    assert reply is not None
    middle: list[events.Record] = []
    used = cost.NOTHING
    if reply.is_complete:
        used = cost.totals(sent.model, reply.usage)
        used = replace(used, cost_usd=None if used.cost_usd is None else round(used.cost_usd * BATCH_FACTOR, 6))
        middle = [events.AssistantStart(), cost.record(used, used)]
        if reply.kept:
            middle.append(events.AssistantMessage(event_content.content(reply.kept), sent.ended))
    return _judged(reply, used, schema), middle, "error" if reply.tool_calls else reply.stop


def _judged(reply: ModelReply, used: events.Totals, schema: AnswerSchema | None) -> PromptResult:
    text = text_of(reply.kept)
    status, reason = reply.status, reply.error
    answer: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    if reply.tool_calls:
        status, reason = Status.ERROR, f"the model called the tool {reply.tool_calls[0].name}, which it was not offered"
    if schema is not None and status is Status.OK:
        checked: CheckedText = schema.check(text)
        if checked.fits:
            text, answer = checked.text, checked.answer
        else:
            status, reason = Status.INVALID_ANSWER, f"the answer does not fit --output-schema: {checked.summary}"
    return PromptResult(
        status, reason, text, 1, used, answer, status is Status.OK, reply.may_pass, error_kind=reply.error_kind
    )


def _end(sent: SentRequest, ran: PromptResult, stop: str) -> list[events.Record]:
    failed = ran.status is not Status.OK
    end = events.TurnEnd(stop, ran.reason) if stop == "error" else events.TurnEnd(stop)  # type: ignore[arg-type]
    result = ran.record(sent.duration_s, sent.custom_id)
    return [end, *([events.Error(ran.reason)] if failed else []), result, events.Done()]
