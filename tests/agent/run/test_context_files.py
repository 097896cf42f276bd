"""Which context files are read, in which order, and how much of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.run import context_files
from agent.run.context_files import FILE_LIMIT, LIMIT, context_text, find_context_files
from supervisor.home.repository import repository_root


@pytest.fixture
def here(tmp_path):
    """`home` is `$ZOT_HOME`; `repository/packages/shop` the working folder."""
    (tmp_path / "home").mkdir()
    (tmp_path / "repository" / "packages" / "shop").mkdir(parents=True)
    (tmp_path / "repository" / ".git").mkdir()
    return tmp_path


def put(here, path, text):
    (here / path).write_bytes(text if isinstance(text, bytes) else text.encode())


def found(here, cwd="repository/packages/shop"):
    return find_context_files(here / "home", here / cwd)


def paths(here, result):
    return [str(Path(file.path).relative_to(here)) for file in result.files]


def test_from_the_users_to_the_nearest(here):
    put(here, "AGENTS.md", "above the repository")
    for folder in ("home", "repository", "repository/packages", "repository/packages/shop"):
        put(here, f"{folder}/AGENTS.md", f"\nIn {folder}.\n")
    result = found(here)
    assert paths(here, result) == [
        "home/AGENTS.md", "repository/AGENTS.md", "repository/packages/AGENTS.md", "repository/packages/shop/AGENTS.md",
    ]  # fmt: skip
    assert result.notices == ()
    text = context_text(result.files, str(here / "repository" / "packages" / "shop"))
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == [
        f"{here}/home/AGENTS.md", "../../AGENTS.md", "../AGENTS.md", "AGENTS.md",
    ]  # fmt: skip
    assert text.endswith("## AGENTS.md\n\nIn repository/packages/shop.")
    assert "above" not in text


def test_claude_md_counts_where_there_is_no_agents_md(here):
    put(here, "repository/CLAUDE.md", "root")
    put(here, "repository/packages/CLAUDE.md", "not this one")
    put(here, "repository/packages/AGENTS.md", " \n")
    assert [file.text for file in found(here).files] == ["root"]


def test_without_a_repository_only_the_folders_own(here):
    (here / "repository" / ".git").rmdir()
    put(here, "repository/AGENTS.md", "not this one")
    put(here, "repository/packages/shop/AGENTS.md", "own")
    assert [file.text for file in found(here).files] == ["own"]


def test_the_nearest_repository_counts_also_a_worktree(here):
    put(here, "repository/AGENTS.md", "outer")
    put(here, "repository/packages/.git", "gitdir: elsewhere")
    put(here, "repository/packages/AGENTS.md", "inner")
    assert [file.text for file in found(here).files] == ["inner"]


def test_a_repository_of_somebody_else_is_none(here, monkeypatch):
    cwd = here / "repository" / "packages" / "shop"
    assert repository_root(cwd) == here / "repository"
    lstat = os.lstat

    def strange(path):
        status = lstat(path)
        return os.stat_result((*status[:4], status.st_uid + 1, *status[5:10]))

    monkeypatch.setattr(context_files.os, "lstat", strange)
    assert repository_root(cwd) is None


def test_nothing_is_no_text(here):
    assert context_text(found(here).files, str(here)) == ""


def test_a_long_file_is_cut_and_this_is_said(here):
    put(here, "repository/AGENTS.md", "é" * FILE_LIMIT)
    result = found(here)
    (file,) = result.files
    assert (file.text, file.is_cut) == ("é" * (FILE_LIMIT // 2), True)
    assert result.notices == (
        f"{here}/repository/AGENTS.md: only its first {FILE_LIMIT} bytes are used: the limit is 32 KiB",
    )
    assert context_text(result.files, str(here)).endswith("é\n\n(cut here: read the file for the rest)")


def test_a_cut_in_a_character_is_no_fault(here):
    put(here, "repository/AGENTS.md", "x" + "é" * FILE_LIMIT)
    assert found(here).files[0].text == "x" + "é" * (FILE_LIMIT // 2 - 1)
    assert len(found(here).notices) == 1


def test_the_nearest_files_have_precedence_over_the_limit_of_all(here):
    folder = here / "repository"
    for number in range(6):
        (folder / "AGENTS.md").write_text(str(number) * (FILE_LIMIT - (number == 5)))
        folder /= f"d{number}"
        folder.mkdir()
    result = find_context_files(here / "home", folder)
    assert [file.text[0] for file in result.files] == list("12345")
    assert sum(len(file.text) for file in result.files) == LIMIT
    assert (result.files[0].text, result.files[0].is_cut) == ("1", True)
    assert result.notices == (
        f"{here}/repository/d0/AGENTS.md: only its first 1 bytes are used: the limit is 128 KiB in all",
        f"{here}/repository/AGENTS.md: skipped: the files of this kind have more than 128 KiB together",
    )


def test_what_is_no_file_or_no_text_is_told_and_left_out(here):
    os.mkfifo(here / "home" / "AGENTS.md")
    (here / "repository" / "AGENTS.md").mkdir()
    put(here, "repository/CLAUDE.md", "AGENTS.md is there")
    put(here, "repository/packages/AGENTS.md", b"\xff\xfeA\0")
    (here / "repository" / "packages" / "shop" / "AGENTS.md").symlink_to("gone")
    result = found(here)
    assert result.files == ()
    assert result.notices == (
        f"{here}/home/AGENTS.md: skipped: it cannot be read: Not a file",
        f"{here}/repository/AGENTS.md: skipped: it cannot be read: Is a directory",
        f"{here}/repository/packages/AGENTS.md: skipped: it is not text",
        f"{here}/repository/packages/shop/AGENTS.md: skipped: it cannot be read: No such file or directory",
    )


def test_what_is_not_utf8_is_told_with_its_line(here):
    put(here, "repository/AGENTS.md", b"one\ntw\xf6\n")
    result = found(here)
    assert result.files[0].text == "one\ntw\ufffd"
    assert result.notices == (f"{here}/repository/AGENTS.md:2: it is not UTF-8: some characters are replaced",)


def test_a_link_to_the_working_folder_is_as_good_as_its_path(here):
    put(here, "repository/AGENTS.md", "root")
    put(here, "repository/packages/shop/AGENTS.md", "shop")
    (here / "link").symlink_to("repository/packages/shop")
    (here / "repository" / "out").symlink_to(here / "home")
    assert paths(here, found(here, "link")) == ["repository/AGENTS.md", "repository/packages/shop/AGENTS.md"]
    put(here, "home/CLAUDE.md", "home")
    result = find_context_files(here / "none", here / "repository" / "out")
    assert (paths(here, result), result.notices) == (["home/CLAUDE.md"], ())


def test_links_inside_the_repository_count_once_and_others_are_left_out(here):
    put(here, "secret", "s")
    put(here, "repository/AGENTS.md", "root")
    (here / "repository" / "packages" / "AGENTS.md").symlink_to("../AGENTS.md")
    (here / "repository" / "packages" / "shop" / "AGENTS.md").symlink_to(here / "secret")
    (here / "home" / "AGENTS.md").symlink_to(here / "secret")
    result = found(here)
    assert paths(here, result) == ["home/AGENTS.md", "repository/packages/AGENTS.md"]
    assert result.notices == (
        f"{here}/repository/packages/shop/AGENTS.md: skipped: it is a link to a file outside of {here}/repository",
    )
