"""Runs share model workers: one run per worker, refusals are waited for, and a reply reaches its own run only."""

from __future__ import annotations

import json
import math
import time

import msgspec
import pytest

from agent.batch.pool import leases, model_pool
from agent.batch.throttle import RateWait, Throttle
from agent.model.access import find_access
from agent.model.worker_process import ModelWorker, configure_line, program_starter
from supervisor.process.child import SpawnError
from tests.support.messages_server import Account, MessagesServer, token_bucket
from tests.support.obeying_worker import FINAL, REFUSED, START
from tests.support.pool_bench import CONFIGURE
from wire.batch.link import ModelRequest


def test_each_run_gets_the_lines_of_its_own_request(batch):
    one = batch(jobs=2)
    for run in "abcde":
        one.ask(run, say=[START, {"type": "text_delta", "delta": run}, FINAL])
    one.until_final(*"abcde")
    for run in "abcde":
        assert one.types(run) == ["message_start", "text_delta", "final"]
        assert {line["id"] for line in one.lines[run]} == {f"{run}.1"}
        assert one.lines[run][1]["delta"] == run
        assert one.pool.counters(run).requests == 1
    assert len(one.children) == 2, "workers are used again, and never more than jobs"


def test_a_run_after_another_gets_the_same_worker(batch):
    one = batch()
    one.ask("a")
    one.until_final("a")
    one.ask("a", 2)
    one.until(lambda: one.types("a").count("final") == 2)
    one.ask("b")
    one.until_final("b")
    assert len(one.children) == 1


def test_a_refusal_is_not_relayed_and_the_request_is_sent_again(batch, tmp_path):
    one = batch()
    one.ask("a", say=[{**REFUSED, "retry_after_s": 0.3}])
    one.until(lambda: one.told)
    assert one.told[0][0] == "a"
    assert one.told[0][1].startswith("rate limit: the server asks for a pause; next at ")
    assert one.pool.why_paused().startswith("rate limit: ")
    one.until(lambda: one.pool.counters("a").rate_limited == 2)
    assert one.lines["a"] == []
    assert one.told[1] == ("a", "resumed")
    assert one.pool.counters("a").requests >= 2
    one.pool.cancel("a")


def test_a_request_that_may_be_sent_a_moment_after_it_was_looked_at_is_sent(batch, monkeypatch):
    """All requests of the batch wait, so no other event comes: the look that finds a wait has to set the timer."""
    ready = []

    def may_send(_throttle, now, _estimate):
        if not ready:
            ready.append(math.nextafter(now, math.inf))
        return RateWait(ready[0], "600 requests per minute are used up") if now < ready[0] else None

    monkeypatch.setattr(Throttle, "may_send", may_send)
    one = batch()
    one.ask("a")
    one.until_final("a")


@pytest.mark.parametrize(
    "line",
    [
        {**REFUSED, "message": "Your credit balance is too low"},
        {**REFUSED, "limits": {"should_retry": False}},
        {**REFUSED, "kind": "overloaded", "status": 529},
    ],
)
def test_what_no_pause_helps_reaches_the_run(batch, line):
    one = batch()
    one.ask("a", say=[line])
    one.until_final("a")
    assert one.lines["a"][0]["message"] == line["message"]
    assert one.free == ["a"], "the provider has refused it"


def test_a_limit_in_mid_reply_reaches_the_run(batch):
    one = batch()
    one.ask("a", say=[START, REFUSED])
    one.until_final("a")
    assert one.types("a") == ["message_start", "error"]
    assert one.free == []


def test_a_request_without_any_word_of_the_provider_is_not_known_to_be_free(batch):
    one = batch()
    one.ask("a", say=[{**REFUSED, "kind": "connection", "status": None, "unanswered": True}])
    one.until_final("a")
    assert one.free == []


