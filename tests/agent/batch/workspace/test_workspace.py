"""A task's own copy of its folder."""

from __future__ import annotations

import os
import re
import socket
import stat
import subprocess
import sys

import pytest

from agent.batch.journal.errors import FolderError
from agent.batch.workspace import copy_tree, tree
from agent.batch.workspace.copy import (
    WorkspaceError,
    make_workspace,
    remove_snapshots,
    remove_workspace,
    workspace_environment,
)
from agent.batch.workspace.diff import save_diff
from supervisor.home.delete_tree import delete
from tests.support.workspace_content import contents, git


def facts(root):
    return {
        entry.path: (entry.mode, entry.target, None if entry.is_folder else entry.size, entry.mtime_ns)
        for entry in tree.scan(str(root)).entries
    }


def test_a_copy_has_all_with_modes_and_times(project, rundir):
    (project / "src").chmod(0o555)
    made = make_workspace(project, rundir, "a")
    assert made.path == rundir / "workspaces" / "a"
    assert facts(made.path) == facts(project)
    assert made.notes == ()
    (project / "src").chmod(0o755)


def test_a_change_in_the_copy_is_none_in_the_project(project, rundir):
    before = contents(project)
    made = make_workspace(project, rundir, "a")
    (made.path / "link").write_text("changed\n")
    (made.path / "data.bin").unlink()
    assert contents(project) == before
    assert contents(make_workspace(project, rundir, "b").path) == before


def test_the_folder_of_the_batch_is_not_copied_into_itself(project):
    rundir = project / "out"
    rundir.mkdir()
    make_workspace(project, rundir, "a")
    made = make_workspace(project, rundir, "b")
    assert sorted(os.listdir(made.path)) == [".hidden", "data.bin", "link", "run.sh", "src"]


@pytest.mark.parametrize("name", ["workspaces", "workspaces/.snapshots"])
def test_a_link_in_the_folder_of_the_batch_leads_to_no_deletion_elsewhere(project, rundir, tmp_path, name):
    for inside in ("a", ".a.new", ".snapshots"):
        (tmp_path / "elsewhere" / inside).mkdir(parents=True)
    (rundir / name).parent.mkdir(exist_ok=True)
    (rundir / name).symlink_to(tmp_path / "elsewhere")
    refused = f"{rundir / name}: is a link, and the batch has a folder of its own there: nothing of it was read or"
    with pytest.raises(WorkspaceError, match=re.escape(refused)):
        make_workspace(project, rundir, "a")
    if name == "workspaces":
        assert refused in remove_workspace(rundir, "a")
        assert refused in remove_snapshots(rundir)
    else:
        assert (remove_workspace(rundir, "a"), remove_snapshots(rundir)) == ("", "")
    assert sorted(os.listdir(tmp_path / "elsewhere")) == [".a.new", ".snapshots", "a"]


def test_a_patch_is_written_through_no_link_and_for_the_user_alone(project, rundir, tmp_path):
    made = make_workspace(project, rundir, "a")
    (made.path / "run.sh").write_text("echo\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.diff").write_text("theirs")
    (rundir / "diffs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FolderError, match="diffs: is a link, and the batch has a folder of its own there"):
        save_diff(made, rundir, "a")
    assert (tmp_path / "elsewhere" / "a.diff").read_text() == "theirs"
    (rundir / "diffs").unlink()
    saved = rundir / save_diff(made, rundir, "a")
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (saved, saved.parent, rundir / "workspaces")]
    assert modes == [0o600, 0o700, 0o700]


def test_the_folders_of_other_batches_are_copied_without_what_is_in_them(project, rundir):
    for name in ("batch.json", "journal.jsonl", "workspaces/a/main.py"):
        path = project / "src" / "runs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    made = make_workspace(project, rundir, "a")
    assert made.notes == (f"{project}: not copied: src/runs: the folder of another batch",)
    assert list((made.path / "src" / "runs").iterdir()) == []
    assert save_diff(made, rundir, "a") == ""


def test_a_folder_inside_that_of_the_batch_is_refused(rundir):
    for folder in (rundir, rundir / "workspaces"):
        with pytest.raises(WorkspaceError, match="it lies in the folder of the batch"):
            make_workspace(folder, rundir, "a")
    with pytest.raises(WorkspaceError, match=r"absent: cannot be copied to .*: No such file"):
        make_workspace(rundir.parent / "absent", rundir, "a")


