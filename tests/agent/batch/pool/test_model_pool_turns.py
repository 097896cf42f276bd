"""Requests with the same beginning: the first one goes alone, and no run waits for one that does not come."""

from __future__ import annotations

import pytest

from agent.batch.pool import model_pool, prefix_turns
from tests.support.obeying_worker import REFUSED, START

PREFIX = {
    "model": "claude-sonnet-5-5",
    "system": [{"type": "text", "text": "s" * 3000, "cache_control": {"type": "ephemeral"}}],
}


def test_the_first_request_of_a_prefix_goes_alone_until_its_reply_begins(batch):
    one = batch(jobs=3)
    one.ask("a", say=[], then="hang", **PREFIX)
    one.ask("b", say=[START], then="hang", **PREFIX)
    one.ask("c", **PREFIX)
    one.ask("d")
    one.until_final("d")
    assert [one.pool.counters(run).requests for run in "abcd"] == [1, 0, 0, 1], "another prefix goes"
    assert one.told == [], "this is no pause"
    one.pool.cancel("a")
    one.until_final("c")
    assert one.lines["a"] == []
    assert one.types("b") == ["message_start"], "the next one goes alone, until its reply begins"


def test_a_first_request_that_hangs_does_not_hold_the_others_up(batch, monkeypatch):
    monkeypatch.setattr(prefix_turns, "WAIT_S", 0.5)
    monkeypatch.setattr(model_pool, "TELL_TURN_AFTER_S", 0.1)
    one = batch(jobs=3)
    one.ask("a", say=[], then="hang", **PREFIX)
    one.ask("b", **PREFIX)
    one.ask("c", **PREFIX)
    one.until_final("b", "c")
    assert one.told == [("b", model_pool.TURN), ("c", model_pool.TURN), ("b", "resumed"), ("c", "resumed")]


def test_a_pause_of_the_user_is_told_to_those_that_wait_for_a_prefix(batch):
    one = batch(jobs=3)
    one.ask("a", say=[], then="hang", **PREFIX)
    one.ask("b", **PREFIX)
    one.pool.pause("paused by the user")
    assert one.told == [("b", "paused by the user")]
    one.pool.resume()
    one.pool.cancel("a")
    one.until_final("b")


@pytest.mark.parametrize("say", [[REFUSED], [{**REFUSED, "kind": "overloaded", "status": 529}]])
def test_a_first_request_that_is_refused_passes_the_turn_on(batch, say):
    one = batch(jobs=3)
    one.ask("a", say=say, **PREFIX)
    one.ask("b", **PREFIX)
    one.until(lambda: one.lines["a"] or one.pool.counters("a").rate_limited)
    one.pool.cancel("a")
    one.until_final("b")


@pytest.mark.parametrize("given", [{"warm_cache": False}, {"jobs": 3}])
def test_no_request_waits_for_a_prefix_if_that_is_off_or_the_prefix_is_not_cached(batch, given):
    one = batch(**{"jobs": 3, **given})
    prefix = PREFIX if "warm_cache" in given else {**PREFIX, "model": "qwen3:8b"}
    one.ask("a", say=[], then="hang", **prefix)
    one.ask("b", **prefix)
    one.until_final("b")
