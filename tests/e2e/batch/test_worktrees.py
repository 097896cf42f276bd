"""`zot batch --workspace worktree`: each task in a worktree of the user's repository, of which nothing is left."""

from __future__ import annotations

import random
import signal
import time
from typing import TYPE_CHECKING

import pytest

from supervisor.template.protocol import is_available
from tests.support.batch_command import BatchCommand
from tests.support.git_repository import git, make_repository, unchanged
from tests.support.zot_process import wait_until
from wire.exit_codes import Status

if TYPE_CHECKING:
    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Zot

pytestmark = pytest.mark.skipif(not is_available(), reason="this system has no templates")
SAVED = "bash echo $0 > new.txt; git add -A; git -c user.name=a -c user.email=a@b commit -qm run; echo more >> old.txt"


@pytest.fixture
def batch(zot: Zot, server: MessagesServer) -> BatchCommand:
    (zot.cwd / "sub").mkdir()
    (zot.cwd / "old.txt").write_text("old\n")
    (zot.cwd / "sub/old.txt").write_text("sub\n")
    make_repository(zot.cwd)
    return BatchCommand(zot, server)


def test_each_task_works_in_a_worktree_and_leaves_a_patch(batch: BatchCommand) -> None:
    project = batch.zot.cwd
    (project / "old.txt").write_text("not committed\n")
    check = 'test "$(tail -n 1 old.txt)" = more && test "$(git rev-parse --abbrev-ref HEAD)" = HEAD'
    batch.tasks({
        "top": {"prompt": SAVED, "check": check}, "sub": {"prompt": SAVED, "cwd": "sub", "check": check},
        "none": "bash true",
    })  # fmt: skip
    with unchanged(project):
        found = batch.run("--workspace", "worktree", "--jobs", "2")
    assert found.status == 0, found.stderr
    assert found.stderr.count("changes that are not committed (old.txt and 1 more) are not in the worktrees") == 1
    assert {name: one["diff"] for name, one in batch.results().items()} == {
        "top": "diffs/top.diff", "sub": "diffs/sub.diff", "none": "",
    }  # fmt: skip
    patch = (batch.rundir / "diffs/sub.diff").read_text()
    assert "+++ b/sub/new.txt" in patch
    assert " sub\n+more" in patch
    assert " old\n+more" in (batch.rundir / "diffs/top.diff").read_text()
    assert not [*(batch.rundir / "workspaces").glob("*")]


def test_a_resumed_batch_begins_at_the_same_commit(batch: BatchCommand) -> None:
    project = batch.zot.cwd
    commit = git(project, "rev-parse", "HEAD").strip()
    batch.tasks({"a": "bash ls", "b": "hang"})
    with batch.start("--workspace", "worktree", "--jobs", "1") as running:
        wait_until(lambda: batch.attempts("a") and (batch.rundir / "workspaces/b/sub").is_dir())
        running.signal(signal.SIGKILL)
        running.finish()
    git(project, "commit", "-q", "--allow-empty", "-m", "later")
    batch.tasks({"b": "bash git rev-parse HEAD > log", "c": "bash git rev-parse HEAD > log"})
    assert batch.run("--workspace", "worktree").status == 0
    for name in "bc":
        assert f"+{commit}" in (batch.rundir / f"diffs/{name}.diff").read_text()
    assert not (project / ".git/worktrees").exists()


@pytest.mark.parametrize("signals", [1, 2])
def test_a_batch_that_is_interrupted_leaves_no_worktree(batch: BatchCommand, signals: int) -> None:
    batch.tasks({"a": "hang" if signals > 1 else "bash while [ ! -e go ]; do sleep 0.02; done"})
    with unchanged(batch.zot.cwd), batch.start("--workspace", "worktree") as running:
        wait_until((batch.rundir / "workspaces/a/sub").is_dir)
        for number in range(signals):
            running.signal(signal.SIGINT)
            wait_until(lambda: running.errors().count("SIGINT") > number)  # noqa: B023
        if signals == 1:
            (batch.rundir / "workspaces/a/go").touch()
        running.finish()
    assert not [*(batch.rundir / "workspaces").glob("*")]


def test_a_folder_without_a_repository_is_misuse(zot: Zot, server: MessagesServer) -> None:
    batch = BatchCommand(zot, server)
    batch.tasks({"a": "go"})
    found = batch.run("--workspace", "worktree")
    assert found.status == Status.USAGE.exit_code
    assert found.stderr == (
        f"zot batch: {zot.cwd}: --workspace worktree: it is in no git repository; --workspace copy copies any folder\n"
    )


def test_a_run_that_is_killed_leaves_no_worktree(batch: BatchCommand) -> None:
    batch.tasks({"a": "bash kill -9 $PPID"})
    with unchanged(batch.zot.cwd):
        batch.run("--workspace", "worktree")
    assert [one.status.value for one in batch.attempts("a")] == ["crashed", "crashed"]
    assert not [*(batch.rundir / "workspaces").glob("*")]


def test_a_run_that_removes_its_worktree_is_told(batch: BatchCommand) -> None:
    batch.tasks({"a": "bash git worktree remove --force .", "b": "bash rm .git; echo x > new"})
    with unchanged(batch.zot.cwd):
        batch.run("--workspace", "worktree")
    results = batch.results()
    assert results["a"]["status"] == "error"
    assert "what the run has changed cannot be saved" in results["a"]["reason"]
    assert (results["b"]["status"], results["b"]["diff"]) == ("ok", "diffs/b.diff")


@pytest.mark.slow
def test_two_hundred_worktrees(batch: BatchCommand) -> None:
    batch.tasks({f"t{number}": f"bash echo {number} > made" for number in range(200)})
    with unchanged(batch.zot.cwd):
        found = batch.run("--workspace", "worktree", "-q", "--jobs", "16")
    assert found.status == 0, found.stderr
    results = batch.results()
    assert {one["status"] for one in results.values()} == {"ok"}
    for number in range(200):
        assert f"+{number}\n" in (batch.rundir / results[f"t{number}"]["diff"]).read_text()


@pytest.mark.slow
def test_a_kill_storm_leaves_only_the_users_worktrees(batch: BatchCommand) -> None:
    chance = random.Random(0)
    tasks = {f"t{number}": f"bash echo {number} > made; sleep 0.05" for number in range(40)}
    batch.tasks(dict(tasks))
    with unchanged(batch.zot.cwd):
        for _ in range(12):
            before = len(batch.started())
            with batch.start("--workspace", "worktree", "-q", "--jobs", "4") as running:
                wanted = before + chance.randrange(1, 5)
                wait_until(lambda: len(batch.started()) >= wanted or running.process.poll() is not None)  # noqa: B023
                time.sleep(chance.random() * 0.2)  # the moment is what is tried
                running.signal(signal.SIGKILL)
                running.finish()
        assert batch.run("--workspace", "worktree", "-q", "--jobs", "4").status == 0
    assert batch.finals() == dict.fromkeys(tasks, 1)
    assert not [*(batch.rundir / "workspaces").glob("*")]
