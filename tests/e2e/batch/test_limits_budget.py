"""Whole batches with a budget: nothing starts beyond it, and what nobody has told the cost of counts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agent.batch.budget import reserve_usd
from supervisor.template.protocol import is_available
from tests.support.batch_place import BatchPlace, tasks
from tests.support.messages_server import text_reply
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
    assert "give the command again with a higher limit" in first.stderr
    again = batch(zot, server, "--max-cost-usd", "0.001")
    assert again.status == 10, "the first start counts"
    assert len(server.requests) == 1
    status: Any = zot.run("batch", "status", "runs", "--json").json_lines[0]
    assert (status["state"], status["left"], status["starts"]) == ("budget", 2, 2)
    more = batch(zot, server, "--max-cost-usd", "1")
    assert more.status == 0
    assert "3 of 3 tasks ok" in more.stderr


def test_a_budget_without_a_price_is_refused_before_anything_starts(zot: Zot, server: MessagesServer) -> None:
    (zot.cwd / "t.jsonl").write_text('{"id": "one", "prompt": "go"}\n')
    flags = ("--provider", "anthropic", "--model", "mine-1", "--api-key", "k", "--base-url", server.base_url)
    for limit in ("--max-cost-usd", "--task-max-cost"):
        refusal = batch(zot, server, *flags, limit, "1").refusal()
        assert "t.jsonl:1: the price of the model 'mine-1' is not known" in refusal
        assert "models.json" in refusal
    assert not (zot.cwd / "runs").exists()
    assert not server.requests


@pytest.mark.parametrize("end", ["timeout", "crashed"])
def test_a_request_that_was_cut_off_counts_with_the_most_that_it_can_have_cost(tmp_path: Path, end: str) -> None:
    place = BatchPlace(tmp_path)
    asks = "ask 1000" if end == "timeout" else "send 1000 die SIGKILL"
    found = place.run(tasks(asks, "ok"), jobs=1, retries=0, task_timeout=1.5, max_cost_usd=0.001)
    most = reserve_usd(MODEL, 0, None)
    assert most is not None
    assert (found.reason, found.statuses) == ("budget", {end: 1, "not_run": 1})
    assert found.cost_usd is None
    (outcome,) = place.ends()["a"]
    assert outcome.status is TaskStatus(end)
    assert outcome.reserved_usd == pytest.approx(most, rel=0.01)
    assert any("by requests whose cost nobody has told" in line for line in place.said)


def test_a_run_that_waits_for_a_limit_has_sent_nothing(tmp_path: Path) -> None:
    """Its timeout stands still; told to end, its request costs nothing."""
    place = BatchPlace(tmp_path)

    def stop(running: Any) -> None:
        def look() -> None:
            runs = running.view().runs
            if any(run.why_paused for run in runs):
                running.controls.is_stopping = True
            else:
                running.loop.call_later(0.02, look)

        running.controls.is_paused = False
        running.loop.call_later(0, lambda: running._attempts.models.pause("no request now"))
        running.loop.call_later(0, look)

    found = place.run(tasks("ask 1000"), jobs=1, do=stop)
    assert (found.reason, found.exit_code, found.cost_usd) == ("stopped", 130, 0.0)
