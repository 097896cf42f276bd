"""`zot ext install`: what `--json` says, and the credentials that it takes out of its own command line."""

from __future__ import annotations

import sys

import pytest

from cli.ext.manage.install import erase_line
from tests.support.git_server import GitServer, command_lines
from tests.support.install_sources import commit, git, repository, source
from tests.support.zot_fork import run


def test_json_of_an_install_and_a_removal(zot, made):
    (done,) = run(zot, "ext", "install", made, "--json", "--project").json_lines
    folder = zot.cwd / ".zot" / "extensions" / "guard"
    assert done["dir"] == str(folder)
    assert (done["action"], done["scope"], done["trusted"]) == ("installed", "project", True)
    assert (done["argv"], done["env"], done["warnings"], done["kind"]) == ([f"{folder}/run"], [], [], "path")
    (listed,) = run(zot, "ext", "list", "--json").json_lines
    assert listed["trusted"] is True
    outcome = run(zot, "ext", "remove", "guard", "-y", "--json")
    assert outcome.json_lines[0] == {
        "action": "removed", "name": "guard", "scope": "project", "dir": str(folder), "data_dir": None, "moved": [],
        "purged": False, "warnings": [],
    }  # fmt: skip
    assert outcome.stderr == ""


def test_a_link_is_told_by_every_command(zot, made):
    outcome = run(zot, "ext", "install", "--link", made)
    folder = zot.home / "extensions" / "guard"
    assert (outcome.status, outcome.stdout) == (0, b"")
    lines = outcome.stderr.splitlines()
    assert lines[0] == f"linked {folder}"
    assert f"  to            {made}: what runs is this folder, always as it is" in lines
    assert "  after edits   zot ext reload guard, in a host with --watch by itself" in lines
    (row,) = run(zot, "ext", "list", "--json").json_lines
    assert (row["kind"], row["source"], row["broken"]) == ("link", str(made), None)
    assert f"-> {made}" in run(zot, "ext", "list").text
    told = run(zot, "ext", "info", "guard").text
    assert f"installed     as a link: what runs is {made}, always as it is\n" in told
    said = run(zot, "ext", "update").stderr
    assert said.startswith("nothing to update: no extension was installed with zot ext install as a copy; a link is")
    again = run(zot, "ext", "install", "--link", made)
    assert (again.status, again.stderr) == (1, f"zot ext install: {folder} is a link to {made} already\n")
    removed = run(zot, "ext", "remove", "guard", "--yes")
    assert removed.stderr == f"removed {folder}; {made} stays as it is\n"
    assert (made / "extension.json").exists()


def test_json_of_a_link(zot, made):
    (done,) = run(zot, "ext", "install", "--link", made, "--project", "--json").json_lines
    assert (done["action"], done["kind"], done["source"], done["trusted"]) == ("installed", "link", str(made), True)


def test_a_link_needs_a_folder(zot):
    outcome = run(zot, "ext", "install", "--link", "me/guard")
    assert outcome.status == 2
    assert "--link needs a folder; https://github.com/me/guard is a repository: clone it" in outcome.stderr


@pytest.fixture
def github(zot):
    """The folder in which git looks for https://github.com/me, without the network."""
    folder = zot.folder / "github" / "me"
    config = zot.folder / "gitconfig"
    config.write_text(f'[url "file://{folder.parent}/"]\n\tinsteadOf = https://github.com/\n')
    zot.env = {name: value for name, value in zot.env.items() if not name.startswith("GIT_")}
    zot.env |= {"GIT_CONFIG_GLOBAL": str(config), "GIT_CONFIG_NOSYSTEM": "1"}
    return folder


def test_a_repository_on_github_by_its_short_name(zot, github):
    made = repository(github / "guard", name="guard")
    git(made, "tag", "v1")
    source(made, name="guard", version="2.0")
    last = commit(made)
    outcome = run(zot, "ext", "install", "me/guard@v1")
    assert outcome.status == 0, outcome.stderr
    assert outcome.stderr.startswith("cloning https://github.com/me/guard@v1\n")
    (row,) = run(zot, "ext", "list", "--json").json_lines
    assert (row["source"], row["ref"], row["version"]) == ("https://github.com/me/guard", "v1", "1.0")
    (done,) = run(zot, "ext", "install", "me/guard", "--force", "--json").json_lines
    assert (done["commit"], done["ref"]) == (last, None)
    missing = run(zot, "ext", "install", "me/other")
    assert missing.status == 1
    assert "zot ext install: https://github.com/me/other: git says: " in missing.stderr


def test_a_folder_wins_over_a_repository_and_says_so(zot, github):
    repository(github / "guard", name="cloned")
    source(zot.cwd / "me" / "guard", name="local", program="#!/bin/sh\n")
    outcome = run(zot, "ext", "install", "me/guard")
    assert outcome.stderr.startswith(
        "me/guard is a folder here: this is installed, not https://github.com/me/guard\ninstalled "
    )
    assert [row["name"] for row in run(zot, "ext", "list", "--json").json_lines] == ["local"]


def test_credentials_are_in_no_command_line_during_a_clone(zot):
    repository(zot.folder / "served" / "guard")
    with GitServer(zot.folder / "served", "me", "s3cr3t") as server:
        url = f"http://me:s3cr3t@{server.address}/guard/.git"
        outcome = zot.run("ext", "install", url, cold=True)
    assert outcome.status == 0, outcome.stderr
    assert "s3cr3t" not in outcome.stderr + outcome.text
    if sys.platform == "linux":  # elsewhere a process cannot change its own
        assert any(b"\0install\0****" in line for line in server.command_lines)
        assert all(b"s3cr3t" not in line for line in server.command_lines)


def test_a_word_that_is_not_there_changes_nothing():
    before = command_lines()
    erase_line("no process has this word")
    assert any(line in before for line in command_lines())
