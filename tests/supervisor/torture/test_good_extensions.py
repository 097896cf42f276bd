"""Our examples, and new extensions in all languages, stand all faults."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from supervisor.discovery.copilot.preparation import prepare
from supervisor.discovery.discover import read_manifest
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.harness.harness import Harness
from supervisor.harness.script_runner import find_extension
from supervisor.torture.runner import Torture, torture
from supervisor.torture.score import Outcome
from tests.support.copilot_host import VERSIONS, sdk
from tests.support.extension_folder import EXAMPLES, folder
from tests.support.mcp_servers import published
from tests.vectors.record import lacks

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.zot_process import Zot

pytestmark = pytest.mark.slow
OUTLINE = EXAMPLES.parent / "mcp" / "outline.py"
PATIENT = {"hello": 60.0, "ready": 60.0}


def play(found: FoundExtension) -> Torture:
    with Harness() as harness:
        return torture(harness, found, seed=20, at_once=2)


def check(result: Torture) -> None:
    assert result.failure == ""
    assert {row.fault.name: row.reason for row in result.rows if row.outcome is Outcome.NOT_HELD} == {}
    assert result.score.percent == 100.0
    assert result.score.applicable > 50


@pytest.mark.parametrize("name", sorted(each.name for each in EXAMPLES.iterdir() if (each / "extension.json").exists()))
def test_an_example_stands_all_faults(name, tmp_path):
    example = EXAMPLES / name
    if missing := lacks(example):
        pytest.skip(f"{missing} here, which runs {name}")
    if (example / "go.mod").exists():
        import subprocess

        if shutil.which("go") is None:
            pytest.skip(f"no go here, which builds {name}")
        example = tmp_path / name
        shutil.copytree(EXAMPLES / name, example)
        subprocess.run(["go", "build"], cwd=example, check=True)
    check(play(find_extension(example)))


@pytest.mark.parametrize("language", ["python", "typescript", "sh"])
def test_a_new_extension_stands_all_faults(language, zot: Zot):
    assert zot.run("ext", "new", "fresh", "--lang", language).status == 0
    new = zot.cwd / "fresh"
    if missing := lacks(new):
        pytest.skip(f"{missing} here, which runs it")
    check(play(find_extension(new)))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_new_copilot_extension_stands_all_faults(version, zot: Zot):
    package = sdk(version)
    assert zot.run("ext", "new", "fresh", "--lang", "copilot").status == 0
    (zot.home / "copilot-sdk").mkdir(parents=True)
    (zot.home / "copilot-sdk" / "node_modules").symlink_to(package.parents[1])
    new = zot.cwd / "fresh"
    found, lacking = prepare(FoundExtension(new, read_manifest(new), Scope.EXPLICIT), zot.cwd, zot.home)
    assert lacking is None
    check(play(found))


def test_the_server_of_the_guide_stands_all_faults(tmp_path):
    check(play(find_extension(folder(tmp_path, "outline", [sys.executable, str(OUTLINE)], dialect="mcp"))))


@pytest.mark.parametrize("name", ["everything", "filesystem", "memory", "time"])
def test_a_published_server_stands_nearly_all_faults(name, tmp_path: Path):
    (argv,) = published(name)
    place = [str(tmp_path)] if name == "filesystem" else []
    server = folder(tmp_path, name, [*argv, *place], dialect="mcp", timeouts=PATIENT, env_policy="inherit")
    assert os.access(argv[0], os.X_OK)
    result = play(find_extension(server))
    assert result.failure == ""
    assert result.score.percent > 90.0, {row.fault.name: row.reason for row in result.rows}