def test_what_an_interrupted_attempt_left_is_replaced(project, rundir):
    left = rundir / "workspaces"
    for name in ("a", ".a.new"):
        (left / name / "old").mkdir(parents=True)
        (left / name / "old" / "file").write_text("x")
        (left / name / "old").chmod(0o500)
    made = make_workspace(project, rundir, "a")
    assert facts(made.path) == facts(project)
    assert sorted(os.listdir(left)) == [".snapshots", "a"]


def test_pipes_sockets_and_files_that_cannot_be_read_are_said(project, rundir):
    os.mkfifo(project / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(project)
        server.bind("socket")
        os.chdir(here)
        made = make_workspace(project, rundir, "a")
    assert made.notes == (f"{project}: not copied: pipe: a named pipe", f"{project}: not copied: socket: a socket")
    assert not (made.path / "pipe").exists()


def test_links_that_lead_back_to_the_project_are_said(project, rundir):
    (project / "absolute").symlink_to(project / "run.sh")
    made = make_workspace(project, rundir, "a")
    assert os.readlink(made.path / "absolute") == str(project / "run.sh")
    assert made.notes == (f"{project}: the link absolute leads to the original, also in the copy",)


def test_a_worktree_is_said(project, rundir):
    (project / ".git").write_text("gitdir: /elsewhere\n")
    made = make_workspace(project, rundir, "a")
    assert "it is a git worktree or submodule" in made.notes[0]


def test_a_full_disk_is_told_before_anything_is_copied(project, rundir, monkeypatch):
    monkeypatch.setattr(copy_tree, "FREE_KEPT", 1 << 60)
    monkeypatch.setattr(copy_tree, "FICLONE", 0)
    with pytest.raises(WorkspaceError, match=r"it takes 0 MiB and .* MiB are free"):
        make_workspace(project, rundir, "a")
    assert os.listdir(rundir / "workspaces") == [".snapshots"]
    assert os.listdir(rundir / "workspaces" / ".snapshots") == []


def test_holes_stay_holes(project, rundir):
    with (project / "sparse").open("wb") as file:
        file.seek(50_000_000)
        file.write(b"end")
        file.truncate(80_000_000)
    made = make_workspace(project, rundir, "a")
    copied = (made.path / "sparse").stat()
    assert copied.st_size == 80_000_000
    assert copied.st_blocks * 512 < 2_000_000
    with (made.path / "sparse").open("rb") as file:
        file.seek(50_000_000)
        assert file.read(4) == b"end\0"


def test_a_state_is_kept_once_and_a_new_one_anew(project, rundir):
    first, second = make_workspace(project, rundir, "a"), make_workspace(project, rundir, "b")
    (project / "run.sh").write_text("new\n")
    third = make_workspace(project, rundir, "c")
    assert first.snapshot == second.snapshot != third.snapshot
    assert (third.path / "run.sh").read_text() == "new\n"


def test_runs_that_start_at_the_same_time_share_a_snapshot(project, rundir):
    program = "import sys; from agent.batch.workspace.copy import make_workspace; from pathlib import Path;"
    program += "print(make_workspace(sys.argv[1], Path(sys.argv[2]), sys.argv[3]).snapshot)"
    running = [
        subprocess.Popen([sys.executable, "-c", program, project, rundir, str(n)], stdout=subprocess.PIPE)
        for n in range(3)
    ]
    found = {process.communicate()[0] for process in running}
    assert len(found) == 1
    assert [facts(rundir / "workspaces" / str(n)) == facts(project) for n in range(3)] == [True] * 3
    assert len(os.listdir(rundir / "workspaces" / ".snapshots")) == 1


def test_workspaces_and_snapshots_can_be_deleted(project, rundir):
    make_workspace(project, rundir, "a")
    (rundir / "workspaces" / ".b.new").mkdir()
    assert remove_snapshots(rundir) == ""
    assert os.listdir(rundir / "workspaces") == ["a"]
    assert remove_workspace(rundir, "a") == ""
    assert os.listdir(rundir / "workspaces") == []


def test_git_does_not_find_a_repository_around_the_batch(project, rundir):
    git(rundir.parent, "init", "-q")
    made = make_workspace(project, rundir, "a")
    environment = {**os.environ, **workspace_environment(rundir)}
    ended = subprocess.run(["git", "status"], cwd=made.path, capture_output=True, env=environment, check=False)
    assert ended.returncode == 128


def test_what_a_run_leaves_can_be_deleted(project, rundir):
    made = make_workspace(project, rundir, "a")
    (made.path / "src").chmod(0)
    assert delete(made.path) == ""
