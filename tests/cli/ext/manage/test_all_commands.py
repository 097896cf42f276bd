"""Rules for all commands about installed extensions: outputs, exit statuses, and that none starts an extension."""

from __future__ import annotations

import os

import pytest

from supervisor.discovery.found_extension import Scope
from tests.support.install_sources import manifest_in, source
from tests.support.zot_fork import run

EVERY = ("list", "info guard", "install .", "update", "remove guard -y", "enable guard", "disable guard")


def test_an_extension_is_installed_listed_disabled_updated_and_removed(zot, made, broken):
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
    assert header.split() == ["scope", "name", "version", "enabled", "language", "trusted", "tokens", "source", "dir"]
    assert bad.split()[:4] == ["user", "broken", "-", "broken"]
    assert f"{broken} manifest: name must be 1 to 64 characters" in bad
    assert good.split() == ["user", "guard", "1.0", "yes", "-", "-", "-", str(made), str(folder)]
    first, second = run(zot, "ext", "list", "--json").json_lines
    assert first["broken"].startswith("manifest: name must be")
    assert {**second, "broken": 1} == {**second, "broken": 1, "name": "guard", "enabled": True, "dir": str(folder)}

    assert run(zot, "ext", "disable", "guard").stderr == "disabled guard\n"
    assert run(zot, "ext", "disable", "guard").stderr == "guard is disabled already\n"
    assert manifest_in(folder)["enabled"] is False
    assert run(zot, "ext", "enable", "guard", "--json").json_lines[0]["changed"] is True

    source(made, version="1.1", program="#!/bin/sh\n")
    outcome = run(zot, "ext", "update")
    assert (outcome.status, outcome.stdout) == (0, b"")
    assert outcome.stderr.startswith("updated guard 1.0 -> 1.1 (")
    assert "guard 1.1 is up to date (" in run(zot, "ext", "update", "guard").stderr
    (done,) = run(zot, "ext", "update", "--json").json_lines
    assert (done["action"], done["from"], done["local_changes"]) == ("up to date", done["to"], False)

    told = run(zot, "ext", "info", "guard").text
    assert f"folder        {folder} (user)\n" in told
    assert "local changes none\n" in told
    assert "running       in no host\n" in told
    (known,) = run(zot, "ext", "info", "guard", "--json").json_lines
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


@pytest.mark.parametrize("command", EVERY)
def test_every_command_works_beside_a_broken_extension(zot, made, broken, command):
    source(zot.home / "extensions" / "guard")
    words = command.split()
    cwd = made if words[0] == "install" else zot.cwd
    if words[0] == "install":
        source(made, name="third", program="#!/bin/sh\n")
    outcome = run(zot, "ext", *words, cwd=cwd)
    assert outcome.status == 0, outcome
    assert "Traceback" not in outcome.stderr


def test_both_scopes_need_a_flag(zot, made, installed):
    for scope in Scope.PROJECT, Scope.GLOBAL:
        installed(made, scope)
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
        ("remove guard", 2, "no terminal to ask whether to remove"),
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
def test_usage_errors_are_one_line(zot, made, installed, args, status, complaint):
    installed(made)
    outcome = run(zot, "ext", *args.split())
    assert (outcome.status, outcome.stdout) == (status, b"")
    assert complaint in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1


def test_terminal_escapes_of_a_manifest_are_not_shown(zot, made):
    source(made, description="\x1b]0;title\x07\x1b[31mred", version="\x1b[2J1")
    shown = (
        run(zot, "ext", "install", made).stderr + run(zot, "ext", "list").text + run(zot, "ext", "info", "guard").text
    )
    assert "\x1b" not in shown
    assert "red" in shown
