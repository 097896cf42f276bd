"""The repository and the branch of a folder."""

from __future__ import annotations

import pytest

from agent.engine.host_calls.answers import git_place


@pytest.fixture
def root(tmp_path):
    (tmp_path / "repo" / "src").mkdir(parents=True)
    return tmp_path / "repo"


def test_a_branch_may_have_slashes(root):
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/fix/a-b\n")
    assert git_place(str(root / "src")) == (str(root), "fix/a-b")


def test_a_commit_is_no_branch(root):
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("0123456789abcdef\n")
    assert git_place(str(root)) == (str(root), None)


def test_a_worktree_points_to_its_repository(root, tmp_path):
    (tmp_path / "main").mkdir()
    (tmp_path / "main" / "HEAD").write_text("ref: refs/heads/topic\n")
    (root / ".git").write_text("gitdir: ../main\n")
    assert git_place(str(root)) == (str(root), "topic")


@pytest.mark.parametrize("content", ["", "gitdir: /no/such/place", "gitdir: a\0b", "nonsense"])
def test_what_cannot_be_read_has_no_branch(root, content):
    (root / ".git").write_text(content)
    assert git_place(str(root)) == (str(root), None)


def test_a_folder_outside_of_git_has_neither(root):
    assert git_place(str(root / "src")) in ((None, None), git_place(str(root.parent)))
