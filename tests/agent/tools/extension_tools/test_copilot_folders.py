"""The same with what it is made for: Copilot extensions that the model writes, under Node with the real SDK."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from cli.ext.manage.trust_actions import run_trust
from supervisor.cleanup.env_marks import TOKEN
from supervisor.discovery.copilot.scaffold import skeleton
from tests.support.copilot_host import sdk
from tests.support.writing_model import Project

if TYPE_CHECKING:
    from pathlib import Path

SCAFFOLD = ("extensions_manage", {"operation": "scaffold", "name": "my-tool"})
LIST = ("extensions_manage", {"operation": "list"})
INSPECT = ("extensions_manage", {"operation": "inspect", "name": "my-tool"})
GREET = ("my_tool_greet", {"who": "Ada"})
TRUST = "a person has to look at it, and run in a terminal: zot ext trust my-tool"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(tmp_path)
    (made.cwd / ".git").mkdir()
    monkeypatch.setenv("COPILOT_HOME", str(tmp_path / "copilot"))
    monkeypatch.setenv("ZOT_HOME", str(made.home))
    monkeypatch.delenv(TOKEN, raising=False)  # a supervisor in this process may have set it, and then nobody may trust
    shutil.copytree(sdk().parents[2], made.home / "copilot-sdk", symlinks=True)
    return made


def trust(project: Project) -> None:
    """Does as a person would."""
    options = {"project": False, "listing": False, "revoke": None, "yes": True, "as_json": False}
    assert run_trust("my-tool", cwd=str(project.cwd), **options) == 0


def write(project: Project, text: str) -> tuple[str, dict[str, str]]:
    return ("write", {"path": str(program(project)), "content": text})


def program(project: Project) -> Path:
    return project.cwd / ".github" / "extensions" / "my-tool" / "extension.mjs"


def test_from_the_scaffold_to_the_first_call_within_one_prompt(project: Project):
    marked = skeleton("my-tool").replace("Hello", "Hi")
    marked += f"import fs from 'node:fs';\nfs.writeFileSync('{project.marks}/ran', '');\n"
    made, _, refused, listed, _, started, inspected, said = project.results(
        SCAFFOLD,
        write(project, marked),
        "extensions_reload",
        LIST,
        lambda: project.ran() == set() or pytest.fail("it ran unseen"),
        ("bash", {"command": "true"}),
        lambda: trust(project),
        "extensions_reload",
        INSPECT,
        GREET,
        trust_project=True,
    )
    assert made.startswith(f"made {program(project)}, a skeleton with the tool my_tool_greet.")
    assert made.endswith(TRUST)
    assert refused.endswith(f"- my-tool: not started: not trusted (never seen); {TRUST}")
    assert listed.endswith(f"- my-tool (project): not trusted (never seen), so it does not run: {TRUST}")
    assert started.splitlines()[1:] == [
        "- my-tool: started; new tools: my_tool_greet",
        "the new tools can be called from now on",
    ]
    assert "state: running" in inspected
    assert "tools: my_tool_greet\nguards: none" in inspected
    assert said == "Hi, Ada!"
    assert project.ran() == {"ran"}


@pytest.mark.parametrize("how", ["program", "manifest", "sdk"])
def test_what_a_person_has_trusted_goes_on_as_it_was(project: Project, how: str):
    def attack() -> None:
        if how == "program":
            program(project).write_text(skeleton("my-tool").replace("Hello", "Evil"))
        elif how == "manifest":
            (program(project).parent / "extension.json").write_text('{"env": ["GITHUB_TOKEN"]}')
        else:
            planted = project.cwd / "node_modules" / "@github"
            planted.mkdir(parents=True)
            shutil.copytree(sdk(), planted / "copilot-sdk", ignore=shutil.ignore_patterns("docs"))

    _, _, told, said = project.results(
        SCAFFOLD, lambda: trust(project), "extensions_reload", attack, "extensions_reload", GREET
    )
    why = "it now asks for GITHUB_TOKEN" if how == "manifest" else "its files have changed"
    assert told.endswith(f"- my-tool: not reloaded: not trusted ({why}); {TRUST}; the running version stays")
    assert said == "Hello, Ada!"


def test_one_that_fails_is_told_with_its_reason(project: Project):
    made, told, listed = project.results(
        SCAFFOLD,
        lambda: program(project).write_text("throw new Error('no key here');\n"),
        lambda: trust(project),
        "extensions_reload",
        LIST,
    )
    assert made
    assert "- my-tool: not started: it exited before its hello (exit 1)" in told
    assert "no key here" in told
    assert "- my-tool (project): failed, is restarted soon: " in listed
