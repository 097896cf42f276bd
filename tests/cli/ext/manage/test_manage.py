"""What a user sees of the commands about installed extensions: outputs, exit statuses, and what is never started."""

from __future__ import annotations

import json
import os
import pty

import pytest

from supervisor.discovery.discover import Scope
from supervisor.install.install import install
from supervisor.install.installed import ExtensionFolders
from supervisor.install.source import LocalSource
from tests.support.forked import run
from tests.support.installing import manifest_in, source

EVERY = ("list", "info guard", "install .", "update", "remove guard -y", "enable guard", "disable guard")


@pytest.fixture
def made(zot):
    """An extension that would leave a file if it were ever started."""
    folder = source(zot.folder / "made", program=f"#!/bin/sh\ntouch {zot.folder}/started\n", description="Guards")
    yield folder
    assert not (zot.folder / "started").exists()


@pytest.fixture
def broken(zot):
    folder = source(zot.home / "extensions" / "broken")
    (folder / "extension.json").write_text('{"name": "x\\u001b[31m"')
    return folder


def installed(zot, folder, scope=Scope.GLOBAL):
    """Without the time that a process takes."""
    install(LocalSource(folder), scope, ExtensionFolders(zot.cwd, zot.home))


def records(outcome):
    return [json.loads(line) for line in outcome.stdout.splitlines()]


def test_nothing_installed(zot):
    outcome = run(zot, "ext", "list")
    assert (outcome.status, outcome.stdout) == (0, b"")
    assert outcome.stderr.startswith("no extensions installed")
    assert run(zot, "ext", "list", "--json").stdout == b""
    assert run(zot, "ext", "update").stderr == "nothing to update: no extension was installed with zot ext install\n"
    assert not zot.home.exists()


def test_the_whole_life(zot, made, broken):
    outcome = run(zot, "ext", "install", made)
    folder = zot.home / "extensions" / "guard"
    assert (outcome.status, outcome.stdout) == (0, b"")
    lines = outcome.stderr.splitlines()
    assert lines[0] == f"installed {folder}"
    assert lines[1] == "  guard 1.0: Guards"
    assert f"  command line  {folder}/run" in lines
    assert "  secrets       asks for none" in lines
    assert "try it" in lines[-1]

    outcome = run(zot, "ext", "list")
    assert outcome.stderr == ""
    header, bad, good = outcome.text.splitlines()
    assert header.split() == ["scope", "name", "version", "enabled", "language", "trusted", "source", "dir"]
    assert bad.split()[:4] == ["global", "broken", "-", "broken"]
    assert f"{broken} manifest: name must be 1 to 64 characters" in bad
    assert good.split() == ["global", "guard", "1.0", "yes", "-", "-", str(made), str(folder)]
    first, second = records(run(zot, "ext", "list", "--json"))
    assert first["broken"].startswith("manifest: name must be")
    assert {**second, "broken": 1} == {**second, "broken": 1, "name": "guard", "enabled": True, "dir": str(folder)}

    assert run(zot, "ext", "disable", "guard").stderr == "disabled guard\n"
    assert run(zot, "ext", "disable", "guard").stderr == "guard is disabled already\n"
    assert manifest_in(folder)["enabled"] is False
    assert records(run(zot, "ext", "enable", "guard", "--json"))[0]["changed"] is True

    source(made, version="1.1", program="#!/bin/sh\n")
    outcome = run(zot, "ext", "update")
    assert (outcome.status, outcome.stdout) == (0, b"")
    assert outcome.stderr.startswith("updated guard 1.0 -> 1.1 (")
    assert "guard 1.1 is up to date (" in run(zot, "ext", "update", "guard").stderr
    (done,) = records(run(zot, "ext", "update", "--json"))
    assert (done["action"], done["from"], done["local_changes"]) == ("up to date", done["to"], False)

    told = run(zot, "ext", "info", "guard").text
    assert f"folder        {folder} (global)\n" in told
    assert "local changes none\n" in told
    assert "running       in no host\n" in told
    (known,) = records(run(zot, "ext", "info", "guard", "--json"))
    assert known["manifest"]["version"] == known["install"]["version"] == "1.1"
    assert (known["locally_modified"], known["data_bytes"], known["hosts"]) == (False, None, [])

    (folder / "todos.json").write_text("[]")
    outcome = run(zot, "ext", "remove", "guard", "--yes")
    assert outcome.status == 0
    assert outcome.stderr.splitlines() == [
        f"removed {folder}",
        "  moved out of it first: todos.json",
        f"  its data stays in {zot.home}/data/guard",
    ]
    assert run(zot, "ext", "rm", "broken", "-y").stderr == f"removed {broken}\n"
    assert os.listdir(zot.home / "extensions") == []


def test_json_of_an_install_and_a_removal(zot, made):
    (done,) = records(run(zot, "ext", "install", made, "--json", "--project"))
    folder = zot.cwd / ".zot" / "extensions" / "guard"
    assert done["dir"] == str(folder)
    assert (done["action"], done["scope"], done["trusted"]) == ("installed", "project", True)
    assert (done["argv"], done["env"], done["warnings"], done["kind"]) == ([f"{folder}/run"], [], [], "path")
    (one,) = records(run(zot, "ext", "list", "--json"))
    assert one["trusted"] is True
    outcome = run(zot, "ext", "remove", "guard", "-y", "--json")
    assert records(outcome)[0] == {
        "action": "removed", "name": "guard", "scope": "project", "dir": str(folder), "data_dir": None, "moved": [],
        "purged": False,
    }  # fmt: skip
    assert outcome.stderr == ""


