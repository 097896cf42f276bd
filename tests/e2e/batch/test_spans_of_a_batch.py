"""`zot batch --otel`: a trace for each task, linked to the span of the batch, with the spans of its runs."""

from __future__ import annotations

import json
import signal
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from agent.batch.message_batches.lifecycle import POLL_VARIABLE
from tests.support.batch_command import BatchCommand, obey
from tests.support.messages_server import http_error
from tests.support.node_place import NodePlace
from tests.support.otlp_receiver import OtlpReceiver
from tests.support.span_tree import Node, received
from tests.support.zot_process import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Zot

MODEL = "claude-sonnet-4-5"
DIES_ONCE = "bash test -e tried || { touch tried; kill -9 $PPID; }"
"""The first attempt of this task is killed, with its open spans."""


@pytest.fixture
def collector() -> Iterator[OtlpReceiver]:
    with OtlpReceiver() as receiver:
        yield receiver


@pytest.fixture
def batch(zot: Zot, server: MessagesServer, collector: OtlpReceiver) -> BatchCommand:
    zot.env |= collector.environment | {"OTEL_METRICS_EXPORTER": "none"}
    return BatchCommand(zot, server)


def by_task(collector: OtlpReceiver) -> dict[str, Node]:
    """The traces of the tasks; each is linked to the span of the batch."""
    (batch,) = collector.named("zot.batch")[-1:]
    found = {span.attributes["zot.task.id"]: span for span in collector.spans if span.name.startswith("zot.task")}
    assert all(span.links == [(batch.trace_id, batch.span_id)] for span in found.values())
    assert all(span.parent_id == "" for span in found.values())
    assert len({span.trace_id for span in found.values()} | {batch.trace_id}) == len(found) + 1
    roots = (tree for tree in received(collector.spans) if tree.name.startswith("zot.task"))
    return {tree.attributes["zot.task.id"]: tree for tree in roots}


def attempts(tree: Node) -> list[Any]:
    assert {name for name, _ in tree.events} == {"zot.attempt"}
    return [(told["zot.attempt.number"], told["zot.status"]) for _, told in tree.events]


def test_tasks_with_a_retry_and_a_killed_run(batch: BatchCommand, collector: OtlpReceiver) -> None:
    batch.tasks({"good": "bash echo $TRACEPARENT > seen", "dies": DIES_ONCE})
    outcome = batch.run("--otel", "--retries", "1", "--json", env={"TRACEPARENT": f"00-{'c' * 32}-{'d' * 16}-01"})
    assert outcome.status == 0, outcome.stderr
    whole = collector.one("zot.batch")
    assert (whole.trace_id, whole.parent_id, whole.error) == ("c" * 32, "d" * 16, None)
    end = outcome.json_lines[-1]
    assert end["type"] == "batch_end"
    assert whole.attributes == {
        "zot.batch.tasks": 2, "zot.batch.jobs": whole.attributes["zot.batch.jobs"], "zot.batch.reason": "done",
        "zot.exit_code": 0, "zot.batch.statuses.ok": 2, "zot.cost_usd": whole.attributes["zot.cost_usd"],
    }  # fmt: skip
    tasks = by_task(collector)
    run = ["invoke_agent zot", f"chat {MODEL}", "execute_tool bash", f"chat {MODEL}"]
    assert tasks["good"].names() == ["zot.task good", run]
    assert attempts(tasks["good"]) == [(1, "ok")]
    call = collector.named("execute_tool bash")
    seen = (batch.zot.cwd / "seen").read_text().strip()
    assert seen in {f"00-{span.trace_id}-{span.span_id}-01" for span in call}
    dies = tasks["dies"]
    assert attempts(dies) == [(1, "crashed"), (2, "ok")]
    assert {"zot.status": "ok", "zot.task.attempts": 2}.items() <= dies.attributes.items()
    assert dies.names() == ["zot.task dies", run], "the open spans of the killed run are lost"
    requests = [each for tree in tasks.values() for each in tree.all() if each.kind == "client"]
    assert all(each.attributes["server.address"] == "127.0.0.1" for each in requests)


