"""Whole batches against a server that refuses requests: for now, for good, and by token buckets."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from agent.batch import batch as batch_module
from agent.batch.schedule import FIRST_WAIT_S, JITTER
from supervisor.template.protocol import is_available
from tests.support.batch_place import BatchPlace
from tests.support.messages_server import Account, http_error, text_reply, token_bucket, tool_reply
from tests.support.zot_fork import run
from tests.support.zot_process import wait_until
from wire.batch.task import Task

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.messages_server import MessagesServer, Received, Reply
    from tests.support.zot_process import Outcome, Running, Zot

pytestmark = pytest.mark.skipif(not is_available(), reason="this system has no templates")

MODEL = "claude-sonnet-4-5"


def write_tasks(zot: Zot, *tasks: dict[str, Any]) -> None:
    (zot.cwd / "t.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))


def start(zot: Zot, server: MessagesServer, *flags: str, **popen: Any) -> Running:
    connection = ("--base-url", server.base_url, "--api-key", "k", "--model", MODEL)
    return zot.start("batch", "t.jsonl", "-o", "runs", "--no-ext", *connection, *flags, **popen)


def finish(running: Running, timeout_s: float = 60.0) -> Outcome:
    with running:
        return running.finish(timeout_s)


def of(records: list[Any], kind: str) -> list[Any]:
    return [record for record in records if record["type"] == kind]


def prompt_of(request: Received) -> str:
    """The text of the last message of the user that is not a result of a tool."""
    texts = [
        part["text"]
        for message in request.body["messages"]
        if message["role"] == "user"
        for part in (
            [{"type": "text", "text": message["content"]}]
            if isinstance(message["content"], str)
            else message["content"]
        )
        if part["type"] == "text"
    ]
    return str(texts[-1])


def test_a_refused_batch_is_paused_everywhere_and_fails_nowhere(zot: Zot, server: MessagesServer) -> None:
    is_open = threading.Event()
    server.otherwise = lambda _: text_reply("answer") if is_open.is_set() else http_error(429, retry_after=1)
    write_tasks(zot, *({"id": f"t{number}", "prompt": f"task {number}"} for number in range(4)))
    with start(zot, server, "-j", "4", "--retries", "0", "--json") as running:

        def paused() -> Any:
            status = run(zot, "batch", "status", "runs", "--json")
            return status.status == 10 and status.json_lines[0]["paused"] == 4 and status.json_lines[0]

        wait_until((zot.cwd / "runs" / "journal.jsonl").exists)
        status = wait_until(paused)
        assert status["state"] == "running"
        assert status["why_paused"].startswith("rate limit: the server asks for a pause; next at ")
        shown = run(zot, "batch", "status", "runs").text
        assert "  paused      4 of those under way: rate limit: " in shown
        assert "(task t2)" in run(zot, "ps").text
        is_open.set()
        found = running.finish()
    assert found.status == 0, found.stderr
    records = found.json_lines
    assert {record["task"] for record in of(records, "task_paused")} == {"t0", "t1", "t2", "t3"}
    assert len(of(records, "task_resumed")) == len(of(records, "task_paused"))
    outcomes = [record["outcome"] for record in of(records, "task_end")]
    assert [(one["status"], one["attempt"]) for one in outcomes] == [("ok", 1)] * 4
    assert all(one["paused_ms"] > 0 for one in outcomes)
    assert all(one["requests"] == one["rate_limited"] + 1 for one in outcomes)
    log = (zot.cwd / "runs" / "batch.log").read_text()
    assert log.count('"event": "run paused"') == len(of(records, "task_paused"))


def test_a_task_of_an_overloaded_server_waits_and_is_told_so_everywhere(zot: Zot, server: MessagesServer) -> None:
    """The requests of one attempt follow each other at once here; between two attempts there is a wait."""
    asked: list[float] = []

    def answer(_: Received) -> Reply:
        asked.append(time.monotonic())
        return http_error(529, retry_after_ms=1)

    server.otherwise = answer
    write_tasks(zot, {"id": "t", "prompt": "go"})
    found = finish(start(zot, server, "--retries", "1", "--json"))
    first, last = (record["outcome"] for record in of(found.json_lines, "task_end"))
    for outcome in (first, last):
        assert (outcome["status"], outcome["error_kind"], outcome["may_pass"]) == ("rate_limit", "overloaded", True)
        assert "too much to do, for everybody" in outcome["reason"]
    assert len(asked) == 6
    assert asked[3] - asked[2] > FIRST_WAIT_S * (1 - JITTER)
    assert run(zot, "report", "runs").status == 0
    page = (zot.cwd / "runs" / "report.html").read_text()
    assert "overloaded <b>1 task</b>" in page
    assert "fewer" not in page


@pytest.mark.slow
def test_a_pause_of_ten_seconds_uses_no_timeout_and_no_retry(zot: Zot, server: MessagesServer) -> None:
    begun: list[float] = []

    def answer(_: Received) -> Reply:
        begun.append(time.monotonic())
        return http_error(429, retry_after=10) if begun[-1] < begun[0] + 10 else text_reply("answer")

    server.otherwise = answer
    write_tasks(zot, *({"id": f"t{number}", "prompt": "go", "timeout_s": 9} for number in range(16)))
    found = finish(start(zot, server, "-j", "16", "--retries", "0", "--json"))
    assert found.status == 0, found.stderr
    outcomes = [record["outcome"] for record in of(found.json_lines, "task_end")]
    assert len(outcomes) == 16
    assert max(one["duration_ms"] for one in outcomes) > 10_000
    assert all(one["duration_ms"] - one["paused_ms"] < 9_000 for one in outcomes)


def bucket_run(zot: Zot, server: MessagesServer, count: int, free: int) -> None:
    """At 32 jobs, on an account with 600 requests per minute of which so many are left."""
    account = Account(time.monotonic(), requests=600)
    limited, lock, used = token_bucket(account), threading.Lock(), 600 - free

    def answer(request: Received) -> Reply:
        nonlocal used
        with lock:  # the bucket is full until the first request comes
            if used:
                account.take(time.monotonic(), requests=used)
                account.answered = used = 0
        return limited(request)

    server.otherwise = answer
    write_tasks(zot, *({"id": f"t{number}", "prompt": f"task {number}"} for number in range(count)))
    found = finish(start(zot, server, "-j", "32", "--retries", "0", "--json"), 120.0)
    assert found.status == 0, found.stderr
    (end,) = of(found.json_lines, "batch_end")
    assert end["statuses"] == {"ok": count}
    assert account.answered == count
    assert account.refused <= 0.1 * account.answered
    waits = {record["reason"].partition(";")[0] for record in of(found.json_lines, "task_paused")}
    assert waits, "runs have waited"
    assert all(wait.startswith("rate limit: ") for wait in waits), waits


@pytest.mark.slow
def test_32_jobs_share_an_account_with_a_token_bucket(zot: Zot, server: MessagesServer) -> None:
    bucket_run(zot, server, count=40, free=15)


@pytest.mark.slow
def test_32_jobs_share_an_account_for_long(zot: Zot, server: MessagesServer) -> None:
    bucket_run(zot, server, count=140, free=40)


def test_only_failures_that_may_pass_are_tried_again(zot: Zot, server: MessagesServer) -> None:
    def answer(request: Received) -> Reply:
        prompt = prompt_of(request)
        if prompt.isdecimal():
            return http_error(int(prompt), "no such thing", retry_after_ms=5)
        if prompt == "dear":
            return tool_reply([("bash", {"command": "true"})], input_tokens=1000)
        return text_reply("answer")

    server.otherwise = answer
    numbers = ("400", "404", "500", "529", "401")
    write_tasks(
        zot, *({"id": number, "prompt": number} for number in numbers),
        {"id": "dear", "prompt": "dear", "max_cost_usd": 0.001}, {"id": "well", "prompt": "well"},
    )  # fmt: skip
    found = finish(start(zot, server, "-j", "3", "--json"))
    assert found.status == 10
    ends = of(found.json_lines, "task_end")
    found_ends = sorted((end["task"], end["attempt"], end["outcome"]["status"]) for end in ends)
    assert found_ends == [
        ("400", 1, "error"),
        ("401", 1, "authentication"),
        ("404", 1, "error"),
        ("500", 1, "error"),
        ("500", 2, "error"),
        ("529", 1, "rate_limit"),
        ("529", 2, "rate_limit"),
        ("dear", 1, "budget"),
        ("well", 1, "ok"),
    ]
    assert {end["task"] for end in ends if end["outcome"]["may_pass"]} == {"500", "529"}
    sent = [prompt_of(request) for request in server.requests]
    assert {number: sent.count(number) for number in numbers} == {"400": 1, "404": 1, "401": 1, "500": 6, "529": 6}
    assert not of(found.json_lines, "task_paused"), "errors of the server are not a matter of pace"


@pytest.mark.slow
def test_a_refusal_without_end_ends_with_the_deadline(
    tmp_path: Path, server: MessagesServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_module, "LONG_PAUSE_S", 0.3)
    server.otherwise = lambda _: http_error(429, retry_after=3600)
    place = BatchPlace(tmp_path)
    flags = {"base_url": server.base_url, "api_key": "k", "model": MODEL, "provider": "anthropic"}
    tasks = [Task(id=f"t{number}", prompt="go", cwd=str(tmp_path)) for number in range(3)]
    end = place.run(tasks, run=flags, run_program=None, deadline=1.0, task_timeout=30.0)
    assert (end.reason, end.exit_code, end.statuses) == ("deadline", 10, {"not_run": 3})
    assert any("1 s (--deadline) are over" in line for line in place.said)
    cut = place.ends(final=False)
    assert {found[0].reason for found in cut.values()} == {batch_module.WAITED}
    assert end.cost_usd == 0.0, "nothing was sent that is not answered"