def test_a_request_that_is_sent_again_without_any_word_of_the_provider_is_lost(batch):
    one = batch()
    again = {"type": "retry", "attempt": 2, "of": 3, "wait_s": 0.1, "reason": "no connection", "status": None}
    one.ask("a", say=[{**again, "unanswered": True}, again, {**REFUSED, "kind": "connection", "status": None}])
    one.until_final("a")
    assert (one.lost, one.free) == (["a"], ["a"]), "the first was sent; the other two found no server"


def test_a_worker_gets_no_request_before_it_is_ready(batch, monkeypatch):
    one, sent = batch(jobs=1), []
    monkeypatch.setattr(ModelWorker, "send", lambda _worker, line: sent.append(line))
    one.ask("a")
    (worker,) = one.pool._workers.all
    with monkeypatch.context() as patch:
        patch.setattr(one.children[0], "kill_group", lambda _number: None)  # as while a fork is only asked for
        one.pool.cancel("a")
        assert one.free == ["a"]
        one.until(lambda: worker.is_ready)
    assert sent == []


def test_a_worker_that_dies_is_the_reason_of_its_request_alone(batch):
    one = batch(jobs=2)
    one.ask("a", then="die", say=[START])
    one.ask("b")
    one.until_final("a", "b")
    error = one.lines["a"][-1]
    assert (error["kind"], error["message"]) == ("worker", "the model worker ended (exit 3): no luck")
    assert error["id"] == "a.1"
    assert one.free == []
    assert one.types("b") == ["message_start", "final"]
    one.ask("a", 2)
    one.until_final("a")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("junk", "a line from the model worker is not JSON"),
        ('{"type":"text_delta"}', "a line from the model worker is not valid"),
    ],
)
def test_a_worker_that_sends_nonsense_serves_no_other_run(batch, said, reason):
    one = batch(jobs=1)
    one.ask("a", say=[START, said], then="hang")
    one.ask("b")
    one.until_final("a", "b")
    assert one.lines["a"][-1]["message"].startswith(reason)
    assert one.last("b") == "final"
    assert len(one.children) == 2


def test_a_run_that_ends_in_mid_reply_has_its_worker_killed(batch):
    one = batch(jobs=1)
    one.ask("a", say=[START], then="hang")
    one.until(lambda: one.types("a") == ["message_start"])
    one.ask("b")
    assert one.pool.forget("a").requests == 1
    one.until_final("b")
    one.until(lambda: not one.children[0].is_running)
    assert one.children[0].exit.code == -9
    assert len(one.children) == 2
    assert one.types("a") == ["message_start"]
    assert one.free == [], "the provider has worked for it"


def test_a_request_that_waits_is_dropped_with_its_run(batch):
    one = batch(jobs=1)
    one.ask("a", say=[START], then="hang")
    one.ask("b")
    one.ask("c")
    one.until(lambda: one.lines["a"])
    one.pool.cancel("b")
    one.pool.cancel("a")
    one.until_final("c")
    assert one.lines["b"] == []
    assert one.pool.counters("b").requests == 0
    assert one.free == ["b"], "it was never sent"


def test_no_requests_are_sent_while_the_user_pauses(batch):
    one = batch(jobs=1)
    one.pool.pause("paused by the user")
    one.ask("a")
    assert one.told == [("a", "paused by the user")]
    assert one.pool.why_paused() == "paused by the user"
    assert not one.children
    one.pool.resume()
    one.until_final("a")
    assert one.told[1:] == [("a", "resumed")]


def test_a_worker_that_cannot_be_started_fails_the_request(batch):
    def start(_provider, **_given):
        raise SpawnError("no such program")

    one = batch(start=start)
    one.ask("a")
    assert one.lines["a"][0]["message"] == "the model worker could not be started: no such program"
    assert one.free == ["a"]


def test_a_request_beyond_the_limit_is_not_sent(batch, monkeypatch):
    monkeypatch.setattr(model_pool, "REQUEST_LIMIT", 1_000)
    one = batch()
    one.ask("a", system="x" * 1_000)
    assert one.lines["a"][0]["message"] == "the conversation makes a request of more than 1000 bytes"
    assert one.free == ["a"]


