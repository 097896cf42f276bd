"""The extensions of a batch, as two machines compare them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.batch.cluster.extension_facts import ExtensionFacts, folder_extensions, trusted_content
from agent.options import RunRequest
from tests.support.extension_folder import extension, folder
from tests.support.mcp_files import write_servers
from wire.batch.node_frames import FolderExtensions
from wire.batch.task import Task

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_equal_content_in_another_place_is_equal(tmp_path: Path) -> None:
    made = [extension(tmp_path / place, "echo") for place in ("one", "two")]
    runs = [RunRequest(extensions=(str(each),), discover=False) for each in made]
    first, second = (ExtensionFacts(tmp_path / "home").find(run) for run in runs)
    assert first == second
    assert [(fact.name, fact.trust) for fact in first] == [("echo", "")]
    assert first[0].content
    (made[1] / "more").touch()
    assert ExtensionFacts(tmp_path / "home").find(runs[1])[0].content != first[0].content


def test_one_that_is_not_trusted_says_so_and_has_its_content(tmp_path: Path) -> None:
    project = tmp_path / "project"
    made = folder(project / ".zot" / "extensions", "mine", ["true"])
    named = RunRequest(cwd=str(project), extensions=(str(made),), discover=False)
    (fact,) = ExtensionFacts(tmp_path / "home").find(RunRequest(cwd=str(project)))
    assert fact.name == "mine"
    assert fact.trust.startswith("not trusted (never seen)")
    assert fact.content == ExtensionFacts(tmp_path / "home").find(named)[0].content
    (fact,) = ExtensionFacts(tmp_path / "home").find(RunRequest(cwd=str(project), trust_project=True))
    assert fact.trust == ""


def test_each_folder_and_each_ext_of_the_tasks_is_looked_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        folder(tmp_path / name / ".zot" / "extensions", name, ["true"])
    echo = str(extension(tmp_path, "echo"))
    folders = [str(tmp_path / name) for name in ("one", "two", "one")]
    tasks = [Task(id=str(at), prompt="x", cwd=cwd) for at, cwd in enumerate(folders)]
    tasks.append(Task(id="3", prompt="x", cwd=folders[0], ext=(echo,)))
    run = RunRequest(cwd="/nowhere", trust_project=True)
    found = folder_extensions(run, tasks, tmp_path / "home")
    assert [(each.cwd, each.named, [fact.name for fact in each.found]) for each in found] == [
        (folders[0], (), ["one"]), (folders[1], (), ["two"]), (folders[0], (echo,), ["echo", "one"]),
    ]  # fmt: skip
    marks = trusted_content(found)
    assert [mark.partition(" ")[2] for mark in marks].count("one") == 1
    assert {mark.partition(" ")[2] for mark in marks} == {"echo", "one", "two"}
    assert trusted_content(folder_extensions(RunRequest(), tasks[:3], tmp_path / "home")) == ()
    monkeypatch.setattr("agent.batch.cluster.extension_facts.MOST_FOLDERS", 2)
    assert folder_extensions(run, tasks, tmp_path / "home") == found[:2]


def test_a_server_of_the_project_has_its_content(tmp_path: Path) -> None:
    write_servers(tmp_path / "project" / ".mcp.json", server={"command": "true"})
    facts = ExtensionFacts(tmp_path / "home")
    (fact,) = facts.find(RunRequest(cwd=str(tmp_path / "project")))
    assert fact.content
    assert fact.trust.startswith("not trusted (never seen)")
    marks = trusted_content([FolderExtensions("", (), (replace(fact, trust=""),))])
    (fact,) = facts.find(RunRequest(cwd=str(tmp_path / "project"), trusted_content=marks))
    assert fact.trust == ""


def test_those_that_are_disabled_or_no_folder_or_broken(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder(home / "extensions", "off", ["true"], enabled=False)
    folder(home / "extensions", "sound", ["true"])
    broken = folder(home / "extensions", "broken", ["true"])
    (broken / "extension.json").write_text("{")
    write_servers(home / "mcp.json", server={"command": "true"})
    facts = ExtensionFacts(home).find(RunRequest(cwd=str(tmp_path)))
    found = {fact.name: (bool(fact.content), bool(fact.trust)) for fact in facts}
    assert found == {
        "sound": (True, False),
        "ext-broken": (False, True),
        "server": (False, False),
    }
    assert json.dumps([fact.trust for fact in facts]).count("\\n") == 0
