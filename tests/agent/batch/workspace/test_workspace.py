"""A task's own copy of its folder, and the patch of what its run has changed there."""

from __future__ import annotations

import errno
import os
import re
import shutil
import socket
import stat
import subprocess
import sys

import pytest

from agent.batch.journal.errors import FolderError
from agent.batch.workspace import copy_tree, diff, tree
from agent.batch.workspace.copy import (
    WorkspaceError,
    make_workspace,
    remove_snapshots,
    remove_workspace,
    workspace_environment,
)
from agent.batch.workspace.diff import save_diff
from supervisor.home.delete_tree import delete


@pytest.fixture
def project(tmp_path):
    project = tmp_path / "project"
    (project / "src" / "empty").mkdir(parents=True)
    (project / "src" / "main.py").write_text("print(1)\n" * 40)
    (project / "run.sh").write_text("#!/bin/sh\n")
    (project / "run.sh").chmod(0o755)
    (project / "data.bin").write_bytes(b"\0\1" * 1000)
    (project / "link").symlink_to("src/main.py")
    (project / ".hidden").write_text("h")
    return project


@pytest.fixture
def rundir(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def facts(root):
    return {
        entry.path: (entry.mode, entry.target, None if entry.is_folder else entry.size, entry.mtime_ns)
        for entry in tree.scan(str(root)).entries
    }


def git(folder, *words, given=None):
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    ended = subprocess.run(
        ["git", *identity, *words], cwd=folder, input=given, capture_output=True, env=environment, check=False
    )
    assert ended.returncode == 0, (words, ended.stderr)
    return ended.stdout


def applied(project, rundir, name, tmp_path):
    """What the patch makes of the project, as paths, contents and rights to execute."""
    again = tmp_path / "again"
    shutil.copytree(project, again, symlinks=True)
    git(again, "apply", given=(rundir / "diffs" / f"{name}.diff").read_bytes())
    return contents(again)


def contents(root):
    found = {}
    for entry in tree.scan(str(root)).entries:
        if not entry.is_folder and ".git" not in entry.path.split("/"):
            path = root / entry.path
            found[entry.path] = (entry.target or path.read_bytes(), bool(entry.mode & stat.S_IXUSR))
    return found


# --- the copy -----------------------------------------------------------------------------------------------


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


ODD_NAMES = [b"\377.txt", b"new\nline", b'tab\t"quote"', b"\x1b[31mred", b"b\\ slash", b" space ", "\u2028é".encode()]


def test_names_may_be_any_bytes(project, rundir, tmp_path):
    root = os.fsencode(project)
    for name in ODD_NAMES:
        os.mkdir(os.path.join(root, b"in " + name))
        with open(os.path.join(root, b"in " + name, name), "w") as file:
            file.write("a\n")
        os.symlink(b"to " + name, os.path.join(root, b"link " + name))
    os.mkfifo(os.path.join(root, b"pipe\n\377"))
    made = make_workspace(project, rundir, "a")
    assert made.notes == (f'{project}: not copied: "pipe\\n\\377": a named pipe',)
    assert make_workspace(project, rundir, "b").snapshot == made.snapshot
    for name in ODD_NAMES:
        path = os.path.join(os.fsencode(made.path), b"in " + name, name)
        with open(path, "a") as file:
            file.write("b\n")
        os.rename(path, path + b" moved")
        with open(path + b" new", "wb") as binary:
            binary.write(b"\0")
    save_diff(made, rundir, "a")
    (project / os.fsdecode(b"pipe\n\377")).unlink()
    assert applied(project, rundir, "a", tmp_path) == contents(made.path)
    text = (rundir / "diffs" / "a.diff").read_bytes()
    assert b"\x1b" not in text
    assert b'+++ "b/in \\377.txt/\\377.txt moved"\n' in text


# --- the patch ----------------------------------------------------------------------------------------------


def change_much(workspace):
    (workspace / "src" / "main.py").write_text("print(1)\n" * 20 + "print(2)\n" + "print(1)\n" * 19)
    (workspace / "run.sh").chmod(0o644)
    (workspace / "data.bin").write_bytes(b"\0\2" * 1000)
    (workspace / "link").unlink()
    (workspace / "link").symlink_to("run.sh")
    (workspace / ".hidden").unlink()
    (workspace / "new dir").mkdir()
    (workspace / "new dir" / "é.txt").write_text("no line feed")
    (workspace / "new dir" / "empty").write_text("")


def test_a_patch_has_all_changes_and_applies(project, rundir, tmp_path):
    made = make_workspace(project, rundir, "a")
    change_much(made.path)
    assert save_diff(made, rundir, "a") == "diffs/a.diff"
    assert applied(project, rundir, "a", tmp_path) == contents(made.path)


def test_it_applies_where_a_folder_took_the_place_of_a_file(project, rundir, tmp_path):
    (project / "src" / "empty").rmdir()  # git has no empty folders, and deletes none
    made = make_workspace(project, rundir, "a")
    (made.path / "run.sh").unlink()
    (made.path / "run.sh").mkdir()
    (made.path / "run.sh" / "inner").write_text("x\n")
    shutil.rmtree(made.path / "src")
    (made.path / "src").write_text("now a file\n")
    save_diff(made, rundir, "a")
    found = applied(project, rundir, "a", tmp_path)
    assert found == contents(made.path)


def test_no_change_is_no_file(project, rundir):
    made = make_workspace(project, rundir, "a")
    (made.path / "run.sh").touch()
    (made.path / "another").mkdir()
    (rundir / "diffs").mkdir()
    (rundir / "diffs" / "a.diff").write_text("of an earlier attempt")
    assert save_diff(made, rundir, "a") == ""
    assert os.listdir(rundir / "diffs") == []


def test_a_change_that_keeps_size_and_time_is_found(project, rundir):
    made = make_workspace(project, rundir, "a")
    path = made.path / "run.sh"
    before = path.stat()
    path.write_text("#!/bin/sX\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert save_diff(made, rundir, "a")


def test_the_project_may_change_meanwhile(project, rundir):
    made = make_workspace(project, rundir, "a")
    (project / "run.sh").write_text("of somebody else\n")
    (project / "src" / "main.py").unlink()
    (made.path / "run.sh").write_text("of the run\n")
    save_diff(made, rundir, "a")
    text = (rundir / "diffs" / "a.diff").read_text()
    assert "-#!/bin/sh\n+of the run\n" in text
    assert "main.py" not in text


def test_commits_and_what_the_repository_ignores_do_not_count(project, rundir, tmp_path):
    git(project, "init", "-q")
    (project / ".gitignore").write_text("*.pyc\nbuild/\n")
    (project / "kept.pyc").write_text("tracked\n")
    git(project, "add", "-f", ".")
    git(project, "commit", "-qm", "all")
    made = make_workspace(project, rundir, "a")
    (made.path / "build").mkdir()
    (made.path / "build" / "x").write_text("x")
    (made.path / "new.pyc").write_text("x")
    assert save_diff(made, rundir, "a") == ""
    (made.path / "kept.pyc").write_text("changed\n")
    (made.path / "new.py").write_text("x\n")
    git(made.path, "add", ".")
    git(made.path, "commit", "-qm", "of the run")
    save_diff(made, rundir, "a")
    assert b"new.pyc" not in (rundir / "diffs" / "a.diff").read_bytes()
    found = applied(project, rundir, "a", tmp_path)
    assert (found["kept.pyc"][0], found["new.py"][0]) == (b"changed\n", b"x\n")


def test_without_git_new_files_that_are_ignored_are_in_it(project, rundir, monkeypatch):
    git(project, "init", "-q")
    (project / ".gitignore").write_text("*.pyc\n")
    made = make_workspace(project, rundir, "a")
    (made.path / "new.pyc").write_text("x")
    monkeypatch.setenv("PATH", str(rundir))
    save_diff(made, rundir, "a")
    assert b"new.pyc" in (rundir / "diffs" / "a.diff").read_bytes()


def test_a_patch_is_bounded_and_what_is_in_it_applies(project, rundir, tmp_path, monkeypatch):
    monkeypatch.setattr(diff, "SIZE_LIMIT", 20_000)
    made = make_workspace(project, rundir, "a")
    (made.path / "a_large").write_text("x\n" * 30_000)
    (made.path / "b\n\udcff").write_bytes(os.urandom(19_000))
    (made.path / "run.sh").write_text("small\n")
    save_diff(made, rundir, "a")
    text = (rundir / "diffs" / "a.diff").read_bytes()
    assert len(text) < 21_000
    assert text.startswith(
        b'# not in this patch: a_large: Larger than 19 KiB\n# not in this patch: "b\\n\\377": the patch would'
    )
    assert applied(project, rundir, "a", tmp_path)["run.sh"][0] == b"small\n"


def test_what_cannot_be_listed_is_named_and_does_not_count_as_deleted(project, rundir, monkeypatch):
    """A pipe in place of a file, and a folder that may not be read."""
    made = make_workspace(project, rundir, "a")
    (made.path / "run.sh").unlink()
    os.mkfifo(made.path / "run.sh")
    os.mkfifo(made.path / ".git")
    listed = os.scandir
    refused = PermissionError(errno.EACCES, "Permission denied")
    monkeypatch.setattr(os, "scandir", lambda path: raised(refused) if path == f"{made.path}/src" else listed(path))
    save_diff(made, rundir, "a")
    text = (rundir / "diffs" / "a.diff").read_text()
    assert text.startswith(
        "# not in this patch: src: Permission denied\ndiff --git a/run.sh b/run.sh\ndeleted file mode 100755\n"
    )
    assert text.count("diff --git") == 1
    hidden = (f"{made.path}/src", f"{made.snapshot}/src")
    monkeypatch.setattr(os, "scandir", lambda path: raised(refused) if path in hidden else listed(path))
    save_diff(made, rundir, "a")
    assert (rundir / "diffs" / "a.diff").read_text().startswith("diff --git"), "it could not be read before either"


def raised(error):
    raise error


def test_what_a_run_leaves_can_be_deleted(project, rundir):
    made = make_workspace(project, rundir, "a")
    (made.path / "src").chmod(0)
    assert delete(made.path) == ""
