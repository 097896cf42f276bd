"""A result as the events of a run, and as an outcome that follows from them."""

from __future__ import annotations

import pytest

from agent.answers.schema import AnswerSchema
from agent.batch.message_batches.write_up import NoReply, SentRequest, no_reply, write_up
from agent.batch.pool.run_facts import Attempt
from wire import events
from wire.batch.outcome import Lost, TaskStatus

SENT = SentRequest(
    attempt=Attempt("a", 2, "d", {"k": 1}, 3), custom_id="zot-ab-0", model="claude-sonnet-4-5",
    content=[
        {"type": "text", "text": "say"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
    ],
    cwd="/project", version="1", started="2026-11-28T10:00:00.000Z", ended="2026-11-28T10:30:00.000Z",
    duration_s=1800.0,
)  # fmt: skip
USAGE = {"input": 1_000, "output": 100, "cache_read": 10_000, "cache_write": 2_000}
FULL_USD = (1_000 * 3 + 100 * 15 + 10_000 * 0.3 + 2_000 * 3.75) / 1e6


def final(text: str, **given: object) -> dict[str, object]:
    content = [{"type": "thinking", "text": "hm", "signature": "s"}, {"type": "text", "text": text}]
    return {"type": "final", "content": content, "stop_reason": "end_turn", "usage": USAGE, **given}


def test_a_reply_is_one_turn_at_half_the_price_cached_tokens_included() -> None:
    lines, outcome = write_up(SENT, final("well"), None)
    records = [events.decode(line) for line in lines]
    assert [type(record).__name__ for record in records] == [
        "Session", "UserMessage", "TurnStart", "AssistantStart", "Usage", "AssistantMessage", "TurnEnd", "Result",
        "Done",
    ]  # fmt: skip
    assert records[1].content == (events.TextContent("say"), events.ImageContent("image/png", 3))
    assert (outcome.status, outcome.text, outcome.repeat, outcome.meta) == (TaskStatus.OK, "well", 3, {"k": 1})
    assert outcome.cost_usd == pytest.approx(FULL_USD / 2, abs=1e-6)
    assert records[-2].cost_usd == outcome.cost_usd
    assert (outcome.usage.total, outcome.duration_ms, outcome.session) == (13_100, 1_800_000, "zot-ab-0")


def test_a_call_of_a_tool_is_an_error() -> None:
    call = {"type": "tool_call", "id": "c", "name": "bash", "args": "{}"}
    _, outcome = write_up(SENT, final("x", content=[call], stop_reason="tool_use"), None)
    assert (outcome.status, outcome.reason) == (
        TaskStatus.ERROR, "the model called the tool bash, which it was not offered",
    )  # fmt: skip
    assert outcome.cost_usd == pytest.approx(FULL_USD / 2, abs=1e-6)


def test_an_answer_is_held_against_its_schema() -> None:
    schema = AnswerSchema('{"type": "object", "required": ["n"]}')
    _, fits = write_up(SENT, final('```json\n{"n": 1}\n```'), schema)
    assert (fits.text, bytes(fits.answer)) == ('{"n": 1}', b'{"n": 1}')  # type: ignore[arg-type]
    _, fits_not = write_up(SENT, final("{}"), schema)
    assert fits_not.status is TaskStatus.INVALID_ANSWER
    assert fits_not.cost_usd == fits.cost_usd


@pytest.mark.parametrize(
    ("kind", "status", "may_pass"),
    [
        ("overloaded", TaskStatus.RATE_LIMIT, True),
        ("server", TaskStatus.ERROR, True),
        ("invalid_request", TaskStatus.ERROR, False),
        ("authentication", TaskStatus.AUTHENTICATION, False),
    ],
)
def test_a_request_that_failed_costs_nothing(kind: str, status: TaskStatus, may_pass: bool) -> None:
    _, outcome = write_up(SENT, {"type": "error", "kind": kind, "status": None, "message": "m"}, None)
    assert (outcome.status, outcome.may_pass, outcome.reason, outcome.error_kind) == (status, may_pass, "m", kind)
    assert outcome.cost_usd == 0


def test_a_request_that_was_not_carried_out() -> None:
    lines, canceled = write_up(SENT, no_reply("canceled"), None)
    assert (canceled.status, canceled.cost_usd) == (TaskStatus.INTERRUPTED, 0)
    assert events.decode(lines[-2]).status == "interrupted"
    _, expired = write_up(SENT, no_reply("expired"), None)
    assert (expired.status, expired.may_pass, expired.cost_usd) == (TaskStatus.ERROR, True, 0)


def test_a_request_of_unknown_fate_may_have_cost_all() -> None:
    lost = Lost(1, 0.01, 0.2, 32_000)
    _, outcome = write_up(SENT, NoReply(TaskStatus.ERROR, "gone", lost=lost), None)
    assert (outcome.cost_usd, outcome.reserved_usd, outcome.lost) == (None, 0.21, lost)
