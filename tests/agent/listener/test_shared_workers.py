"""Model workers that conversations lend each other: one request at a time, and no fault of one reaches another."""

from __future__ import annotations

import json
from collections import defaultdict

import msgspec
import pytest

from agent.listener.shared_workers import SharedWorkers
from supervisor.loop.loop import Loop
from supervisor.process.child import SpawnError
from supervisor.process.teardown import stop_all
from tests.support.obeying_worker import FINAL, REFUSED, START, starter
from tests.support.patience import PATIENCE_S
from tests.support.pool_bench import CONFIGURE, request_of


class Bench:
    def __init__(self, start=None):
        self.loop = Loop()
        self.children = []
        self.lines = defaultdict(list)
        self.workers = SharedWorkers(
            self.loop, start or starter(self.loop, self.children), most=2,
            on_line=lambda name, raw: self.lines[name].append(json.loads(raw)),
        )  # fmt: skip

    def ask(self, name, **given):
        self.workers.request(name, request_of(name, **given))

    def until(self, name, kind):
        assert self.loop.run_until(lambda: kind in self.types(name), self.loop.clock() + PATIENCE_S)

    def types(self, name):
        return [line["type"] for line in self.lines[name]]

    def close(self):
        stop_all(self.loop, self.workers.stop(), at_once=True)
        self.loop.close()


@pytest.fixture
def bench():
    made = Bench()
    yield made
    made.close()


def test_an_idle_worker_serves_the_next_conversation(bench):
    for name in ("a", "b", "a"):
        bench.ask(name)
        bench.until(name, "final")
        bench.lines.pop(name)
    assert len(bench.children) == 1


def test_two_requests_at_a_time_have_a_worker_each(bench):
    bench.ask("a", say=[START], then="hang")
    bench.until("a", "message_start")
    bench.ask("b")
    bench.until("b", "final")
    assert bench.types("a") == ["message_start"]
    assert len(bench.children) == 2


def test_another_key_gets_another_worker(bench):
    bench.ask("a")
    bench.until("a", "final")
    bench.ask("b", configure={**CONFIGURE, "api_key": "other"})
    bench.until("b", "final")
    assert len(bench.children) == 2


def test_a_request_that_is_given_up_kills_its_worker_and_no_other(bench):
    bench.ask("a", say=[START], then="hang")
    bench.ask("b", say=[START], then="hang")
    bench.until("a", "message_start")
    bench.until("b", "message_start")
    bench.workers.cancel("a")
    bench.workers.cancel("a")
    assert bench.loop.run_until(lambda: not bench.children[0].is_running, bench.loop.clock() + PATIENCE_S)
    assert bench.children[1].is_running
    bench.ask("a")
    bench.until("a", "final")


def test_a_worker_that_dies_breaks_its_own_request_only(bench):
    bench.ask("b", say=[START], then="hang")
    bench.ask("a", say=[START], then="die")
    bench.until("a", "error")
    assert "the model worker ended (exit 3): no luck" in bench.lines["a"][-1]["message"]
    bench.ask("a")
    bench.until("a", "final")
    assert bench.types("b") == ["message_start"]


def test_a_rate_limit_is_passed_on_and_not_waited_for(bench):
    bench.ask("a", say=[REFUSED])
    bench.until("a", "error")
    assert bench.lines["a"][-1]["kind"] == "rate_limit"


def test_a_conversation_that_does_not_read_holds_its_worker_back(bench):
    bench.ask("a", say=[START, FINAL])
    bench.workers.set_pace("a", is_behind=True)
    bench.ask("b")
    bench.until("b", "final")
    assert bench.types("a") == []
    bench.workers.set_pace("a", is_behind=False)
    bench.until("a", "final")
    bench.workers.set_pace("nobody", is_behind=True)


def test_a_request_that_cannot_be_read_and_a_worker_that_cannot_start(bench):
    asked = request_of("a")
    bench.workers.request("a", msgspec.structs.replace(asked, configure=msgspec.Raw(b"[]")))
    assert "the request of the conversation is not valid" in bench.lines["a"][-1]["message"]

    def fail(*_args, **_given):
        raise SpawnError("no room")

    without = Bench(fail)
    without.ask("a")
    assert without.lines["a"][-1]["message"] == "the model worker could not be started: no room"
    without.close()