def test_ctrl_c_ends_the_spans_of_the_tasks(batch: BatchCommand, collector: OtlpReceiver) -> None:
    batch.tasks({"hangs": "hang", "waits": "hang"})
    with batch.start("--otel", "-j", "1") as running:
        wait_until(batch.started)
        wait_until(lambda: "no new tasks start" in running.errors() or running.signal(signal.SIGINT))
        running.signal(signal.SIGINT)
        found = running.finish()
    assert found.status == 130
    tree = by_task(collector)["hangs"]
    assert tree.attributes["error.type"] == "interrupted"
    assert attempts(tree) == [(1, "interrupted")]
    assert collector.one("zot.batch").error == ""
    assert not collector.named("zot.task waits"), "it has never begun"


def test_a_resumed_batch_has_spans_for_the_tasks_that_run_again(batch: BatchCommand, collector: OtlpReceiver) -> None:
    batch.tasks({"good": "hello", "fails": {"prompt": "hello", "check": "test -e now"}})
    assert batch.run("--otel").status == 10
    first = by_task(collector)
    assert first["fails"].attributes["error.type"] == "check_failed"
    collector.spans.clear()
    (batch.zot.cwd / "now").touch()
    assert batch.run("--otel", "--redo", "failed").status == 0
    assert list(by_task(collector)) == ["fails"]
    collector.spans.clear()
    assert batch.run("--otel").status == 0
    assert [span.name for span in collector.spans] == ["zot.batch"]


def test_a_batch_whose_collector_is_gone_says_so_in_one_line(batch: BatchCommand, zot: Zot) -> None:
    zot.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:9"
    batch.tasks({"good": "hello"})
    outcome = batch.run("--otel", "--json")
    assert outcome.status == 0
    assert Counter("otel" in line for line in outcome.stderr.splitlines())[True] == 1
    assert json.loads(outcome.stdout.splitlines()[-1])["type"] == "batch_end"


def test_a_wait_for_a_rate_limit_is_a_span_of_the_task(
    batch: BatchCommand, server: MessagesServer, collector: OtlpReceiver
) -> None:
    batch.tasks({"one": "hello"})
    replies = iter([http_error(429, retry_after_ms=200)])
    server.otherwise = lambda request: next(replies, None) or obey(request)
    outcome = batch.run("--otel")
    assert outcome.status == 0, outcome.stderr
    tree = by_task(collector)["one"]
    assert tree.names() == ["zot.task one", ["invoke_agent zot", f"chat {MODEL}"], "wait rate_limit"]
    assert tree.find("wait rate_limit").attributes == {"zot.wait.for": "rate_limit", "zot.attempt.number": 1}
    (wait,), (request,) = collector.named("wait rate_limit"), collector.named(f"chat {MODEL}")
    assert request.start_ns < wait.start_ns < wait.end_ns < request.end_ns


def test_a_message_batch_has_a_request_for_each_attempt(
    batch: BatchCommand, server: MessagesServer, collector: OtlpReceiver
) -> None:
    server.offer_batches()
    batch.zot.env[POLL_VARIABLE] = "0.05"
    batch.tasks({"one": "hello", "two": "hi"})
    outcome = batch.run("--otel", "--batch-api", "--max-steps=1", "--no-tools")
    assert outcome.status == 0, outcome.stderr
    found = by_task(collector)
    assert [found[name].names() for name in ("one", "two")] == [[f"zot.task {name}", f"chat {MODEL}"] for name in found]
    request = found["one"].find(f"chat {MODEL}").attributes
    assert (request["gen_ai.provider.name"], request["gen_ai.request.model"]) == ("anthropic", MODEL)
    assert request["gen_ai.usage.output_tokens"] > 0


def test_runs_on_nodes_send_their_spans_to_the_batch(
    tmp_path: Path, collector: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in collector.environment.items():
        monkeypatch.setenv(name, value)
    place = NodePlace(tmp_path)
    assert place.run(place.replayed(3), run_program=None, run={"otel": True}).exit_code == 0
    found = by_task(collector)
    assert sorted(found) == ["t0", "t1", "t2"]
    assert {json.dumps(tree.names()[1]) for tree in found.values()} == {
        json.dumps(["invoke_agent zot", "chat claude-sonnet-5-5"])
    }