@pytest.mark.parametrize("command", EVERY)
def test_all_work_beside_a_broken_one(zot, made, broken, command):
    source(zot.home / "extensions" / "guard")
    words = command.split()
    cwd = made if words[0] == "install" else zot.cwd
    if words[0] == "install":
        source(made, name="third", program="#!/bin/sh\n")
    outcome = run(zot, "ext", *words, cwd=cwd)
    assert outcome.status == 0, outcome
    assert "Traceback" not in outcome.stderr


def test_both_scopes_need_a_flag(zot, made):
    for scope in Scope.PROJECT, Scope.GLOBAL:
        installed(zot, made, scope)
    for command in ("info guard", "remove guard -y", "disable guard", "update guard"):
        outcome = run(zot, "ext", *command.split())
        assert (outcome.status, outcome.stdout) == (2, b"")
        assert "add --project or --global" in outcome.stderr
    assert run(zot, "ext", "info", "guard", "--project").status == 0
    outcome = run(zot, "ext", "remove", "guard", "--project", "-y", cwd=zot.folder)
    assert outcome.stderr == "zot ext remove: no such extension: 'guard'; there is none installed\n"
    outcome = run(zot, "ext", "remove", "guard", "--project", "-y", "--cwd", zot.cwd, cwd=zot.folder)
    assert outcome.status == 0
    assert run(zot, "ext", "info", "guard").status == 0


@pytest.mark.parametrize(
    ("args", "status", "complaint"),
    [
        ("info gaurd", 2, "zot ext info: no such installed extension: 'gaurd'; did you mean 'guard'?"),
        ("remove guard", 2, "nobody can be asked whether to remove"),
        ("remove guard --json", 2, "--yes removes it"),
        ("enable guard --project --global", 2, "choose one of --project and --global"),
        ("list --cwd nowhere", 2, "--cwd nowhere: no such folder"),
        ("list --cwd ~nobody-at-all", 2, "--cwd ~nobody-at-all: no such folder"),
        ("install nowhere", 2, "zot ext install: nowhere: no such folder"),
        ("install ../home", 1, "no extension.json in it"),
        ("install ../made", 1, "zot ext install: 'guard' is installed already"),
        ("install https://example.org/x@-y", 2, "'-y' cannot be a branch, tag or commit"),
        ("update nothing", 2, "no such installed extension: 'nothing'; there is guard"),
    ],
)
def test_what_is_refused(zot, made, args, status, complaint):
    installed(zot, made)
    outcome = run(zot, "ext", *args.split())
    assert (outcome.status, outcome.stdout) == (status, b"")
    assert complaint in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1


def test_terminal_escapes_of_a_stranger_are_not_shown(zot, made):
    source(made, description="\x1b]0;title\x07\x1b[31mred", version="\x1b[2J1")
    shown = (
        run(zot, "ext", "install", made).stderr + run(zot, "ext", "list").text + run(zot, "ext", "info", "guard").text
    )
    assert "\x1b" not in shown
    assert "red" in shown


def test_names_that_are_no_unicode(zot):
    folder = source(zot.home / "extensions" / "x")
    os.rename(folder, os.fsencode(folder.parent) + b"/b\xffd")
    (folder.parent / os.fsdecode(b"b\xffd") / "extension.json").write_text("{")
    assert "b?d" in run(zot, "ext", "list").text
    assert records(run(zot, "ext", "list", "--json"))[0]["name"] == "b?d"


@pytest.mark.parametrize(("answer", "said"), [("y", "removed "), ("n", "aborted"), ("", "aborted")])
def test_on_a_terminal_it_asks(zot, made, answer, said):
    installed(zot, made)
    terminal, other = pty.openpty()
    os.write(terminal, answer.encode() + b"\n")
    outcome = run(zot, "ext", "remove", "guard", stdin=other)
    os.close(terminal)
    os.close(other)
    folder = zot.home / "extensions" / "guard"
    assert outcome.status == 0
    assert outcome.stderr.startswith(f"remove {folder}? [y/N] {said}")
    assert folder.exists() == (said == "aborted")


def test_consent_to_more_of_the_environment(zot, made):
    installed(zot, made)
    source(made, env=["SOME_KEY"])
    outcome = run(zot, "ext", "update")
    assert outcome.status == 1
    assert "'guard' now asks for SOME_KEY" in outcome.stderr
    assert "--yes agrees" in outcome.stderr
    assert run(zot, "ext", "update", "--json").status == 1
    terminal, other = pty.openpty()
    os.write(terminal, b"y\n")
    outcome = run(zot, "ext", "update", stdin=other)
    os.close(terminal)
    os.close(other)
    assert outcome.stderr.startswith("guard now asks for SOME_KEY; agree? [y/N] updated guard")


def test_one_that_fails_does_not_keep_the_others_from_being_updated(zot, made):
    other = source(zot.folder / "other", name="another")
    for each in (made, other):
        installed(zot, each)
    source(made, version="2", program="#!/bin/sh\n")
    (other / "extension.json").unlink()
    outcome = run(zot, "ext", "update")
    assert outcome.status == 1
    assert "zot ext update: " in outcome.stderr
    assert "updated guard 1.0 -> 2" in outcome.stderr
    assert [one["action"] for one in records(run(zot, "ext", "update", "--json"))] == ["failed", "up to date"]
