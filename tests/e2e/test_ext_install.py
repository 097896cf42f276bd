"""`zot ext install` with signals, full disks, a hanging git, and another install at the same time."""

from __future__ import annotations

import os
import shutil
import signal
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.support.extension_folder import EXAMPLES
from tests.support.host_process import hosting
from tests.support.install_sources import commit, contents, git, source, staged
from tests.support.zot_process import wait_until

if TYPE_CHECKING:
    from pathlib import Path

GIT_THAT_HANGS = """#!/bin/sh
trap '' TERM INT HUP
for folder; do :; done
mkdir -p "$folder/sub"
echo half > "$folder/sub/file"
sleep 600 &
echo $! > {folder}/below
echo $$ > {folder}/git.new
mv {folder}/git.new {folder}/git
sleep 600
"""


@pytest.fixture
def hanging_git(zot):
    """A `git` that writes half of a repository, then hangs and ignores signals."""
    programs = zot.folder / "bin"
    programs.mkdir()
    (programs / "git").write_text(GIT_THAT_HANGS.format(folder=zot.folder))
    (programs / "git").chmod(0o755)
    zot.env["PATH"] = f"{programs}:{zot.env['PATH']}"
    return zot.folder / "git"


def is_alive(file: Path) -> bool:
    try:
        return psutil.Process(int(file.read_text())).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_install_can_be_interrupted_while_git_hangs(zot, hanging_git, number):
    parent = zot.home / "extensions"
    with zot.start("ext", "install", "https://127.0.0.1:9/guard") as running:
        wait_until(hanging_git.exists)
        assert len(staged(parent)) == 1
        running.process.send_signal(number)
        outcome = running.finish()
    assert outcome.status == 130
    assert "zot ext install: interrupted" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert not is_alive(hanging_git)
    wait_until(lambda: not is_alive(zot.folder / "below"))  # it has closed its files, and may still be ending
    assert outcome.leftovers == []
    assert not zot.home.exists()


def test_a_git_that_does_not_finish_in_time_is_ended(zot, hanging_git):
    outcome = zot.run("ext", "install", "https://127.0.0.1:9/guard", "--timeout", "1")
    assert outcome.status == 1
    assert "git has not finished in 1 s; --timeout gives it longer" in outcome.stderr
    assert not is_alive(hanging_git)
    wait_until(lambda: not is_alive(zot.folder / "below"))  # it has closed its files, and may still be ending
    assert not zot.home.exists()


def test_an_install_without_git_says_so(zot):
    programs = zot.folder / "bin"
    programs.mkdir()
    outcome = zot.run("ext", "install", "https://127.0.0.1:9/guard", env={"PATH": str(programs)})
    assert outcome.status == 1
    assert "git is not installed; install it, or give a folder" in outcome.stderr


def test_one_of_several_installs_at_once_wins(zot):
    sources = [source(zot.folder / f"made-{n}", version=str(n)) for n in range(3)]
    for n, made in enumerate(sources):
        (made / f"only-{n}").write_text("")
    running = [zot.start("ext", "install", made) for made in sources]
    outcomes = []
    for process in running:
        with process:
            outcomes.append(process.finish())
    assert sorted(outcome.status for outcome in outcomes) == [0, 1, 1]
    for outcome in outcomes:
        assert outcome.status == 0 or "installed" in outcome.stderr, outcome.stderr
    folder = zot.home / "extensions" / "guard"
    assert contents(folder.parent) == ["guard"]
    (winner,) = [n for n, outcome in enumerate(outcomes) if outcome.status == 0]
    assert sorted(os.listdir(folder)) == [".zot-install.json", "extension.json", f"only-{winner}", "run"]


def test_an_example_is_installed_from_a_repository_and_run(zot):
    """A host starts what is installed, and the commands know that it runs."""
    made = zot.folder / "repo"
    shutil.copytree(EXAMPLES / "todo-count", made, ignore=shutil.ignore_patterns("__pycache__"))
    git(made, "init", "--quiet", "--initial-branch", "main")
    commit(made)
    outcome = zot.run("ext", "install", f"file://{made}@main", "--project")
    assert outcome.status == 0, outcome.stderr
    installed = zot.cwd / ".zot" / "extensions" / "todo-count"
    assert (installed / "extension.json").read_bytes() == (made / "extension.json").read_bytes()
    with hosting(zot) as host:
        assert list(host.stats()) == ["todo-count"]
        assert f"running       in host {host.pid}\n" in zot.run("ext", "info", "todo-count").text
        assert zot.run("ext", "disable", "todo-count").stderr.splitlines() == [
            "disabled todo-count",
            f"  host {host.pid} runs it as it was: zot ext reload todo-count",
        ]
