"""New files that a workspace's repository ignores: git's own answer, whatever the run has made of the repository."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from agent.batch.workspace import diff
from agent.batch.workspace.diff import ignored_files
from agent.batch.workspace.tree import scan

pytestmark = pytest.mark.timeout(30)
"""Half of what git may take: a git that waits for a pipe fails."""


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "workspace"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


def git(folder, *words):
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}
    subprocess.run(["git", *words], cwd=folder, env=environment, check=True, capture_output=True)


def write(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def found(workspace, *made):
    rules = [entry.path for entry in scan(str(workspace)).entries if entry.path.endswith(".gitignore")]
    return sorted(ignored_files(workspace, made, rules) & set(made))


def test_rules_are_those_of_git(workspace):
    (workspace / ".gitignore").write_text("*.o\n!kept.o\nbuild/\n/top\n\n# no rule\n")
    (workspace / "sub").mkdir()
    (workspace / "sub" / ".gitignore").write_text("!again.o\nlocal\n")
    (workspace / ".git" / "info" / "exclude").write_text("*.mine\n")
    made = ["a.o", "kept.o", "build/x/y", "sub/build/z", "sub/again.o", "sub/local", "local", "top", "sub/top", "build"]
    assert found(workspace, *made, "é\n.mine", "\udcff.o") == sorted(
        ["a.o", "build/x/y", "sub/build/z", "sub/local", "top", "é\n.mine", "\udcff.o"]
    )


@pytest.mark.parametrize(
    "odd", [":(glob)n.o", ":!n.o", ":(attr:x)/n.o", ":x.o", "::.o", "*.o", "[a.o", "!q.o", "-x.o", " .o", "#.o", "\\.o"]
)
def test_no_name_of_a_file_is_an_order_to_git(workspace, odd):
    write(workspace, **{".gitignore": "*.o\n"})
    assert found(workspace, "a.o", odd, "kept") == sorted(["a.o", odd])


def test_a_file_that_the_run_has_added_by_force_is_not_ignored(workspace):
    write(workspace, **{".gitignore": "*.o\n", "added.o": "", "other.o": ""})
    git(workspace, "add", "-f", "added.o")
    assert found(workspace, "added.o", "other.o") == ["other.o"]


@pytest.mark.parametrize("index", [b"", b"text", b"DIRC\0\0\0\2\0\0\0\1" + b"\0" * 40])
def test_a_damaged_index_does_not_count(workspace, index):
    write(workspace, **{".gitignore": "*.o\n"})
    (workspace / ".git" / "index").write_bytes(index)
    assert found(workspace, "a.o", "a.c") == ["a.o"]


def test_an_index_of_sha256_does_not_count(workspace):
    git(workspace, "init", "-q", "--object-format=sha256", "inner")
    write(workspace / "inner", **{".gitignore": "*.o\n"})
    git(workspace / "inner", "add", ".")
    assert found(workspace / "inner", "a.o", "a.c") == ["a.o"]


def test_nothing_that_the_repository_names_is_run(workspace, tmp_path, monkeypatch):
    """git itself runs it in the same place, so the test would notice."""
    names = f'[core]\n\tfsmonitor = "touch {tmp_path}/ran; false"\n\thooksPath = {tmp_path}\n'
    write(workspace, **{".gitignore": "*.o\n", "a.c": ""})
    git(workspace, "add", ".")
    (workspace / ".git" / "config").write_text(names)
    assert found(workspace, "a.o", "a.c") == ["a.o"]
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".gitconfig").write_text(names)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", f"'core.fsmonitor=touch {tmp_path}/ran'")
    monkeypatch.setenv("GIT_DIR", str(workspace / ".git"))
    assert found(workspace, "a.o", "a.c") == ["a.o"]
    assert not (tmp_path / "ran").exists()
    monkeypatch.undo()
    git(workspace, "check-ignore", "-q", "a.o")
    assert (tmp_path / "ran").exists()


def test_git_gets_none_of_the_hosts_secrets(workspace, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(f"#!/bin/sh\nenv > {tmp_path}/env\npwd >> {tmp_path}/env\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "hidden-1")
    monkeypatch.setenv("GIT_SSH_COMMAND", "hidden-2")
    assert found(workspace, "a") == []
    given = (tmp_path / "env").read_text()
    assert "hidden" not in given
    assert re.search(r"\n/.*/zot-git-\w{8}/tree\n$", given)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("/dev/zero", path), os.mkdir])
def test_what_is_no_file_has_no_rules(workspace, make):
    write(workspace, sub__file="")
    (workspace / ".git" / "info" / "exclude").unlink()
    for path in (".gitignore", "sub/.gitignore", ".git/info/exclude", ".git/index"):
        make(workspace / path)
    assert found(workspace, "a", "sub/b") == []


def test_too_many_rules_do_not_count(workspace, monkeypatch):
    monkeypatch.setattr(diff, "RULES_LIMIT", 1000)
    write(workspace, **{".gitignore": "*.o\n" * 251})
    assert found(workspace, "a.o") == []
    write(workspace, **{".gitignore": "*.o\n" * 250})
    assert found(workspace, "a.o") == ["a.o"]


def test_all_rules_together_are_bounded(workspace, monkeypatch):
    """A thousand hard links to one file would fill the disk."""
    monkeypatch.setattr(diff, "RULES_TOTAL", 1000)
    write(workspace, **{f"{folder}__.gitignore": "*.o\n" * 100 for folder in "abc"})
    assert len(found(workspace, "a/x.o", "b/x.o", "c/x.o")) == 2


def test_without_its_answer_no_file_is_ignored(workspace, monkeypatch):
    write(workspace, **{".gitignore": "*" + "a*" * 2000 + "b\n"})
    monkeypatch.setattr(diff, "GIT_S", 0.01)
    assert found(workspace, "a" * 200) == []
    monkeypatch.setenv("PATH", str(workspace))
    assert found(workspace, "a" * 200) == []
