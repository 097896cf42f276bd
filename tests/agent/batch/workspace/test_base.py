"""The commit of a repository at which worktrees begin, and folders that have none."""

from __future__ import annotations

import os

import pytest

from agent.batch.workspace.base import BaseError, base_remarks, find_bases, repository_of
from tests.support.git_repository import git, make_repository


def fault(folder):
    with pytest.raises(BaseError) as found:
        find_bases([str(folder)], ())
    return str(found.value).replace(str(folder), "DIR")


def test_folders_of_one_repository_have_one_base(project):
    make_repository(project)
    (project.parent / "way").symlink_to(project)
    bases = find_bases([str(project), str(project / "src"), str(project.parent / "way/src")], ())
    (base,) = bases.values()
    assert (base.repository, base.common) == (str(project), str(project / ".git"))
    assert base.commit == git(project, "rev-parse", "HEAD").strip()
    assert repository_of(str(project / "src")) == str(project)


def test_a_folder_without_a_repository(tmp_path):
    assert fault(tmp_path) == (
        "DIR: --workspace worktree: it is in no git repository; --workspace copy copies any folder"
    )


def test_a_repository_without_a_commit(tmp_path):
    git(tmp_path, "init", "-q")
    assert "DIR: --workspace worktree: the repository has no commit yet: commit first" in fault(tmp_path)


def test_a_repository_whose_commit_is_damaged(project):
    make_repository(project)
    commit = git(project, "rev-parse", "HEAD").strip()
    (project / ".git/objects" / commit[:2] / commit[2:]).unlink()
    assert fault(project) == "DIR: --workspace worktree: the commit of HEAD cannot be read: git fsck tells more"


def test_a_bare_repository(tmp_path):
    git(tmp_path, "init", "-q", "--bare")
    assert "it is a bare repository, without files to work on; clone it first" in fault(tmp_path)


def test_a_repository_with_its_files_elsewhere(project, tmp_path):
    make_repository(project)
    (tmp_path / "else").mkdir()
    git(project, "config", "core.worktree", str(tmp_path / "else"))
    assert "its .git has another working folder (core.worktree)" in fault(project)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_repository_of_another_user(project):
    make_repository(project)
    for path in (project, project / ".git"):
        os.chown(path, 12345, 12345)
    assert "git config --global --add safe.directory DIR allows it" in fault(project)


def test_without_git(project, monkeypatch):
    make_repository(project)
    monkeypatch.setenv("PATH", "/nowhere")
    assert fault(project) == "DIR: --workspace worktree: git is not installed"


def test_a_git_file_that_leads_nowhere(project):
    (project / ".git").write_text("gitdir: /nowhere\n")
    assert "DIR: --workspace worktree: it is in no git repository" in fault(project)


def test_what_the_worktrees_lack_is_said(project, tmp_path):
    make_repository(project)
    (base,) = find_bases([str(project)], ()).values()
    assert base_remarks(base, project / "runs") == []
    index = (project / ".git/index").read_bytes()
    (project / "run.sh").write_text("changed")
    (project / "runs").mkdir()
    (project / "runs/batch.json").touch()
    (project / "new").touch()
    (project / "earlier").mkdir()
    for name in ("batch.json", "journal.jsonl"):
        (project / "earlier" / name).touch()
    (line,) = base_remarks(base, project / "runs")
    assert line.startswith(f"{project}: changes that are not committed (run.sh and 1 more) are not in the worktrees")
    assert (project / ".git/index").read_bytes() == index


def test_submodules_are_said(project, tmp_path):
    make_repository(project)
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "x")
    git(project, "submodule", "--quiet", "add", str(other), "sub")
    git(project, "commit", "-q", "-m", "sub")
    (base,) = find_bases([str(project)], ()).values()
    assert base_remarks(base, tmp_path / "runs") == [
        f"{project}: its submodules are empty in the worktrees of the tasks; --workspace copy copies any folder"
    ]
