"""Whole batches with a budget: nothing starts beyond it, and requests of unknown cost count."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agent.batch.attempts import Attempts
from agent.batch.budget import lost_request
from supervisor.template.protocol import is_available
from tests.support.batch_command import BatchCommand
from tests.support.batch_place import BatchPlace, tasks, when
from tests.support.messages_server import text_reply
from tests.support.messages_server.replies import (
    drop_before_headers,
    drop_midway,
    events_reply,
    http_error,
    message_events,
    stall_midway,
    text_block,
)
from wire import events
from wire.batch.outcome import TaskStatus

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Outcome, Zot

MODEL = "claude-sonnet-4-5"


def batch(zot: Zot, server: MessagesServer, *flags: str) -> Outcome:
    given = ("--base-url", server.base_url, "--api-key", "k", "--model", MODEL, "--no-ext", "-j", "1")
    return zot.run("batch", "t.jsonl", "-o", "runs", *(() if "--model" in flags else given), *flags)


@pytest.mark.skipif(not is_available(), reason="this system has no templates")
def test_a_budget_in_dollars_holds_over_starts(zot: Zot, server: MessagesServer) -> None:
    server.otherwise = lambda _: text_reply("answer", input_tokens=1000)
    lines = [json.dumps({"id": f"t{number}", "prompt": f"task {number}"}) for number in range(3)]
    (zot.cwd / "t.jsonl").write_text("\n".join(lines))
    first = batch(zot, server, "--max-cost-usd", "0.001")
    assert first.status == 10
    assert "(--max-cost-usd) is used: 2 tasks are not started; running ones end" in first.stderr
    assert "1 of 3 tasks ok" in first.stderr
    assert "2 not run" in first.stderr
    assert "stopped before its end: --max-cost-usd is used up" in first.stderr
    assert "zot batch retry runs --status not_run --max-cost-usd USD" in first.stderr
    again = batch(zot, server, "--max-cost-usd", "0.001")
    assert again.status == 10, "the first start counts"
    assert len(server.requests) == 1
    status: Any = zot.run("batch", "status", "runs", "--json").json_lines[0]
    assert (status["state"], status["limit"], status["left"], status["starts"]) == ("budget", "--max-cost-usd", 2, 2)
    more = batch(zot, server, "--max-cost-usd", "1")
    assert more.status == 0
    assert "3 of 3 tasks ok" in more.stderr


def test_a_budget_without_a_price_is_refused_before_anything_starts(zot: Zot, server: MessagesServer) -> None:
    (zot.cwd / "t.jsonl").write_text('{"id": "one", "prompt": "go"}\n')
    flags = ("--provider", "anthropic", "--model", "mine-1", "--api-key", "k", "--base-url", server.base_url)
    for limit in ("--max-cost-usd", "--task-max-cost"):
        refusal = batch(zot, server, *flags, limit, "1").refusal()
        assert "t.jsonl:1: the price of the model 'mine-1' is unknown" in refusal
        assert "models.json" in refusal
    assert not (zot.cwd / "runs").exists()
    assert not server.requests


@pytest.mark.slow
@pytest.mark.parametrize("end", ["timeout", "crashed"])
def test_a_request_that_was_cut_off_counts_with_the_most_that_it_can_have_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr(Attempts, "_on_free", lambda *_: None)  # the worker of a stand-in is never ready
    place = BatchPlace(tmp_path)
    asks = "ask 1000" if end == "timeout" else "send 1000 die SIGKILL"
    found = place.run(tasks(asks, "ok"), jobs=1, retries=0, task_timeout=1.5, max_cost_usd=0.001)
    assert (found.reason, found.statuses) == ("budget", {end: 1, "not_run": 1})
    assert found.cost_usd is None
    (outcome,) = place.ends()["a"]
    assert outcome.status is TaskStatus(end)
    assert outcome.reserved_usd == pytest.approx(lost_request(MODEL, 20, 1000).at_most_usd, rel=0.01)
    assert found.reserved_usd == outcome.reserved_usd
    assert any(
        "is reserved for unknown costs (--reserve seen; --reserve none would continue)" in line for line in place.said
    )


@pytest.mark.slow
@pytest.mark.skipif(not is_available(), reason="this system has no templates")
def test_timeouts_use_up_no_budget_once_the_answers_of_the_batch_are_known(zot: Zot, server: MessagesServer) -> None:
    place = BatchCommand(zot, server)
    place.tasks({f"t{number}": f"task {number}" for number in range(10)} | {"hang": "hang"})
    last = {"after": "more"}
    flags = ("-j", "1", "--task-timeout", "2", "--max-cost-usd", "0.3")
    found = place.run(*flags)
    assert (found.status, place.results()["hang"]["status"]) == (10, "timeout")
    lost = place.results()["hang"]["lost"]
    assert (lost["requests"], lost["max_tokens"], lost["received"]) == (1, 32_000, 0)
    assert place.results()["hang"]["reserved_usd"] > 0.48, "the most that it can have cost"
    status: Any = zot.run("batch", "status", "runs", "--json").json_lines[0]
    assert status["cost_usd"] is None
    assert 0 < status["reserved_usd"] < 0.02
    assert "(--reserve seen)" in zot.run("batch", "status", "runs").stdout.decode()
    place.tasks({"hang": "hang", **last})
    worst = place.run(*flags, "--reserve", "worst")
    assert "for unknown costs (--reserve worst; --reserve none would continue): 1 task is not started" in worst.stderr
    assert "after" not in place.results()
    assert place.run(*flags).status == 10
    assert place.results()["after"]["status"] == "ok"
    status = zot.run("batch", "status", "runs", "--json").json_lines[0]
    assert status["reserved_usd"] < 0.02, "one request is lost once, however often the batch starts"


@pytest.mark.slow
@pytest.mark.skipif(not is_available(), reason="this system has no templates")
@pytest.mark.parametrize("end", ["error", "timeout"])
def test_a_reply_that_breaks_off_is_no_known_cost(zot: Zot, server: MessagesServer, end: str) -> None:
    place = BatchCommand(zot, server)
    reply = events_reply(message_events([text_block("x " * 50_000, chunks=50)]))
    server.otherwise = lambda _: (drop_midway if end == "error" else stall_midway)(reply, after=45)
    place.tasks({"a": "go"})
    found = place.run("--retries", "0", "--task-timeout", "5")
    assert found.status == 10
    result = place.results()["a"]
    assert (result["status"], result["cost_usd"], result["known_cost_usd"]) == (end, None, 0.0)
    assert 20_000 < result["lost"]["received"] < 25_000
    assert result["lost"]["input_usd"] == pytest.approx(10 * 3 / 1e6)
    assert 0.48 <= result["reserved_usd"] < 0.49
    (used,) = [event for event in place.events("a") if isinstance(event, events.Usage)]
    assert used.is_partial
    assert used.cumulative.is_partial
    assert used.output == result["lost"]["received"]


@pytest.mark.skipif(not is_available(), reason="this system has no templates")
def test_a_request_that_a_server_takes_and_never_answers_is_no_known_cost(zot: Zot, server: MessagesServer) -> None:
    place = BatchCommand(zot, server)
    server.otherwise = lambda asked: drop_before_headers() if "lost" in str(asked.body) else http_error(500)
    place.tasks({"lost": "lost", "refused": "go"})
    assert place.run("--retries", "0").status == 10
    lost, refused = (place.results()[name] for name in ("lost", "refused"))
    assert (lost["error_kind"], lost["cost_usd"], lost["lost"]["requests"]) == ("connection", None, 3), "each try"
    assert (refused["error_kind"], refused["cost_usd"], refused["lost"]) == ("server", 0.0, None)


@pytest.mark.skipif(not is_available(), reason="this system has no templates")
def test_a_request_that_is_sent_again_after_its_connection_broke_is_lost_and_the_second_is_known(
    zot: Zot, server: MessagesServer
) -> None:
    place = BatchCommand(zot, server)
    server.add(drop_before_headers(), text_reply("answer"))
    place.tasks({"a": "go"})
    assert place.run().status == 0
    result = place.results()["a"]
    assert (result["attempt"], result["requests"], result["answers"], result["cost_usd"]) == (1, 2, 1, None)
    assert result["known_cost_usd"] > 0
    assert (result["lost"]["requests"], result["lost"]["max_tokens"]) == (1, 32_000)


@pytest.mark.slow
@pytest.mark.skipif(not is_available(), reason="this system has no templates")
def test_a_retry_on_a_used_up_budget_keeps_results_and_goes_on_with_a_higher_one(
    zot: Zot, server: MessagesServer
) -> None:
    place = BatchCommand(zot, server)
    server.otherwise = lambda _: http_error(400)
    place.tasks({"bad": "one", "next": "two", "last": "three"})
    assert place.run("-j", "1", "--limit", "1").status == 10
    server.otherwise = lambda _: text_reply("answer", input_tokens=1000)
    used_up = place.run("-j", "1", "--max-cost-usd", "0.001")
    assert "1 error, 1 not run" in used_up.stderr
    before = place.results()["bad"]
    again = zot.run("batch", "retry", "runs", "--api-key", "k")
    assert (again.status, place.results()["bad"]) == (10, before), "it stands until a new attempt has started"
    assert "1 error, 1 not run" in again.stderr
    assert "zot batch retry runs --max-cost-usd USD" in again.stderr
    status: Any = zot.run("batch", "status", "runs", "--json").json_lines[0]
    assert (status["statuses"], status["left"], status["limit"]) == ({"error": 1, "ok": 1}, 1, "--max-cost-usd")
    more = zot.run("batch", "retry", "runs", "--api-key", "k", "--max-cost-usd", "1")
    assert (more.status, place.results()["bad"]["status"]) == (0, "ok")
    assert [outcome.attempt for outcome in place.attempts("bad")] == [1, 2]
    nothing = place.run("--resume")
    assert (nothing.status, "nothing to do: every task is done" in nothing.stderr) == (0, True)


def test_only_a_batch_that_has_begun_is_resumed(zot: Zot, server: MessagesServer) -> None:
    place = BatchCommand(zot, server)
    place.tasks({"a": "go"})
    assert "there is no such folder" in place.run("--resume").refusal()
    assert not place.rundir.exists()


def test_a_run_that_waits_for_a_limit_has_sent_nothing(tmp_path: Path) -> None:
    """Its timeout stands still; told to end, its request costs nothing."""
    place = BatchPlace(tmp_path)

    def stop(running: Any) -> None:
        running.loop.call_later(0, lambda: running._attempts.models.pause("no request now"))
        waits = lambda: any(run.why_paused for run in running.view().runs)  # noqa: E731
        when(running, waits, lambda: setattr(running.controls, "is_stopping", True))

    found = place.run(tasks("ask 1000"), jobs=1, do=stop)
    assert (found.reason, found.exit_code, found.cost_usd) == ("stopped", 130, 0.0)
