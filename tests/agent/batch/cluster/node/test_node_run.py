"""A run at a node: its workspace and its changes, the uploaded folder, the shared extensions."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent.batch.cluster.extension_facts import extension_facts
from agent.batch.workspace.base import find_bases
from tests.support.extension_folder import extension, folder
from tests.support.git_repository import git, make_repository, unchanged
from tests.support.marked_processes import command_line
from tests.support.replay_script import Script
from tests.support.zot_process import wait_until
from wire.batch import host_lines, node_frames
from wire.batch.link import RunEnded
from wire.batch.node_frames import Exited, File, Kill, NotStarted, Told
from wire.batch.outcome import TaskStatus
from wire.batch.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.node_driver import NodeDriver

TELLER = Path(__file__).parents[4] / "support" / "teller.py"


def replayed(driver: NodeDriver, **fields: Any) -> Task:
    """A task whose cassette knows no folder: that of a workspace is new each time."""
    path = driver.home.parent / "cassette.jsonl"
    Script(driver.cwd).answer("done").write(path)
    return Task(**{"id": "a", "prompt": "go", "replay": str(path), **fields})


def files(driver: NodeDriver, run: str) -> dict[str, bytes]:
    """By name, as they have come in pieces."""
    made: dict[str, bytes] = {}
    for frame in driver.of(File, run):
        assert len(frame.data) <= node_frames.PIECE
        assert frame.is_first == (frame.name not in made)
        made[frame.name] = made.get(frame.name, b"") + frame.data
    return made


def standin(tmp_path: Path) -> Path:
    (found,) = (tmp_path / "tmp").glob("zot-node-*")
    return found


def test_the_changes_in_a_workspace_come_before_the_end_and_it_is_removed(driver: NodeDriver, tmp_path: Path) -> None:
    (driver.cwd / "old.txt").write_text("old\n")
    driver.ready()
    big = "x" * (3 * 2**20)
    setup = f"echo new > new.txt; head -c {len(big)} /dev/zero | tr '\\0' x > big.txt; rm old.txt"
    # A cassette fits one folder only: the run fails after its setup, and its changes count all the same.
    run = driver.start(replayed(driver, setup=setup), workspace="/rundir/workspaces/a")
    ended = driver.told(RunEnded)
    assert ended.diff == "diffs/a.diff"
    (name,) = found = files(driver, run)
    assert name == ended.diff
    assert b"+new\n" in found[name]
    assert b"-old\n" in found[name]
    assert big.encode() in found[name]
    kinds = [type(frame) for frame in driver.frames if getattr(frame, "run", "") == run]
    assert kinds[-1 - kinds[::-1].index(File) + 1] is Told
    assert driver.of(File, run)[-1].is_last
    assert [frame.is_last for frame in driver.of(File, run)[:-1]] == [False] * (len(driver.of(File, run)) - 1)
    driver.take(Exited)
    assert (driver.cwd / "old.txt").read_text() == "old\n"
    driver.take(node_frames.Memory)
    wait_until(lambda: driver.loop.run_until(lambda: True) and not list(standin(tmp_path).glob("removed/*")))
    assert os.listdir(standin(tmp_path) / "workspaces") == [".snapshots"]
    assert os.listdir(standin(tmp_path) / "diffs") == []
    driver.end()


def test_a_run_without_changes_sends_no_file_and_one_that_is_killed_leaves_no_workspace(
    driver: NodeDriver, tmp_path: Path
) -> None:
    (driver.cwd / "file").write_text("x")
    driver.ready()
    run = driver.start(replayed(driver), workspace="/rundir/workspaces/a")
    assert driver.told(RunEnded).diff == ""
    driver.take(Exited)
    assert files(driver, run) == {}
    run = driver.start(Task(id="a", prompt="go", setup="sleep 1000"), workspace="/rundir/workspaces/a")
    driver.wait(lambda: any("sleep 1000" in command_line(pid) for pid in driver.left()))
    driver.send(Kill(run=run))
    driver.take(Exited)
    # The next attempt may begin at once, in a workspace of the same name.
    run = driver.start(replayed(driver, setup="test -f file"), workspace="/rundir/workspaces/a")
    assert driver.told(RunEnded).setup.exit_status == 0
    driver.take(Exited)
    driver.end()


def test_a_link_in_place_of_the_changes_leads_to_no_other_file(driver: NodeDriver, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    driver.ready()
    score = 'ln -sf "$SECRET" ../../diffs/a.diff; echo 1'
    task = replayed(driver, setup="echo new > new.txt", score=score, env={"SECRET": str(secret)})
    run = driver.start(task, workspace="/rundir/workspaces/a")
    ended = driver.told(RunEnded)
    if ended.score is None:
        pytest.fail("the score command has not run")
    assert ended.diff == ""
    assert files(driver, run) == {}
    driver.take(Exited)
    said = b"".join(frame.data for frame in driver.of(node_frames.Errors, run)).decode()
    assert "the changes of the run cannot be sent: diffs/a.diff: " in said
    driver.end()


def test_worktrees_are_made_and_removed_with_their_records(driver: NodeDriver, tmp_path: Path) -> None:
    (driver.cwd / "old.txt").write_text("old\n")
    make_repository(driver.cwd)
    (base,) = find_bases([str(driver.cwd)], []).values()
    with unchanged(driver.cwd):
        driver.ready(repositories=((base.repository, base.commit),))
        run = driver.start(replayed(driver, setup="echo new > new.txt"), workspace="/rundir/workspaces/a", base=base)
        assert driver.told(RunEnded).diff == "diffs/a.diff"
        driver.take(Exited)
        assert b"+new\n" in files(driver, run)["diffs/a.diff"]
        run = driver.start(Task(id="b", prompt="go", setup="sleep 1000"), workspace="/rundir/workspaces/b", base=base)
        driver.wait(lambda: any("sleep 1000" in command_line(pid) for pid in driver.left()))
        driver.send(Kill(run=run))
        driver.take(Exited)
        driver.end()
    assert git(driver.cwd, "worktree", "list").count("\n") == 1


def test_tasks_of_an_uploaded_folder_run_in_the_copy(make_driver: Callable[..., NodeDriver], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    (copy / "sub").mkdir(parents=True)
    (copy / "sub" / "data.txt").write_text("in the copy")
    Script(copy / "sub", "go").answer("done").write(copy / "cassette.jsonl")
    echo = extension(copy, "echo")
    driver = make_driver(runs_in=copy)
    facts = extension_facts(driver.flags(extensions=(str(echo),)), driver.home)
    flags = {"cwd": "/driver/up", "extensions": ("/driver/up/ext-echo",)}
    driver.ready(
        upload="/driver/up",
        folders=("/driver/up/sub",),
        files=("/driver/up/cassette.jsonl",),
        extensions=facts,
        run=flags,
    )
    task = Task(
        id="a", prompt="go", cwd="/driver/up/sub", replay="/driver/up/cassette.jsonl", setup="test -f data.txt; pwd",
        ext=(),
    )  # fmt: skip
    driver.start(task, run=flags)
    ended = driver.told(RunEnded)
    assert (ended.status, ended.reason) == (TaskStatus.OK, "")
    assert ended.setup.exit_status == 0
    assert ended.setup.output.strip() == str(copy / "sub")
    driver.take(Exited)
    driver.end()


def test_runs_share_the_extensions_of_the_node_and_wait_for_its_host(driver: NodeDriver, tmp_path: Path) -> None:
    (starts := tmp_path / "starts").touch()
    argv = [sys.executable, "-I", "-S", str(TELLER), "teller", str(starts)]
    flags = {"extensions": (str(folder(tmp_path, "teller", argv, sessions="shared")),)}
    driver.set_up(run=flags, extensions=extension_facts(driver.flags(**flags), driver.home))
    early = driver.start(replayed(driver), run=flags)  # the driver must not, and the run waits
    never = driver.start(replayed(driver), run=flags)
    driver.send(Kill(run=never))
    failed = driver.take(NotStarted)
    assert (failed.run, failed.may_pass) == (never, True)
    ready = driver.take(node_frames.Ready)
    assert ready.serving is not None
    serving = host_lines.decode_from_host(ready.serving)
    assert isinstance(serving, host_lines.Serving)
    assert serving.shared == ("teller",)
    driver.take(Exited, lambda frame: frame.run == early)
    run = driver.start(replayed(driver), run=flags)
    driver.take(Exited, lambda frame: frame.run == run)
    assert b'"teller"' in driver.output(run)
    assert starts.read_text().count("\n") == 1
    driver.end()


def test_the_memory_of_runs_is_told_when_it_changes(driver: NodeDriver) -> None:
    driver.ready(run_memory=2**30)
    run = driver.start(Task(id="a", prompt="go", setup="sleep 1000"))
    memory = driver.take(node_frames.Memory, lambda frame: frame.runs.get(run, 0) > 2**20)
    assert memory.shared > 2**20
    driver.send(Kill(run=run))
    driver.take(node_frames.Memory, lambda frame: frame.runs == {})
    driver.end()
