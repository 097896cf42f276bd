"""Batches whose tasks go through the Message Batches API of the scripted server, asked by the real SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agent.batch.message_batches.lifecycle import POLL_VARIABLE
from tests.support.batch_place import BatchPlace
from tests.support.messages_server.message_batches import MessageBatches, errored, prompt_of, succeeded
from tests.support.messages_server.server import MessagesServer
from wire.batch.outcome import TaskStatus
from wire.batch.task import Task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from wire.batch import records

MODEL = "claude-sonnet-4-5"  # $3 and $15
IN_USD, OUT_USD = 10 * 3 / 1e6, 5 * 15 / 1e6


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesServer]:
    monkeypatch.setenv(POLL_VARIABLE, "0.05")
    with MessagesServer() as server:
        server.offer_batches()
        yield server


@pytest.fixture
def api(server: MessagesServer) -> MessageBatches:
    assert server.batches is not None
    return server.batches


@pytest.fixture
def place(tmp_path: Path) -> BatchPlace:
    (tmp_path / "project").mkdir()
    return BatchPlace(tmp_path)


def run(place: BatchPlace, server: MessagesServer, tasks: list[Task], **given: Any) -> records.BatchEnd:
    flags = {
        "base_url": server.base_url, "api_key": "k", "provider": "anthropic", "model": MODEL, "max_steps": 1,
        "tools": frozenset(), "cwd": str(place.folder / "project"), **given.pop("run", {}),
    }  # fmt: skip
    return place.run(tasks, **{"run": flags, "batch_api": True, "run_program": None, "has_template": False, **given})


def prompts(count: int) -> list[Task]:
    return [Task(id=f"t{number}", prompt=f"say {number}") for number in range(count)]


def test_tasks_are_one_message_batch_at_half_the_price(
    place: BatchPlace, server: MessagesServer, api: MessageBatches
) -> None:
    end = run(place, server, prompts(3))
    assert (end.exit_code, end.statuses) == (0, {"ok": 3}), place.said
    assert [len(batch.requests) for batch in api.stored] == [3]
    (outcome,) = place.ends()["t1"]
    assert outcome.text == "answer to say 1"
    assert outcome.cost_usd == pytest.approx((IN_USD + OUT_USD) / 2, abs=1e-6)
    assert (outcome.provider, outcome.model, outcome.steps, outcome.requests) == ("anthropic", MODEL, 1, 1)
    assert end.cost_usd == pytest.approx(3 * (IN_USD + OUT_USD) / 2, abs=1e-5)
    assert not (place.rundir / "batches").exists() or not list((place.rundir / "batches").iterdir())
    assert (place.rundir / "runs" / "t1" / "1.events.jsonl").read_bytes() == b"".join(
        line for task, _, line in place.events if task == "t1"
    )
