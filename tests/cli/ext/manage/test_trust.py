"""`zot ext trust`: its exit status, and what it says alone."""

from __future__ import annotations

import json

import pytest

from tests.support.install_sources import source
from tests.support.zot_fork import run


@pytest.mark.parametrize(
    ("args", "status"),
    [(["gard"], 2), (["--revoke", "guard"], 2), (["./nowhere"], 2), (["."], 1), (["guard"], 0), (["./guard"], 2)],
    ids=["unknown", "not trusted", "no such folder", "no manifest", "by name", "not here"],
)
def test_exit_status(zot, args, status):
    source(zot.cwd / ".zot" / "extensions" / "guard")
    outcome = run(zot, "ext", "trust", "--json", *args)
    assert outcome.status == status, outcome
    assert all(json.loads(line) for line in outcome.stdout.splitlines())
    assert outcome.stderr.count("\n") == (status != 0)


def test_an_agent_s_tool_records_nothing(zot):
    """`bash` of a run has the host's mark in its environment, and no terminal."""
    source(zot.cwd / ".zot" / "extensions" / "guard")
    zot.env["ZOT_HOST_TOKEN"] = "x"
    for args in (["guard"], ["--project", "--yes"], ["guard", "--json"]):
        outcome = run(zot, "ext", "trust", *args)
        assert outcome.status == 1
        assert outcome.stderr.startswith("zot ext trust: an agent's tool or an extension has started this")
    assert not (zot.home / "trust.json").exists()
    assert run(zot, "ext", "trust", "--list").status == 0


def test_alone_it_shows_what_waits(zot):
    extensions = zot.cwd / ".zot" / "extensions"
    source(extensions / "guard", env=["SOME_TOKEN"])
    source(extensions / "quiet", name="quiet", enabled=False)
    source(extensions / "known", name="known")
    source(zot.home / "extensions" / "mine", name="mine")
    assert run(zot, "ext", "trust", "known").status == 0
    outcome = run(zot, "ext", "trust")
    assert outcome.status == 1
    lines = outcome.text.splitlines()
    assert lines[0] == "name    guard"
    assert lines[1].startswith(f"folder  {extensions / 'guard'} (2 files, ")
    assert "asks    for SOME_TOKEN" in lines
    assert lines[-1] == "waits   never seen: zot ext trust guard"
    assert [line for line in lines if line.startswith("name")] == ["name    guard"]
    assert outcome.stderr == (
        f"zot ext trust: 1 extension of {zot.cwd} not trusted yet: name one, or zot ext trust --project for all\n"
    )
    machine = run(zot, "ext", "trust", "--json")
    assert (machine.status, [row["name"] for row in machine.json_lines]) == (1, ["guard"])
    assert machine.json_lines[0]["standing"] == "never seen"
    assert not (zot.home / "withheld.json").exists()

    assert run(zot, "ext", "trust", "guard").status == 0
    outcome = run(zot, "ext", "trust")
    assert (outcome.status, outcome.stdout) == (0, b"")
    assert outcome.stderr == f"zot ext trust: nothing waits for trust in {zot.cwd}\n"


def test_alone_it_says_what_cannot_be_read(zot):
    (source(zot.cwd / ".zot" / "extensions" / "guard") / "extension.json").write_text("{")
    outcome = run(zot, "ext", "trust")
    assert outcome.status == 1
    assert "parse manifest" in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_yes_alone_agrees_to_nothing(zot):
    source(zot.cwd / ".zot" / "extensions" / "guard")
    outcome = run(zot, "ext", "trust", "--yes")
    assert outcome.status == 2
    assert "add a NAME, or --project for all of them" in outcome.stderr
    assert not (zot.home / "trust.json").exists()
