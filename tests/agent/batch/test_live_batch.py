"""A batch of runs that ask a server, by model workers that they share; all forked from a template."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.template.protocol import is_available
from tests.support.batch_place import BatchPlace, when
from tests.support.messages_server.replies import hold_first_byte, text_reply
from tests.support.messages_server.server import MessagesServer
from wire.batch.outcome import TaskStatus
from wire.batch.task import Task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent.batch.batch import Batch
    from wire.batch import records

pytestmark = pytest.mark.skipif(not is_available(), reason="this system has no templates")


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    with MessagesServer() as server:
        yield server


@pytest.fixture
def place(tmp_path: Path) -> BatchPlace:
    (tmp_path / "project").mkdir()
    return BatchPlace(tmp_path)


def run(place: BatchPlace, server: MessagesServer, count: int, **given: Any) -> records.BatchEnd:
    flags = {"base_url": server.base_url, "api_key": "k", "model": "claude-sonnet-4-5", "provider": "anthropic"}
    tasks = [Task(id=f"t{n}", prompt=f"task {n}", cwd=str(place.folder / "project")) for n in range(count)]
    return place.run(tasks, run=flags, run_program=None, **given)


@pytest.mark.slow
def test_a_killed_model_worker_fails_its_run_which_is_retried(place: BatchPlace, server: MessagesServer) -> None:
    server.add(hold_first_byte(text_reply("never")), text_reply("answer"))

    def kill_worker(batch: Batch) -> None:
        def kill() -> None:
            os.kill(batch._attempts.models.children()[0].pid, signal.SIGKILL)
            server.release()

        when(batch, lambda: len(server.requests) == 1, kill)

    end = run(place, server, 1, do=kill_worker)
    assert (end.exit_code, end.statuses) == (0, {"ok": 1})
    first, second = place.ends(final=False)["t0"]
    assert (first.status, second.status) == (TaskStatus.ERROR, TaskStatus.OK)
    assert "SIGKILL" in first.reason


def test_a_killed_template_is_replaced_and_its_runs_go_on(place: BatchPlace, server: MessagesServer) -> None:
    server.add(hold_first_byte(text_reply("one")), text_reply("two"), text_reply("three"))

    def kill_template(batch: Batch) -> None:
        def kill() -> None:
            template = batch._processes.template
            assert template is not None
            assert template.child is not None
            os.kill(template.child.pid, signal.SIGKILL)
            batch.loop.call_later(0.3, server.release)

        when(batch, lambda: len(server.requests) == 1, kill)

    end = run(place, server, 3, jobs=1, retries=0, do=kill_template)
    assert (end.exit_code, end.statuses) == (0, {"ok": 3})
    assert {task: [one.attempt for one in found] for task, found in place.ends().items()} == {
        "t0": [1], "t1": [1], "t2": [1],
    }  # fmt: skip


@pytest.mark.slow
def test_a_killed_run_is_retried_and_its_worker_is_not_used_again(place: BatchPlace, server: MessagesServer) -> None:
    server.add(hold_first_byte(text_reply("never")), text_reply("answer"))

    def kill_run(batch: Batch) -> None:
        def kill() -> None:
            (active,) = batch._attempts._active.values()
            assert active.run is not None
            assert active.run.child is not None
            os.kill(active.run.child.pid, signal.SIGKILL)
            server.release()

        when(batch, lambda: len(server.requests) == 1, kill)

    end = run(place, server, 1, do=kill_run)
    assert (end.exit_code, end.statuses) == (0, {"ok": 1})
    first, second = place.ends(final=False)["t0"]
    assert (first.status, first.exit_status, first.cost_usd) == (TaskStatus.CRASHED, -9, None)
    assert first.reserved_usd > 0
    assert second.text == "answer"
