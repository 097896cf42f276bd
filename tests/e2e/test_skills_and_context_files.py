"""A run with skills and context files: what the model is told, what it may call, and a replay on another machine."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.extension_folder import folder
from tests.support.messages_server import MessagesServer, text_reply, tool_reply
from tests.support.zot_process import Zot
from wire.exit_codes import Status

if TYPE_CHECKING:
    from pathlib import Path

GUARD = """\
import json, sys
def say(**frame): print(json.dumps(frame), flush=True)
say(type="hello", name="noisy")
say(type="subscribe", intercept=["tool_call"])
say(type="ready")
for line in sys.stdin:
    asked = json.loads(line)
    if asked["type"] == "event_intercept":
        say(type="event_intercept_response", id=asked["id"], block=asked["tool_name"] == "write", reason="by the guard")
    elif asked["type"] == "shutdown":
        break
"""
SKILLS = {
    "project/.zot": (
        "deploy",
        "---\ndescription: Puts it there.\nallowed-tools: Read, Bash(cat:*)\n---\nRead first.\n",
    ),
    "user/.claude": ("theirs", "Body\n"),
    "home": ("bad", "---\nname: a\n"),
}
SCRIPT = (
    tool_reply([("skill", {"name": "deploy"}), ("read", {"path": "a.txt"}), ("write", {"path": "b", "content": ""})]),
    tool_reply([("bash", {"command": "cat a.txt"}), ("bash", {"command": "cat a.txt > b"}), ("skill", {"name": "no"})]),
    text_reply("Done."),
)


def machine(parent: Path) -> Zot:
    """A project inside of a repository, a home, and skills and context files in all of them."""
    parent.mkdir(parents=True)
    zot = Zot(parent)
    zot.env["HOME"] = str(parent / "user")
    (zot.folder / ".git").mkdir()
    (zot.cwd / "a.txt").write_text("alpha\n")
    for place, (name, text) in SKILLS.items():
        made = parent / place / "skills" / name
        made.mkdir(parents=True)
        (made / "SKILL.md").write_text(text)
    for path in ("home/AGENTS.md", "CLAUDE.md", "project/AGENTS.md"):
        (parent / path).write_text(f"In {path}.\n")
    return zot


def run(zot: Zot, *flags: object):
    guard = zot.folder / "ext-noisy"
    if not guard.exists():
        folder(zot.folder, "noisy", [sys.executable, "-I", "-S", "-c", GUARD])
    return zot.run("--json", "--with-skills", "--ext-wait", "120", "-e", guard, *flags, "go")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """For all tests of the module, to be read only: the run, its requests, and its cassette."""
    zot = machine(tmp_path_factory.mktemp("recorded") / "one")
    cassette = zot.folder / "cassette.jsonl"
    with MessagesServer(*SCRIPT) as server:
        outcome = run(zot, "--base-url", server.base_url, "--record", cassette)
        return outcome.check(Status.OK), zot, cassette, [request.body for request in server.requests]


def test_the_model_is_told_of_skills_and_context_files(recorded):
    _, zot, _, requests = recorded
    block, changing = requests[0]["system"]
    assert changing["text"].endswith(f"\nCurrent working directory: {zot.cwd}\n")
    where = zot.folder
    listed = block["text"][block["text"].index("\n- deploy") : block["text"].index("\n\n# Instructions")].splitlines()
    assert listed[1:3] == [
        "- deploy [.zot/skills/deploy/SKILL.md]: Puts it there.",
        f"- theirs [{where}/user/.claude/skills/theirs/SKILL.md]: (no description)",
    ]
    assert listed[3].startswith("- write-zot-extension [builtin]: Write, test")
    named = {f"{where}/home/AGENTS.md": "home/AGENTS.md", "../CLAUDE.md": "CLAUDE.md", "AGENTS.md": "project/AGENTS.md"}
    said = block["text"][block["text"].index("## ") :]
    assert said == "\n\n".join(f"## {name}\n\nIn {path}." for name, path in named.items())
    assert [tool["name"] for tool in requests[0]["tools"]] == ["bash", "edit", "read", "skill", "write"]
    assert requests[0]["tools"] == requests[2]["tools"]


def test_only_allowed_tools_are_run_and_no_guard_is_asked_about_others(recorded):
    outcome, zot, _, _ = recorded
    skill, read, write, cat, wide, unknown = outcome.tool_texts()
    assert skill == "# Skill: deploy\n\nPuts it there.\n\n---\n\nRead first.\n"
    assert read == "alpha\n"
    allowed = "was not run: until the end of this prompt the skill deploy allows only Read, Bash(cat:*) and skill"
    assert write == f"write {allowed}"
    assert "alpha" in cat
    assert wide.startswith(f"bash {allowed}; such a command of bash must be a single one")
    assert unknown == 'skill: no skill named "no"; there are deploy, theirs and write-zot-extension'
    assert not (zot.cwd / "b").exists()
    bad = zot.home / "skills" / "bad" / "SKILL.md"
    assert [line for line in outcome.warnings if "skill" in line] == [
        f"zot: skill {bad}:1: the frontmatter that begins here has no end: a line --- must follow it; "
        "the skill is skipped"
    ]


def test_the_cassette_plays_where_all_folders_are_others(recorded, tmp_path):
    outcome, zot, cassette, _ = recorded
    text = cassette.read_text()
    assert str(zot.folder) not in text
    for name in ("zot_home", "home"):
        assert f"{{{{{name}}}}}/" in text
    assert "Current working directory: {{cwd}}" in text
    again = run(machine(tmp_path / "else" / "where"), "--replay", cassette).check(Status.OK)
    assert again.tool_texts()[:3] == outcome.tool_texts()[:3]


def test_without_skills_and_context_files_the_model_hears_of_neither(tmp_path):
    zot = machine(tmp_path / "one")
    with MessagesServer(text_reply("Done.")) as server:
        zot.run("--json", "--base-url", server.base_url, "--no-skill", "--no-context-files", "go").check(Status.OK)
        body = server.requests[0].body
    assert "\n- write-zot-extension" not in body["system"][0]["text"]
    assert "AGENTS" not in body["system"][0]["text"]
    assert [tool["name"] for tool in body["tools"]] == ["bash", "edit", "read", "write"]
