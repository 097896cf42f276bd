"""Batches on two node programs: replayed tasks, with nodes that go and come."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from agent.request_checks import UsageError
from tests.support.batch_place import when
from tests.support.extension_folder import folder
from tests.support.git_repository import make_repository, unchanged
from tests.support.node_place import NodePlace
from tests.support.warm_start import ROOT
from wire.batch import records
from wire.batch.outcome import TaskStatus

if TYPE_CHECKING:
    from agent.batch.batch import Batch
    from agent.batch.request import NodeView

TELLER = ROOT / "tests/support/teller.py"


@pytest.fixture
def place(tmp_path: Path) -> NodePlace:
    return NodePlace(tmp_path)


def test_the_view_of_a_batch_has_its_nodes(place: NodePlace) -> None:
    seen: list[tuple[NodeView, ...]] = []

    def disturb(batch: Batch) -> None:
        when(batch, lambda: len(place.ends()) >= 2, lambda: seen.append(batch.view().nodes))
        when(batch, lambda: len(place.ends()) >= 4, lambda: place.carrier.kill_node("n1"))
        when(batch, lambda: len(place.ends()) >= 9, lambda: seen.append(batch.view().nodes))

    assert place.run(place.replayed(10), run_program=None, do=disturb).exit_code == 0
    assert [(node.name, node.trouble) for node in seen[0]] == [("n1", ""), ("n2", "")]
    assert any(node.runs for node in seen[0])
    assert all(node.runs <= node.jobs for node in seen[0])
    assert seen[1][0].trouble == "lost: the node program ended (signal SIGKILL)"


def test_replayed_tasks_on_two_nodes(place: NodePlace) -> None:
    end = place.run(place.replayed(6), run_program=None)
    assert (end.exit_code, end.statuses) == (0, {"ok": 6})
    ends = place.ends()
    assert {one.text for found in ends.values() for one in found} == {"well done"}
    assert {one.node for found in ends.values() for one in found} == {"n1", "n2"}
    assert all((place.rundir / "runs" / task / "1.events.jsonl").read_bytes().endswith(b"}\n") for task in ends)


def test_a_node_is_killed_and_one_is_added(place: NodePlace) -> None:
    def disturb(batch: Batch) -> None:
        def act() -> None:
            place.carrier.kill_node("n1")
            place.carrier.add_node()

        when(batch, lambda: len(place.ends()) >= 6, act)

    end = place.run(place.replayed(20), run_program=None, do=disturb)
    assert (end.exit_code, end.statuses) == (0, {"ok": 20})
    assert all(len(found) == 1 for found in place.ends().values())
    lost = [one for found in place.ends(final=False).values() for one in found if one.status is TaskStatus.INTERRUPTED]
    assert all(one.reason.startswith("node n1 was lost: the node program ended (signal SIGKILL)") for one in lost)


@pytest.mark.slow
def test_changes_come_into_the_folder_and_go_with_an_attempt_without_any(place: NodePlace) -> None:
    (task,) = place.replayed(1)
    task = replace(task, setup="echo new > new.txt")  # its request is another one then: the run fails, and has changes
    end = place.run([task], run_program=None, workspace="copy", nodes=1)
    assert end.tasks == 1
    (outcome,) = place.ends()["t0"]
    assert outcome.diff == "diffs/t0.diff"
    assert b"+new\n" in (place.rundir / outcome.diff).read_bytes()
    assert os.listdir(place.rundir / "diffs") == ["t0.diff"]
    assert not (place.rundir / "workspaces").exists()
    place.run([replace(task, setup="true")], run_program=None, workspace="copy", nodes=1, redo=("all",))
    assert place.ends()["t0"][0].diff == ""
    assert os.listdir(place.rundir / "diffs") == []


@pytest.mark.slow
def test_changes_that_cannot_be_kept_end_the_batch(place: NodePlace) -> None:
    (task,) = place.replayed(1)
    (elsewhere := place.folder / "elsewhere").mkdir()
    place.rundir.mkdir()
    (place.rundir / "diffs").symlink_to(elsewhere)
    task = replace(task, setup="echo new > new.txt")
    end = place.run([task], run_program=None, workspace="copy", nodes=1)
    assert (end.reason, end.exit_code, end.statuses) == ("failed", 1, {"not_run": 1})
    assert any("is a link" in line and "the changes of task 't0' cannot be kept" in line for line in place.said)
    assert os.listdir(elsewhere) == []


@pytest.mark.slow
def test_worktrees_are_made_on_the_nodes(place: NodePlace) -> None:
    (task,) = place.replayed(1)
    assert task.cwd is not None
    Path(task.cwd, "old.txt").write_text("old\n")
    make_repository(Path(task.cwd))
    with unchanged(Path(task.cwd)):
        place.run([replace(task, setup="echo new > new.txt")], run_program=None, workspace="worktree", nodes=1)
    (outcome,) = place.ends()["t0"]
    assert b"+new\n" in (place.rundir / outcome.diff).read_bytes()


def test_what_the_nodes_share_is_told_once(place: NodePlace) -> None:
    (starts := place.folder / "starts").touch()
    argv = [sys.executable, "-I", "-S", str(TELLER), "teller", str(starts)]
    teller = folder(place.folder, "teller", argv, sessions="shared")
    end = place.run(place.replayed(4), run_program=None, run={"extensions": (str(teller),)})
    assert end.tasks == 4
    assert [told.extensions for told in place.told if isinstance(told, records.BatchShared)] == [("teller",)]
    assert starts.read_text().count("\n") == 2, "one process on each node"


def test_extensions_that_the_nodes_do_not_have_are_named(place: NodePlace) -> None:
    argv = [sys.executable, "-c", ""]
    mine = folder(place.folder, "mine", argv)

    def change(_batch: Batch) -> None:
        start = place.carrier.start

        def start_later() -> None:
            (mine / "more.txt").write_text("changed after the driver has looked")
            start()

        place.carrier.start = start_later  # type: ignore[method-assign]

    with pytest.raises(UsageError, match="extension mine has another content here: install the same version"):
        place.run(place.replayed(1), run_program=None, run={"extensions": (str(mine),)}, do=change)


def test_a_node_without_a_key_ends_the_batch_before_anything_starts(place: NodePlace) -> None:
    """Otherwise its tasks would fail at once, and it would take one after another."""
    tasks = [replace(task, replay=None) for task in place.replayed(2)]
    without = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": "", "ANTHROPIC_BASE_URL": ""}
    with pytest.raises(UsageError, match=r"no credential for https://api\.anthropic\.com on .*set ANTHROPIC_API_KEY"):
        place.run(tasks, run_program=None, carrier={"env": without})
    assert place.ends() == {}
    end = place.run(place.replayed(2), run_program=None, carrier={"env": without})
    assert end.statuses == {"ok": 2}


def test_a_batch_that_is_stopped_before_its_cluster_is_reached_blames_no_node(place: NodePlace) -> None:
    """F746"""
    batch = place.batch(place.replayed(1))
    batch._processes._carrier.start = lambda: batch.loop.call_later(0, lambda: batch._signals.take(signal.SIGINT))
    end = batch.run()
    assert (end.reason, end.statuses) == ("drained", {"not_run": 1})


def test_a_working_folder_that_no_task_uses_need_not_be_there(place: NodePlace) -> None:
    end = place.run(place.replayed(2), run_program=None, run={"cwd": "/nowhere"})
    assert end.statuses == {"ok": 2}


def test_a_local_batch_imports_nothing_of_the_cluster() -> None:
    code = "import sys, agent.batch.batch; print([name for name in sys.modules if 'cluster' in name or name == 'ray'])"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
