"""Where Copilot extensions are looked for: below the root of a repository, in `$ZOT_HOME`, and where the CLI looks."""

from __future__ import annotations

from pathlib import Path

import pytest

from supervisor.home.copilot_folders import (
    copilot_folder_of,
    copilot_folders,
    copilot_folders_of_user,
    is_for_copilot,
)


def test_a_project_has_them_below_the_root_of_its_repository(project):
    below = project / "a" / "b"
    below.mkdir(parents=True)
    assert copilot_folder_of(below) == project / ".github" / "extensions"
    assert copilot_folder_of(project) == project / ".github" / "extensions"


def test_without_a_repository_in_its_own_folder(tmp_path):
    (tmp_path / "a").mkdir()
    assert copilot_folder_of(tmp_path / "a") == tmp_path / "a" / ".github" / "extensions"


def test_a_worktree_has_a_file_in_place_of_git_s_folder(tmp_path):
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / ".git").write_text("gitdir: /elsewhere/.git/worktrees/tree\n")
    assert copilot_folder_of(tree / "sub") == tree / ".github" / "extensions"


def test_of_nested_repositories_the_inner_one_counts(project):
    inner = project / "vendor" / "inner"
    (inner / ".git").mkdir(parents=True)
    (inner / "src").mkdir()
    assert copilot_folder_of(inner / "src") == inner / ".github" / "extensions"


def test_what_is_above_a_link_is_not_above_its_folder(project, tmp_path):
    (project / "src").mkdir()
    (tmp_path / "link").symlink_to(project / "src")
    assert copilot_folder_of(tmp_path / "link") == project / ".github" / "extensions"


def test_the_user_has_two_places(tmp_path, monkeypatch):
    monkeypatch.delenv("COPILOT_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    mine = (tmp_path / "zot" / "copilot-extensions", tmp_path / ".copilot" / "extensions")
    assert copilot_folders_of_user(tmp_path / "zot") == mine
    monkeypatch.setenv("COPILOT_HOME", "~/elsewhere")
    assert copilot_folders_of_user(tmp_path / "zot")[1] == tmp_path / "elsewhere" / "extensions"


def test_all_of_them_in_the_order_in_which_names_are_given_away(project, home, cli_home):
    mine = (home / "copilot-extensions", cli_home / "extensions")
    assert copilot_folders(project, home) == (project / ".github" / "extensions", *mine)
    assert copilot_folders(None, home) == mine
    assert copilot_folders(project, None) == (project / ".github" / "extensions",)


@pytest.mark.parametrize("path", ["/p/.github/extensions", "/u/.copilot/extensions", "/h/copilot-extensions"])
def test_folders_for_nothing_else(path):
    assert is_for_copilot(Path(path))


@pytest.mark.parametrize("path", ["/p/.zot/extensions", "/h/extensions", "/p/.github", "/"])
def test_folders_for_others(path):
    assert not is_for_copilot(Path(path))


def test_the_folder_of_the_cli_wherever_it_is(cli_home):
    assert is_for_copilot(cli_home / "extensions")
