"""Batches on node programs with stand-ins for agents: nodes that go, come and refuse, limits, and changes by ctl."""

from __future__ import annotations

import os
import resource
import signal
from typing import TYPE_CHECKING, Any

import pytest

from agent.batch.cluster import node_attempts, node_processes, node_set
from agent.batch.pool import run_process
from agent.batch.pool.run_facts import EndReason
from agent.batch.request import RunState
from agent.request_checks import UsageError
from supervisor.process.stop_policy import Patience
from tests.support.batch_place import tasks, when
from tests.support.node_place import NodePlace, begun, running, stop
from wire.batch import records
from wire.batch.outcome import TaskStatus

if TYPE_CHECKING:
    from pathlib import Path

    from agent.batch.batch import Batch


@pytest.fixture
def place(tmp_path: Path) -> NodePlace:
    return NodePlace(tmp_path)


# --- runs -----------------------------------------------------------------------------------------------------


def test_all_ends_of_runs_come_as_they_are(place: NodePlace) -> None:
    prompts = ("ok", "fail blocked", "die SIGKILL", "garbage", "usage 7", "leave ok", "exit 3")
    end = place.run(tasks(*prompts), retries=0)
    found = {task: outcomes[0] for task, outcomes in place.ends().items()}
    assert {task: one.status.value for task, one in found.items()} == {
        "a": "ok", "b": "blocked", "c": "crashed", "d": "crashed", "e": "ok", "f": "ok", "g": "crashed",
    }  # fmt: skip
    assert found["c"].exit_status == -signal.SIGKILL
    assert "signal SIGKILL" in found["c"].reason
    assert "about to die" in found["c"].reason, "the last lines of standard error"
    assert "cannot be read" in found["d"].reason
    assert (found["e"].usage.input, found["e"].cost_usd) == (7, 0.01)
    assert (end.exit_code, end.cost_usd) == (10, 0.01)
    assert all(one.cpu_s > 0 for one in found.values())


def test_runs_are_spread_as_the_nodes_offer(place: NodePlace) -> None:
    most: list[Any] = []

    def watch(batch: Batch) -> None:
        def look() -> None:
            if len(batch.view().runs) >= 4:
                most.extend((batch.view().jobs, sorted(run.node for run in batch.view().runs)))
                stop(batch)
            else:
                batch.loop.call_later(0.01, look)

        batch.loop.call_later(0.0, look)

    place.run(tasks(*["hang"] * 6), do=watch)
    assert most == [4, ["n1", "n1", "n2", "n2"]]
    start = next(told for told in place.told if isinstance(told, records.BatchStart))
    assert start.jobs == 4


def test_more_jobs_than_the_nodes_offer_are_shared_out(place: NodePlace) -> None:
    found: list[list[str]] = []

    def watch(batch: Batch) -> None:
        def look() -> None:
            found.append([run.node for run in batch.view().runs])
            stop(batch)

        when(batch, running(batch, 6), look)

    place.run(tasks(*["hang"] * 8), jobs=6, do=watch)
    assert sorted(found[0]) == ["n1"] * 3 + ["n2"] * 3


def test_the_runs_of_a_lost_node_do_not_crowd_the_rest(place: NodePlace) -> None:
    most: list[int] = []

    def watch(batch: Batch) -> None:
        def look() -> None:
            most.append(len([run for run in batch.view().runs if run.node == "n1"]))
            batch.loop.call_later(0.01, look)

        when(batch, running(batch, 6), lambda: place.carrier.kill_node("n2"))
        when(batch, lambda: len(place.ends(final=False)) == 3, look)
        when(batch, lambda: len(most) > 20, lambda: stop(batch))

    place.run(tasks(*["hang"] * 8), jobs=6, do=watch)
    assert max(most) == 3


def test_a_reader_that_is_behind_holds_the_runs(place: NodePlace) -> None:
    end = place.run(tasks("flood 100", "flood 100"))
    assert end.statuses == {"ok": 2}
    assert sum(len(line) for _, _, line in place.events) > 200 * 65536


def test_the_memory_of_runs_is_told_and_limited(place: NodePlace) -> None:
    end = place.run(tasks("eat 200"), run_memory=100 << 20, retries=0)
    assert end.statuses == {"out_of_memory": 1}
    assert place.ends()["a"][0].memory_peak_bytes > 100 << 20


