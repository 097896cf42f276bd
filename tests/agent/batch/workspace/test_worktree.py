"""Worktrees of tasks, with git as it is: they begin at one commit, leave a patch, and leave nothing else."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import psutil
import pytest

from agent.batch.workspace import worktree
from agent.batch.workspace.base import find_bases
from agent.batch.workspace.copy import WorkspaceError
from agent.batch.workspace.diff import save_diff
from agent.batch.workspace.worktree import clear_worktrees, make_worktree, remake_worktree, remove_worktree
from tests.support.git_repository import git, make_repository, unchanged
from tests.support.zot_process import wait_until


@pytest.fixture
def repository(project):
    (project / ".gitignore").write_text("*.o\n")
    return make_repository(project)


@pytest.fixture
def base(repository):
    (base,) = find_bases([str(repository)], ()).values()
    return base


def patch_of(workspace, rundir, name="a"):
    found = save_diff(workspace, rundir, name)
    return (rundir / found).read_bytes() if found else b""


def test_a_worktree_has_the_commit_and_leaves_a_patch(repository, base, rundir, tmp_path):
    with unchanged(repository):
        workspace = make_worktree(str(repository), base, rundir, "a")
        assert git(workspace.path, "status", "--porcelain") == git(workspace.path, "branch", "--show-current") == ""
        assert patch_of(workspace, rundir) == b""
        git(workspace.path, "mv", "src/main.py", "src/moved.py")
        (workspace.path / "new.bin").write_bytes(b"\0\1\2")
        (workspace.path / "build.o").write_text("ignored")
        git(workspace.path, "add", "-A")
        git(workspace.path, "commit", "-q", "-m", "of the run")
        (workspace.path / "run.sh").write_text("#!/bin/sh\necho\n")
        assert b"build.o" not in patch_of(workspace, rundir)
        assert remove_worktree(workspace.path, base.common) == ""
        assert not workspace.path.exists()
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(repository), str(clone))
    git(clone, "apply", str(rundir / "diffs/a.diff"))
    assert (clone / "src/moved.py").read_text() == "print(1)\n" * 40
    assert not (clone / "src/main.py").exists()
    assert (clone / "new.bin").read_bytes() == b"\0\1\2"
    assert (clone / "run.sh").read_text() == "#!/bin/sh\necho\n"


def test_a_change_that_keeps_size_and_time_is_found(repository, base, rundir):
    workspace = make_worktree(str(repository), base, rundir, "a")
    file = workspace.path / "src/main.py"
    found = file.stat()
    file.write_text("print(2)\n" * 40)
    os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert b"+print(2)" in patch_of(workspace, rundir)


def test_what_a_run_has_left_is_made_again(repository, base, rundir):
    with unchanged(repository):
        workspace = make_worktree(str(repository), base, rundir, "a")
        (workspace.path / ".gitattributes").write_text("* text eol=crlf\n")
        (workspace.path / "dos.txt").write_bytes(b"a\r\nb\n\xff")
        (workspace.path / "link").unlink()
        (workspace.path / "link").symlink_to("run.sh")
        patch = patch_of(workspace, rundir)
        remove_worktree(workspace.path, base.common)
        again = remake_worktree(str(repository / "src"), base, rundir, "a", rundir / "diffs/a.diff")
        assert again.cwd == again.path / "src"
        assert (again.path / "dos.txt").read_bytes() == b"a\r\nb\n\xff"
        assert os.readlink(again.path / "link") == "run.sh"
        assert patch_of(again, rundir, "b") == patch
        (rundir / "bad.diff").write_text("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n")
        with pytest.raises(WorkspaceError, match=r"bad.diff: cannot be applied to .*x: No such file"):
            remake_worktree(str(repository), base, rundir, "c", rundir / "bad.diff")
        assert remake_worktree(str(repository), base, rundir, "c", None).path.is_dir()
        assert clear_worktrees(rundir, [base]) == ""
        assert not (rundir / "workspaces/c").exists()


def test_all_begin_at_the_commit_that_head_was(repository, base, rundir):
    git(repository, "commit", "-q", "--allow-empty", "-m", "later")
    assert list(find_bases([str(repository / "src")], [base]).values()) == [base]
    workspace = make_worktree(str(repository), base, rundir, "a")
    assert (
        git(workspace.path, "rev-parse", "HEAD").strip() == base.commit != git(repository, "rev-parse", "HEAD").strip()
    )


def test_no_program_of_the_repository_runs_but_its_filters(repository, rundir, tmp_path):
    hooks = repository / ".git/hooks"
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        (hooks / hook).write_text(f"#!/bin/sh\necho {hook} >> {tmp_path}/started\n")
        (hooks / hook).chmod(0o755)
    git(repository, "config", "core.fsmonitor", f"echo monitor >> {tmp_path}/started; false")
    git(repository, "config", "filter.f.smudge", "sed s/print/smudged/")
    git(repository, "config", "filter.f.clean", "sed s/smudged/print/")
    (repository / ".git/info/attributes").write_text("*.py filter=f\n")
    (base,) = find_bases([str(repository)], ()).values()
    (tmp_path / "started").unlink(missing_ok=True)
    workspace = make_worktree(str(repository), base, rundir, "a")
    assert (workspace.path / "src/main.py").read_text().startswith("smudged")
    assert patch_of(workspace, rundir) == b""
    (workspace.path / ".git").write_text("gitdir: evil\n")
    (workspace.path / "evil").mkdir()
    (workspace.path / "evil/config").write_text(f"[core]\nfsmonitor = touch {tmp_path}/started\n")
    assert b"a/evil/config" in patch_of(workspace, rundir)
    assert remove_worktree(workspace.path, base.common) == ""
    assert not (tmp_path / "started").exists()


# --- the repository ------------------------------------------------------------------------------------------


def test_a_worktree_of_a_worktree(repository, rundir, tmp_path):
    own = tmp_path / "own"
    git(repository, "worktree", "add", "-q", "-b", "topic", str(own))
    git(own, "commit", "-q", "--allow-empty", "-m", "topic")
    with unchanged(repository):
        (base,) = find_bases([str(own / "src")], ()).values()
        workspace = make_worktree(str(own / "src"), base, rundir, "own")
        assert git(workspace.path, "rev-parse", "HEAD") == git(own, "rev-parse", "HEAD")
        assert workspace.cwd == workspace.path / "src"
        assert clear_worktrees(rundir, [base]) == ""
    assert own.is_dir()


def test_a_sparse_checkout_stays_sparse(repository, base, rundir):
    git(repository, "sparse-checkout", "set", "src")
    with unchanged(repository):
        workspace = make_worktree(str(repository), base, rundir, "a")
        assert patch_of(workspace, rundir) == b""
        assert git(workspace.path, "status", "--porcelain") == ""
        assert remove_worktree(workspace.path, base.common) == ""


def test_a_folder_that_is_not_committed_is_said(repository, base, rundir):
    (repository / "later").mkdir()
    with unchanged(repository), pytest.raises(WorkspaceError, match=r"later: is no folder in the commit"):
        make_worktree(str(repository / "later"), base, rundir, "a")


def test_a_commit_that_is_gone_is_said(repository, base, rundir):
    from msgspec.structs import replace

    with unchanged(repository), pytest.raises(WorkspaceError, match="no worktree can be made of it: invalid reference"):
        make_worktree(str(repository), replace(base, commit="1" * 40), rundir, "a")


def test_a_full_disk_is_told_before_and_by_git(repository, base, rundir, monkeypatch):
    full = shutil.disk_usage(rundir)._replace(free=1 << 20)
    with unchanged(repository):
        with monkeypatch.context() as patched:
            patched.setattr(worktree.shutil, "disk_usage", lambda _path: full)
            with pytest.raises(WorkspaceError, match="less than 256 MiB are free") as found:
                make_worktree(str(repository), base, rundir, "a")
        assert found.value.has_no_room
        bin_ = rundir / "bin"
        bin_.mkdir()
        (bin_ / "git").write_text(
            "#!/bin/sh\necho 'error: unable to write file x: No space left on device' >&2\nexit 128\n"
        )
        (bin_ / "git").chmod(0o755)
        with monkeypatch.context() as patched:
            patched.setenv("PATH", f"{bin_}:{os.environ['PATH']}")
            with pytest.raises(WorkspaceError, match="No space left") as found:
                make_worktree(str(repository), base, rundir, "a")
        assert found.value.has_no_room


# --- what runs do to their worktree --------------------------------------------------------------------------


def removed(path):
    git(path, "worktree", "remove", "--force", str(path))


def locked(path):
    git(path, "worktree", "lock", "--reason", "mine", str(path))


def without_git(path):
    (path / ".git").unlink()


def with_git_elsewhere(path):
    (path / ".git").unlink()
    (path / ".git").symlink_to("/etc")


@pytest.mark.parametrize("do", [removed, locked, without_git, with_git_elsewhere])
def test_whatever_a_run_does_its_worktree_is_removed(repository, base, rundir, do):
    with unchanged(repository):
        workspace = make_worktree(str(repository), base, rundir, "a")
        do(workspace.path)
        if do is not removed:
            assert patch_of(workspace, rundir) == b""
        assert remove_worktree(workspace.path, base.common) == ""
        assert not workspace.path.exists()
        make_worktree(str(repository), base, rundir, "a")
        assert clear_worktrees(rundir, [base]) == ""


def test_a_branch_that_a_run_makes_stays_and_is_free(repository, base, rundir):
    workspace = make_worktree(str(repository), base, rundir, "a")
    git(workspace.path, "checkout", "-q", "-b", "topic")
    assert remove_worktree(workspace.path, base.common) == ""
    git(repository, "checkout", "-q", "topic")


def test_another_worktree_of_that_name_is_left(repository, base, rundir, tmp_path):
    workspace = make_worktree(str(repository), base, rundir, "a")
    removed(workspace.path)
    other = tmp_path / "other/a"
    git(repository, "worktree", "add", "-q", "--detach", str(other))
    with unchanged(repository):
        assert remove_worktree(workspace.path, base.common) == ""
        assert clear_worktrees(rundir, [base]) == ""


# --- many, and killed ones -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_many_at_once(repository, base, rundir):
    with unchanged(repository):
        with ThreadPoolExecutor(16) as pool:
            all_ = [*pool.map(lambda n: make_worktree(str(repository), base, rundir, f"t{n}"), range(40))]
        assert len({each.snapshot for each in all_}) == 1
        with ThreadPoolExecutor(16) as pool:
            assert {*pool.map(lambda each: remove_worktree(each.path, base.common), all_)} == {""}


MAKE = """
import sys, msgspec
from pathlib import Path
from agent.batch.workspace.worktree import make_worktree
from wire.batch.link import WorktreeBase
base = WorktreeBase(*sys.argv[2:5])
print(flush=True)
make_worktree(base.repository, base, Path(sys.argv[1]), "a")
"""


def is_group_alive(group: int) -> bool:
    """Whether a process of this process group runs: git may end a moment after the program that was waited for."""
    for pid in psutil.pids():
        with suppress(ProcessLookupError, psutil.NoSuchProcess):
            if os.getpgid(pid) == group and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                return True
    return False


def test_what_a_kill_leaves_is_cleared(repository, base, rundir):
    (rundir / "runs/a").mkdir(parents=True)
    with unchanged(repository):
        for delay in range(8):
            command = [sys.executable, "-c", MAKE, str(rundir), base.repository, base.commit, base.common]
            with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as making:
                assert making.stdout is not None
                making.stdout.readline()
                with suppress(subprocess.TimeoutExpired):
                    making.wait(delay * 0.004)
                with suppress(ProcessLookupError):  # it has come to its end
                    os.killpg(making.pid, signal.SIGKILL)
            wait_until(lambda group=making.pid: not is_group_alive(group))
            assert clear_worktrees(rundir, [base]) == ""
            assert not (rundir / "workspaces/a").exists()


def test_a_record_without_a_place_is_cleared(repository, base, rundir):
    for run in ("t5", "fix_1~dce0018eefc9dfaf"):
        (rundir / "runs" / run).mkdir(parents=True)
    with unchanged(repository):
        for name in ("t5", "t57", "fix_1-dce0018eefc9dfaf", "fix_1-dce0018eefc9dfaf12"):
            record = repository / ".git/worktrees" / name
            record.mkdir(parents=True)
            (record / "locked").write_text("initializing")
        (rundir / "workspaces/t5").mkdir(parents=True)
        assert clear_worktrees(rundir, [base]) == ""
    assert not [*(rundir / "workspaces").iterdir()]
