"""Where the Copilot SDK is looked for, and which are not used."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from supervisor.discovery.copilot.sdk import PACKAGE, Sdk, SdkPlace, SdkSearch, search

if TYPE_CHECKING:
    from pathlib import Path

GOOD = {"name": PACKAGE, "version": "1.0.14", "exports": {".": "./a.js", "./extension": "./b.js"}}


@pytest.fixture
def places(tmp_path):
    """A project with an extension, the user's extension, and `$ZOT_HOME`."""
    inside = tmp_path / "project" / ".github" / "extensions" / "guard"
    outside = tmp_path / "user" / "extensions" / "guard"
    for folder in (inside, outside, tmp_path / "home"):
        folder.mkdir(parents=True)
    return inside, outside, tmp_path / "project", tmp_path / "home"


def problem_of(found: SdkSearch) -> str:
    assert found.problem is not None
    return found.problem.text


def put(folder: Path, **changed: object) -> Path:
    path = folder / "node_modules" / PACKAGE
    path.mkdir(parents=True)
    (path / "package.json").write_text(json.dumps({**GOOD, **changed}))
    return path


def test_the_nearest_is_taken(places):
    inside, _, project, home = places
    assert search(inside, project, home).sdk is None
    at_home = put(home / "copilot-sdk")
    assert search(inside, project, home).sdk == Sdk(at_home, "1.0.14", SdkPlace.HOME)
    of_project = put(project, version="1.2.3")
    assert search(inside, project, home).sdk == Sdk(of_project, "1.2.3", SdkPlace.PROJECT)
    between = put(project / ".github", version="2.0.0-beta.1+x")
    assert search(inside, project, home).sdk == Sdk(between, "2.0.0-beta.1+x", SdkPlace.PROJECT)
    own = put(inside, version="1.0.0")
    assert search(inside, project, home).sdk == Sdk(own, "1.0.0", SdkPlace.EXTENSION)


def test_folders_above_the_project_and_another_project_are_not_looked_at(places):
    inside, outside, project, home = places
    put(project.parent)
    assert search(inside, project, home).sdk is None
    put(project)
    assert search(outside, project, home).sdk is None
    assert search(inside, None, home).sdk is None
    own = put(outside)
    assert search(outside, project, home).sdk == Sdk(own, "1.0.14", SdkPlace.EXTENSION)


def test_what_is_missing_is_said_with_what_to_do(places):
    inside, _, project, home = places
    assert problem_of(search(inside, project, home)) == (
        "it needs @github/copilot-sdk, which is not installed: zot ext install-sdk copilot"
    )
    old = put(project, version="0.1.32")
    found = search(inside, project, home)
    assert problem_of(found) == (
        f"it needs @github/copilot-sdk; {old} is version 0.1.32, older than 1.0.0: zot ext install-sdk copilot"
    )
    at_home = put(home / "copilot-sdk")
    found = search(inside, project, home)
    assert (found.sdk, found.problem) == (Sdk(at_home, "1.0.14", SdkPlace.HOME), None)
    assert found.unfit == (f"{old} is version 0.1.32, older than 1.0.0",)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "has no package.json"),
        ("{", "package.json is no JSON"),
        ("[" * 100_000, "package.json is no JSON"),
        ("[]", "package.json names no version"),
        ('{"version": 1}', "package.json names no version"),
        ('{"version": "latest"}', "package.json names no version"),
        ('{"version": "99999999999.0.0"}', "package.json names no version"),
        ('{"version": "1.0.0", "exports": "./index.js"}', "(version 1.0.0) has no entry for extensions"),
        ('{"version": "1.0.0", "exports": {".": "./index.js"}}', "(version 1.0.0) has no entry for extensions"),
        ('{"version": "1.0.0"}' + " " * (1 << 20), "package.json cannot be read: Larger than 1 MiB"),
    ],
)
def test_one_that_cannot_be_used_is_named(places, content, words):
    inside, _, project, home = places
    path = put(project)
    (path / "package.json").unlink()
    if content is not None:
        (path / "package.json").write_text(content)
    found = search(inside, project, home)
    assert found.sdk is None
    assert words in problem_of(found)
    assert str(path) in problem_of(found)


def test_files_in_the_way_and_links(places):
    inside, _, project, home = places
    (inside / "node_modules").write_text("a file")
    assert search(inside, project, home).sdk is None
    real = put(project.parent / "elsewhere")
    (project / "node_modules").symlink_to(real.parents[1])
    assert search(inside, project, home).sdk == Sdk(project / "node_modules" / PACKAGE, "1.0.14", SdkPlace.PROJECT)
    (project / "node_modules").unlink()
    (project / "node_modules").symlink_to(project / "nowhere")
    assert search(inside, project, home).sdk is None