def test_a_run_whose_events_are_cut_is_not_ok(place: NodePlace) -> None:
    """It had written them all when the first one found no room here: it ends well, and its result is missing."""
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, limits[1]))
    try:
        end = place.run(tasks("flood 20"), retries=0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert (end.reason, end.statuses) == ("failed", {"not_run": 1})
    assert "File too large" in place.ends(final=False)["a"][0].reason


# --- lost nodes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["kill_node", "cut_node"])
def test_the_runs_of_a_lost_node_go_on_elsewhere(place: NodePlace, how: str) -> None:
    def disturb(batch: Batch) -> None:
        def lose() -> None:
            getattr(place.carrier, how)("n2")
            place.carrier.add_node()

        when(batch, lambda: sum(run.usage.input == 5 for run in batch.view().runs) == 4, lose)
        when(batch, lambda: len(place.ends()) == 2, lambda: stop(batch))

    end = place.run(tasks(*[f"once {place.folder / name} usage 5 hang" for name in "abcd"]), do=disturb)
    lost = [one for found in place.ends(final=False).values() for one in found if "was lost" in one.reason]
    assert [(one.status, one.node, one.usage.input) for one in lost] == [(TaskStatus.INTERRUPTED, "n2", 5)] * 2
    assert end.statuses == {"ok": 2, "not_run": 2}
    assert (end.usage.input, end.cost_usd) == (20, 0.04)
    assert {one.attempt for found in place.ends().values() for one in found} == {2}


def test_a_node_without_room_gets_no_more_tasks(place: NodePlace) -> None:
    end = place.run(tasks(f"once {place.folder / 'a'} full", *["ok"] * 5), each=1)
    assert end.statuses == {"ok": 6}
    first, second = place.ends(final=False)["a"]
    assert (first.status, first.node != second.node) == (TaskStatus.INTERRUPTED, True)
    assert [one.node for found in place.ends().values() for one in found].count(str(first.node)) <= 1
    assert f"zot batch: node {first.node} gets no more tasks: no room for a copy" in place.said


def test_without_room_on_any_node_no_task_starts(place: NodePlace) -> None:
    end = place.run(tasks(*["full"] * 4), each=1)
    assert (end.reason, end.statuses) == ("drained", {"not_run": 4})
    assert len(place.ends(final=False)) == 2


def test_the_driver_does_not_look_for_processes_of_runs(place: NodePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their nodes do. For each run of a lost node it would read its own process table five times."""
    looks: list[object] = []
    monkeypatch.setattr(run_process, "LeftoverKiller", lambda *given, **_named: looks.append(given))

    def disturb(batch: Batch) -> None:
        when(batch, begun(place, "a"), lambda: place.carrier.kill_node(batch._attempts._active["a"].node))

    end = place.run(tasks(f"once {place.folder / 'a'} hang", "die SIGKILL"), do=disturb, retries=0)
    assert (end.statuses, place.ends()["a"][0].attempt) == ({"ok": 1, "crashed": 1}, 2)
    assert not looks


def test_a_result_that_was_told_before_the_loss_counts(place: NodePlace) -> None:
    """The run has said how it ended, and its process has not ended yet."""

    def disturb(batch: Batch) -> None:
        def look() -> None:
            run = next(iter(batch._attempts.runs), None)
            if run is not None and run.said is not None:
                place.carrier.kill_node("n1")
            elif run is not None and run.child is not None and not run.child.is_running:
                return
            else:
                batch.loop.call_later(0.0, look)

        batch.loop.call_later(0.0, look)

    end = place.run(tasks("ok"), nodes=2, do=disturb)
    assert end.statuses == {"ok": 1}
    assert place.ends()["a"][0].attempt == 1


def test_a_task_on_three_lost_nodes_counts_as_crashed(place: NodePlace) -> None:
    def disturb(batch: Batch) -> None:
        def kill() -> None:
            for run in batch._attempts.views():
                if run.state is RunState.RUNNING and run.node not in killed:
                    killed.add(run.node)
                    place.carrier.kill_node(run.node)
            batch.loop.call_later(0.02, kill)

        killed: set[str] = set()
        batch.loop.call_later(0.0, kill)

    end = place.run(tasks("hang"), nodes=4, retries=0, do=disturb)
    assert end.statuses == {"crashed": 1}
    (outcome,) = place.ends()["a"]
    assert outcome.attempt == 3
    assert outcome.reason.endswith("; the task was on 3 nodes that were lost")


def test_without_a_node_the_batch_waits_for_one(place: NodePlace) -> None:
    def disturb(batch: Batch) -> None:
        when(batch, begun(place, "a"), lambda: place.carrier.kill_node("n1"))
        when(batch, lambda: any("no node is left" in line for line in place.said), place.carrier.add_node)

    end = place.run(tasks(f"once {place.folder / 'a'} hang"), nodes=1, do=disturb)
    assert end.statuses == {"ok": 1}
    assert any(line.startswith("zot batch: node n2") and "has joined" in line for line in place.said), place.said


def test_without_a_node_the_batch_fails_in_the_end(place: NodePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_attempts, "NO_NODE_S", 0.3)

    def disturb(batch: Batch) -> None:
        when(batch, running(batch, 1), lambda: place.carrier.kill_node("n1"))

    end = place.run(tasks("hang", "hang", "hang"), nodes=1, do=disturb)
    assert (end.reason, end.exit_code, end.statuses) == ("failed", 1, {"not_run": 3})
    assert any("none has joined" in line and "start the batch again to resume" in line for line in place.said)
    assert place.run(tasks("ok", "ok", "ok"), nodes=1).statuses == {"ok": 3}


def test_a_carrier_that_fails_ends_the_batch(place: NodePlace) -> None:
    def disturb(batch: Batch) -> None:
        when(batch, running(batch, 2), lambda: place.carrier._listener.carrier_failed("the cluster has gone"))

    end = place.run(tasks("hang", "hang", "ok"), do=disturb)
    assert (end.reason, end.exit_code) == ("failed", 1)
    assert any(line.startswith("zot batch: the cluster has gone; all runs are stopped: start") for line in place.said)


def test_a_node_with_a_fault_counts_as_gone(place: NodePlace) -> None:
    def disturb(batch: Batch) -> None:
        when(batch, running(batch, 2), lambda: place.carrier._listener.node_said("n1", b"\xff\xff\xff\xff"))
        when(batch, lambda: bool(place.ends(final=False)), lambda: stop(batch))

    place.run(tasks("hang", "hang"), each=1, do=disturb)
    reasons = {one.node: one.reason for found in place.ends(final=False).values() for one in found}
    assert reasons["n1"] == "node n1 was lost: it has sent a frame of 4294967295 bytes; the limit is 536870912"


def test_a_node_that_does_not_kill_counts_as_gone(place: NodePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_processes, "KILL_S", 0.3)
    monkeypatch.setattr(node_processes, "PATIENCE", Patience(ask=0.3, term=0.1))

    def disturb(batch: Batch) -> None:
        def stick() -> None:
            os.kill(place.carrier.nodes["n1"].child.pid, signal.SIGSTOP)
            for run in batch._attempts.runs:
                run.kill(EndReason(TaskStatus.TIMEOUT, "its time is over"))

        when(batch, running(batch, 1), stick)

    end = place.run(tasks("hang"), nodes=1, retries=0, do=disturb)
    assert end.statuses == {"timeout": 1}
    assert any("has not killed a run within" in line for line in place.said)


# --- the beginning --------------------------------------------------------------------------------------------


def test_nodes_that_cannot_run_the_tasks_are_named_before_anything_starts(place: NodePlace) -> None:
    with pytest.raises(UsageError) as caught:
        place.run(tasks("ok"), version="0.0.1")
    lines = str(caught.value).splitlines()
    assert lines[0] == "2 of 2 nodes cannot run this batch; nothing was started:"
    assert [line.split()[:2] for line in lines[1:]] == [["node", "n1"], ["node", "n2"]]
    assert not any(isinstance(told, records.TaskStart) for told in place.told)
    assert place.left() == []


def test_a_cluster_without_a_node(place: NodePlace) -> None:
    with pytest.raises(UsageError, match="the cluster has no node"):
        place.run(tasks("ok"), nodes=0)


def test_a_node_that_says_nothing_is_refused(place: NodePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_set, "SET_UP_S", 0.5)
    with pytest.raises(UsageError, match="it has not said within"):
        place.run(tasks("ok"), carrier={"env": {"ZOT_TEST_MUTE": "1"}})


def test_a_signal_ends_the_wait_for_nodes(place: NodePlace) -> None:
    def interrupt(batch: Batch) -> None:
        batch.loop.call_later(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))

    end = place.run(tasks("ok"), carrier={"env": {"ZOT_TEST_MUTE": "1"}}, do=interrupt)
    assert (end.reason, end.exit_code, end.statuses) == ("drained", 130, {"not_run": 1})


def test_nothing_to_do_starts_no_node(place: NodePlace) -> None:
    place.run(tasks("ok"))
    place.run(tasks("ok"))
    assert place.carrier.nodes == {}


def test_a_node_that_comes_later_and_cannot_is_told_once(place: NodePlace) -> None:
    def add(batch: Batch) -> None:
        when(batch, running(batch, 1), lambda: place.carrier._listener.node_cannot("n9", "10.0.0.9", "another Python"))
        when(batch, lambda: any("n9" in line for line in place.said), lambda: stop(batch))

    place.run(tasks("hang"), do=add)
    assert [line for line in place.said if "n9" in line] == [
        "zot batch: node n9 (10.0.0.9) is not used: another Python"
    ]