def test_what_is_wrong_with_a_request_is_said_to_its_run(batch):
    one = batch()
    one.ask("a", configure=[])
    assert one.lines["a"][0]["message"].startswith("the request of the run is not valid: ")
    assert one.lines["a"][0]["id"] == "a.1"
    assert one.free == ["a"]


def test_runs_with_another_key_get_another_worker(batch):
    one = batch(jobs=1)
    one.ask("a")
    one.until_final("a")
    one.ask("b", configure={**CONFIGURE, "api_key": "other"})
    one.until_final("b")
    one.until(lambda: not one.children[0].is_running)
    assert len(one.children) == 2


def test_idle_workers_end_but_for_one(batch, monkeypatch):
    monkeypatch.setattr(leases, "IDLE_S", 0.0)
    one = batch(jobs=3)
    for run in "abc":
        one.ask(run)
    one.until_final(*"abc")
    one.until(lambda: [child.is_running for child in one.children].count(True) == 1)
    one.ask("a", 2)
    one.until_final("a")
    assert len(one.children) == 3


def test_a_worker_is_not_read_while_its_run_does_not_read(batch):
    count = 10_000
    one = batch(jobs=1)
    taken = []

    def on_line(run, raw):
        taken.append(raw)
        one.pool.hold(run)

    one.on_line = on_line
    one.ask("a", say=[START, *([{"type": "text_delta", "delta": "x" * 20}] * count), FINAL])
    one.until(lambda: taken)
    for _ in range(20):
        one.loop.run_until(lambda: False, one.loop.clock())
    assert len(taken) < count / 2
    one.on_line = lambda _run, raw: taken.append(raw)
    one.pool.read_on("a")
    one.until(lambda: len(taken) == count + 2)


def test_a_run_may_be_forgotten_while_it_gets_a_line(batch):
    one = batch(jobs=1)
    one.on_line = lambda run, _raw: one.pool.forget(run)
    one.ask("a", say=[START, FINAL])
    one.ask("b", say=[START], then="hang")
    one.until(lambda: len(one.children) == 2 and not any(child.is_running for child in one.children))


def test_requests_are_sent_in_their_order_and_a_refused_one_keeps_its_place(batch):
    one = batch(jobs=1)
    order = []
    one.on_line = lambda run, raw: order.append(run) if b"final" in raw else None
    one.ask("a", say=[{**REFUSED, "retry_after_s": 0.05}])
    one.ask("b")
    one.ask("c")
    one.until(lambda: one.pool.counters("a").rate_limited == 2)
    assert order == []
    one.pool.cancel("a")
    one.until(lambda: len(order) == 2)
    assert order == ["b", "c"]


@pytest.mark.slow
def test_real_workers_wait_for_the_limits_of_a_server(batch, loop):
    params = {"messages": [{"role": "user", "content": "x"}], "model": "m"}
    account = Account(time.monotonic(), requests=120, input_tokens=1_000_000)
    for _ in range(118):
        account.take(time.monotonic(), requests=1)
    with MessagesServer() as server:
        server.otherwise = token_bucket(account)
        access = find_access({}, api_key="k", base_url=server.base_url)
        one = batch(jobs=2, start=program_starter(loop))
        for run in "abcdef":
            asked = {"configure": configure_line(access), "params": {**params, "max_tokens": 10}}
            raw = {name: msgspec.Raw(json.dumps(value).encode()) for name, value in asked.items()}
            one.pool.request(run, ModelRequest(f"{run}.1", raw["configure"], "m", raw["params"]))
        one.until_final(*"abcdef")
    assert {one.last(run) for run in "abcdef"} == {"final"}
    assert account.answered == 118 + 6
    assert one.pool.rate_limited == account.refused <= 1
    assert any(reason.startswith("rate limit: ") for _, reason in one.told)
    assert sum(one.pool.counters(run).requests for run in "abcdef") == 6 + account.refused
