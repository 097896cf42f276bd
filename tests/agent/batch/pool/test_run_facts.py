"""The facts of a run, from the lines of its event stream."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from agent.batch.pool.run_facts import NOT_SCORED, Attempt, Ending, EndReason, RunClock, RunFacts, outcome_of
from wire.batch.link import ModelRequest, RunEnded
from wire.batch.outcome import SCORED, Score, TaskStatus, Usage

SESSION = b'{"type":"session","id":"s","provider":"anthropic","model":"%s"}'
USAGE = b'{"type":"usage","input":%d,"output":%d,"cache_read":0,"cache_write":0,"cost_usd":%f}'
REPLY = b'{"type":"assistant_message","content":[{"type":"text","text":"%s"}]}' % (b"x" * 2000)
PRICED = b"claude-sonnet-5-5"


def facts_of(*lines: bytes, model: bytes = PRICED, is_asked: bool = True) -> RunFacts:
    facts = RunFacts()
    if is_asked:
        params = msgspec.json.encode({"max_tokens": 32_000, "messages": "y" * 10_000})
        facts.request = ModelRequest(id="1", model=model.decode(), params=Raw(params), configure=Raw(b"{}"))
    for line in (SESSION % model, *lines):
        facts.take(line)
    return facts


def test_a_lost_request_that_is_cached_for_an_hour_counts_its_price() -> None:
    facts = facts_of()
    facts.lose(Usage(cache_write=1_000_000))
    assert facts.request is not None
    mark = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    params = msgspec.json.encode({"max_tokens": 32_000, "system": [{"type": "text", "text": "s", **mark}]})
    hour = facts_of()
    hour.request = msgspec.structs.replace(facts.request, params=Raw(params))
    hour.lose(Usage(cache_write=1_000_000))
    assert hour.lost.input_usd == pytest.approx(facts.lost.input_usd * 1.6)


def test_a_whole_reply_of_which_the_server_counts_nothing_is_of_unknown_cost_by_its_length() -> None:
    facts = facts_of(USAGE % (0, 0, 0), REPLY, USAGE % (0, 0, 0), REPLY)
    assert facts.has_unknown_cost
    assert facts.lost.requests == 2
    assert 2_000 <= facts.lost.max_tokens == facts.lost.received < 4_000  # not twice the 32,000 of the requests
    assert 0.03 < facts.lost.at_most_usd < 0.2


@pytest.mark.parametrize(
    "facts",
    [
        facts_of(USAGE % (10, 5, 0.0001), REPLY),
        facts_of(USAGE % (0, 0, 0), REPLY, is_asked=False),
        facts_of(USAGE % (0, 0, 0), REPLY, model=b"mine"),
    ],
    ids=["counted", "recorded", "free"],
)
def test_all_else_is_known(facts: RunFacts) -> None:
    assert (facts.has_unknown_cost, facts.lost.requests) == (False, 0)


STEPS = st.lists(st.tuples(st.sampled_from(["pause", "resume"]), st.integers(0, 100)), max_size=20)


@given(STEPS)
def test_only_the_time_outside_of_pauses_counts(steps: list[tuple[str, int]]) -> None:
    now, counted, is_paused = 10.0, 0.0, False
    clock = RunClock(now)
    for what, seconds in steps:
        getattr(clock, what)(now)
        is_paused = what == "pause"
        assert clock.is_paused == is_paused
        now += seconds
        counted += 0 if is_paused else seconds
        assert clock.left_s(1000.0, now) == 1000.0 - counted
        assert clock.passed_s(now) == now - 10
        assert clock.paused_s(now) == now - 10 - counted


@pytest.mark.parametrize("status", TaskStatus)
def test_a_run_that_was_killed_at_its_timeout_has_a_score_with_a_reason(status: TaskStatus) -> None:
    def ended(attempt: Attempt, *, kill: bool, score: Score | None = None) -> Score | None:
        ending = Ending(
            end_reason=EndReason(status, "killed") if kill else None, exit=None,
            said=RunEnded(status=status, score=score),
            was_told_to_end=True, started="", ended="", duration_s=1.0, paused_s=0.0, requests=0, memory_peak=0,
        )  # fmt: skip
        outcome = outcome_of(attempt, RunFacts(), ending)
        assert (outcome.status, outcome.repeat) == (status, attempt.repeat)
        return outcome.score

    scored = Attempt("fix#2", 1, repeat=2, is_scored=True)
    assert ended(scored, kill=True) == (Score(None, reason=NOT_SCORED) if status in SCORED else None)
    assert ended(scored, kill=False, score=Score(0.5)) == Score(0.5)
    assert ended(Attempt("fix", 1), kill=True) is None
