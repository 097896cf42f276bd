"""Changes of a running batch, in this process, with real processes that stand in for agents."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent.batch.control.client import BatchControlError, ask
from agent.batch.control.server import BatchControlServer
from agent.batch.journal.folder import RunFolder
from agent.batch.request import RunState
from supervisor.home.runtime_dir import BATCH_CONTROL_SUFFIX, runtime_dir, sockets_in
from supervisor.loop.loop import Loop
from tests.support.batch_place import BatchPlace, tasks, when
from tests.support.patience import PATIENCE_S
from wire.batch import control, records
from wire.batch.outcome import TaskStatus
from wire.control import encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.batch.batch import Batch


@pytest.fixture
def place(tmp_path: Path) -> BatchPlace:
    return BatchPlace(tmp_path)


def change(batch: Batch, request: control.Request, answers: list[control.Reply] | None = None) -> None:
    """Has the batch carry out a request, as its socket does."""
    assert batch._control._server is not None
    batch._control._server._handler.answer(request, (answers if answers is not None else []).append)


def running(batch: Batch, count: int) -> Callable[[], bool]:
    return lambda: sum(run.state is RunState.RUNNING for run in batch.view().runs) >= count


def test_the_number_of_runs_follows(place: BatchPlace) -> None:
    most = [0]

    def do(batch: Batch) -> None:
        def watch() -> None:
            most[0] = max(most[0], len(batch.view().runs))
            batch.loop.call_later(0.001, watch)

        def end() -> None:
            change(batch, control.SetJobs("1", 1))
            batch.controls.is_stopping = True

        batch.loop.call_later(0.0, watch)
        when(batch, running(batch, 1), lambda: change(batch, control.SetJobs("1", 3)))
        when(batch, running(batch, 3), end)

    place.run(tasks(*["hang"] * 5), jobs=1, do=do)
    assert most == [3]


def test_a_higher_budget_lets_the_rest_start_and_a_lower_one_does_not(place: BatchPlace) -> None:
    def raise_budget(batch: Batch) -> None:
        ready = lambda: any("--max-cost-usd" in line for line in place.said) and len(batch.view().runs) == 1  # noqa: E731

        def more() -> None:
            change(batch, control.SetBudget("1", 5.0))
            when(batch, running(batch, 2), lambda: setattr(batch.controls, "is_stopping", True))

        when(batch, ready, more)

    end = place.run(tasks("usage 5", "hang", "hang", "hang"), jobs=2, max_cost_usd=0.005, do=raise_budget)
    assert end.reason == "stopped"
    assert {record.task for record in place.told if isinstance(record, records.TaskStart)} >= {"a", "b", "c"}

    place = BatchPlace(place.folder / "second")

    def lower(batch: Batch) -> None:
        when(batch, running(batch, 1), lambda: change(batch, control.SetBudget("1", 0.001)))

    end = place.run(tasks("usage 5 wait", "ok"), jobs=1, task_timeout=1.0, do=lower)
    assert (end.reason, end.limit, end.statuses) == ("budget", "--max-cost-usd", {"timeout": 1, "not_run": 1})


def test_a_failed_task_that_is_requeued_counts_no_longer_as_a_failure(place: BatchPlace) -> None:
    once = place.folder / "once"

    def again(batch: Batch) -> None:
        when(batch, lambda: bool(place.ends().get("a")), lambda: change(batch, control.Requeue("1", "a")))
        when(batch, lambda: len(place.ends().get("a", ())) == 2, lambda: setattr(batch.controls, "is_stopping", True))

    end = place.run(tasks(f"once {once} fail blocked", "hang"), max_failures=2, do=again)
    assert [outcome.status for outcome in place.ends()["a"]] == [TaskStatus.BLOCKED, TaskStatus.OK]
    assert end.statuses == {"ok": 1, "not_run": 1}
    assert place.state().history("a").attempt == 2


def test_a_task_that_is_requeued_runs_at_the_next_start_if_this_one_ends_before(place: BatchPlace) -> None:
    def again(batch: Batch) -> None:
        def act() -> None:
            change(batch, control.Pause("1"))
            change(batch, control.Requeue("2", "a"))
            change(batch, control.Stop("3"))

        when(batch, lambda: bool(place.ends().get("a")), act)

    place.run(tasks("ok", "hang"), jobs=2, do=again)
    assert place.state().history("a").attempt == 1
    place.run(tasks("ok", "ok"))
    assert place.state().history("a").attempt == 2
    place.run(tasks("ok", "ok"))
    assert place.state().history("a").attempts == 2


def test_two_requests_for_one_task_in_one_pass_run_it_once(place: BatchPlace) -> None:
    answers: list[control.Reply] = []

    def twice(batch: Batch) -> None:
        def act() -> None:
            for _ in range(2):
                change(batch, control.Requeue("1", "a"), answers)

        when(batch, lambda: bool(place.ends().get("a")) and running(batch, 1)(), act)
        when(batch, lambda: len(place.ends().get("a", ())) == 2, lambda: setattr(batch.controls, "is_stopping", True))

    place.run(tasks("ok", "hang"), do=twice)
    assert sorted(answer.is_changed for answer in answers) == [False, True]  # type: ignore[union-attr]
    assert place.state().history("a").attempts == 2


def test_runs_that_are_called_off_are_no_failures_and_no_interruption_of_the_batch(place: BatchPlace) -> None:
    once = place.folder / "once"

    def do(batch: Batch) -> None:
        def off() -> None:
            change(batch, control.Pause("1", True))
            when(batch, lambda: not batch.view().runs, lambda: change(batch, control.Resume("1")))

        when(batch, lambda: once.exists() and running(batch, 1)(), off)

    end = place.run(tasks(f"once {once} usage 7 hang", "ok"), max_failures=1, do=do)
    assert (end.reason, end.exit_code, end.statuses) == ("done", 0, {"ok": 2})
    first, second = place.ends(final=False)["a"]
    assert (first.status, second.status) == (TaskStatus.INTERRUPTED, TaskStatus.OK)
    assert "zot batch ctl" in first.reason
    assert end.usage.input == 7, "the attempt that was called off has been paid for, once"


def test_the_key_and_the_command_move_one_switch(place: BatchPlace) -> None:
    def do(batch: Batch) -> None:
        def press() -> None:
            batch.controls.is_paused = True
            batch.loop.call_later(0, lambda: change(batch, control.Resume("1")))
            when(batch, lambda: not batch.controls.is_paused, lambda: setattr(batch.controls, "is_stopping", True))

        when(batch, running(batch, 1), press)

    place.run(tasks("hang"), do=do)
    told = [(record.what, record.by) for record in place.told if isinstance(record, records.BatchChanged)]
    assert told == [("pause", "key"), ("resume", "ctl")]


PROGRAM = Path(__file__).resolve().parents[3] / "support" / "batch_program.py"
ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.slow
def test_a_batch_that_is_killed_after_a_change_goes_on_and_counts_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = BatchPlace(tmp_path)
    home = {"ZOT_HOME": str(tmp_path / "home")}
    with subprocess.Popen(
        [sys.executable, str(PROGRAM), str(tmp_path), "usage 5", "usage 7 hang", "hang"],
        stdout=subprocess.PIPE, env={**os.environ, **home, "PYTHONPATH": str(ROOT)}, start_new_session=True,
    ) as batch:  # fmt: skip
        assert batch.stdout is not None
        while batch.stdout.readline().split() != [b"TaskStart", b"c"]:
            pass
        ((pid, path),) = sockets_in(runtime_dir(tmp_path / "home"), BATCH_CONTROL_SUFFIX)
        assert pid == batch.pid
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE_S)
            client.connect(str(path))
            asked: list[control.Request] = [control.Pause("1"), control.Requeue("2", "a"), control.SetJobs("3", 9)]
            client.sendall(b"".join([encode(request) for request in asked]))
            replies = client.makefile("rb")
            answers = [control.decode_reply(replies.readline()) for _ in asked]
        elsewhere = ask(RunFolder(place.rundir), control.GetState("4"))  # with another runtime folder
        assert isinstance(elsewhere, control.BatchState)
        assert (elsewhere.pid, elsewhere.jobs, elsewhere.is_paused) == (batch.pid, 9, True)
        with monkeypatch.context() as another:
            another.setattr(os, "geteuid", lambda: 4711)
            with pytest.raises(BatchControlError, match=r"belongs to user .* you are user 4711"):
                ask(RunFolder(place.rundir), control.Stop("5"))
        batch.send_signal(signal.SIGKILL)
    assert all(isinstance(answer, control.Changed) and answer.is_changed for answer in answers)
    state = place.state()
    assert list(state.changes) == ["pause", "requeue", "jobs"]
    assert state.history("a").status is TaskStatus.OK, "the result stands until a new attempt has started"
    with pytest.raises(BatchControlError, match="no batch runs there"):
        ask(RunFolder(place.rundir), control.GetState("1"))
    end = place.run(tasks("ok", "ok", "ok"))
    assert (end.exit_code, end.statuses) == (0, {"ok": 3})
    assert end.usage.input == 12
    assert not place.state().changes, "a new start has its own flags"


def test_the_socket_is_for_its_own_user_only(tmp_path: Path) -> None:
    loop = Loop()
    server = BatchControlServer(loop, tmp_path / "run", None, peer_uid=lambda _: os.geteuid() + 1)  # type: ignore[arg-type]
    assert server.start() is None
    ((_, path),) = sockets_in(tmp_path / "run", BATCH_CONTROL_SUFFIX)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.setblocking(False)
        got = bytearray()

        def read() -> bool:
            try:
                got.extend(client.recv(4096))
            except BlockingIOError:
                pass
            return got.endswith(b"\n")

        assert loop.run_until(read, loop.clock() + PATIENCE_S)
        assert "serves no other user" in json.loads(got)["message"]
    server.close()
    assert not path.exists()
    loop.close()
