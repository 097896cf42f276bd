"""The extensions of a batch, as two machines compare them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agent.batch.cluster.extension_facts import extension_facts
from agent.options import RunRequest
from tests.support.extension_folder import extension, folder
from tests.support.mcp_files import write_servers

if TYPE_CHECKING:
    from pathlib import Path


def test_equal_content_in_another_place_is_equal(tmp_path: Path) -> None:
    made = [extension(tmp_path / place, "echo") for place in ("one", "two")]
    runs = [RunRequest(extensions=(str(each),), discover=False) for each in made]
    first, second = (extension_facts(run, tmp_path / "home") for run in runs)
    assert first == second
    assert [(fact.name, fact.trust) for fact in first] == [("echo", "")]
    assert first[0].content
    (made[1] / "more").touch()
    assert extension_facts(runs[1], tmp_path / "home")[0].content != first[0].content


def test_one_that_is_not_trusted_says_so_and_has_its_content(tmp_path: Path) -> None:
    project = tmp_path / "project"
    made = folder(project / ".zot" / "extensions", "mine", ["true"])
    named = RunRequest(cwd=str(project), extensions=(str(made),), discover=False)
    (fact,) = extension_facts(RunRequest(cwd=str(project)), tmp_path / "home")
    assert fact.name == "mine"
    assert fact.trust.startswith("not trusted (never seen)")
    assert fact.content == extension_facts(named, tmp_path / "home")[0].content
    (fact,) = extension_facts(RunRequest(cwd=str(project), trust_project=True), tmp_path / "home")
    assert fact.trust == ""


def test_those_that_are_disabled_or_no_folder_or_broken(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder(home / "extensions", "off", ["true"], enabled=False)
    folder(home / "extensions", "sound", ["true"])
    broken = folder(home / "extensions", "broken", ["true"])
    (broken / "extension.json").write_text("{")
    write_servers(home / "mcp.json", server={"command": "true"})
    facts = extension_facts(RunRequest(cwd=str(tmp_path)), home)
    found = {fact.name: (bool(fact.content), bool(fact.trust)) for fact in facts}
    assert found == {"sound": (True, False), "ext-broken": (False, True), "server": (False, False)}
    assert json.dumps([fact.trust for fact in facts]).count("\\n") == 0
