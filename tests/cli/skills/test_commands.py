"""`zot skill`: which skills there are, what hides what, and what the model gets."""

from __future__ import annotations

import os
import pty

import pytest

import cli.skills.commands  # noqa: F401  (once, and not in each fork)
from agent.skills.builtin_skills import builtin_skills
from tests.support.patience import PATIENCE_S
from tests.support.zot_fork import run
from wire.exit_codes import Status


@pytest.fixture
def skilled(zot):
    """A project's skill hides one of the user; another is faulty."""
    zot.env["HOME"] = str(zot.folder)
    for parent, name, text in (
        (zot.cwd / ".zot", "deploy", "---\ndescription: Puts it there.\nallowed-tools: [Read]\n---\nGo \x1b[31mon.\n"),
        (zot.home, "deploy", "The user's\n"),
        (zot.home, "bad", "---\nname: [\n---\n"),
    ):
        folder = parent / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(text)
    return zot


def test_the_list_says_where_each_comes_from_and_what_hides_it(skilled):
    outcome = run(skilled, "skill", "list", "--json")
    assert outcome.status == 0
    own, builtin, hidden = outcome.json_lines
    path = str(skilled.cwd / ".zot" / "skills" / "deploy" / "SKILL.md")
    assert own == {
        "name": "deploy", "description": "Puts it there.", "source": path, "extension": None, "allowed_tools": ["Read"],
        "shadowed_by": None,
    }  # fmt: skip
    assert (builtin["name"], builtin["source"], builtin["allowed_tools"]) == ("write-zot-extension", "builtin", None)
    assert (hidden["source"], hidden["shadowed_by"]) == (f"{skilled.home}/skills/deploy/SKILL.md", path)
    (warning,) = outcome.warnings
    assert warning.startswith(f"zot: skill {skilled.home}/skills/bad/SKILL.md:3: not YAML")
    table = run(skilled, "skill", "list").text.splitlines()
    assert table[0].split() == ["name", "source", "allowed", "tools", "description"]
    assert f"(hidden by {path})" in table[3]


def test_show_prints_what_the_model_gets(skilled):
    outcome = run(skilled, "skill", "show", "write-zot-extension", "-C", "/")
    assert outcome.text == builtin_skills()[0].text
    assert "\x1b[31mon." in run(skilled, "skill", "show", "deploy").text
    ours, theirs = pty.openpty()
    with skilled.start("skill", "show", "deploy", stdout=theirs) as running:
        assert running.process.wait(PATIENCE_S) == 0
    os.close(theirs)
    shown = os.read(ours, 10_000)
    os.close(ours)
    assert b"Go on." in shown
    assert b"\x1b" not in shown


def test_an_unknown_name_and_a_folder_that_is_none_are_misuse(skilled):
    outcome = run(skilled, "skill", "show", "deplyo")
    assert (outcome.status, outcome.stdout) == (Status.USAGE.exit_code, b"")
    assert outcome.warnings[-1] == "zot skill show: no such skill: 'deplyo'; did you mean 'deploy'?"
    outcome = run(skilled, "skill", "list", "--cwd", "nowhere")
    assert (outcome.status, outcome.stderr) == (
        Status.USAGE.exit_code,
        "zot skill list: --cwd nowhere: no such folder\n",
    )


def test_an_empty_folder_is_misuse(skilled):
    """A script whose variable is not set means another folder than this one."""
    said = "zot skill list: --cwd is empty: give it a value, or leave it out\n"
    assert run(skilled, "skill", "list", "-C", " ").stderr == said


def test_names_are_completed(skilled):
    env = {"_ZOT_COMPLETE": "complete_bash", "COMP_WORDS": "zot skill show d", "COMP_CWORD": "3"}
    assert skilled.run(env=env).text.split() == ["deploy"]
