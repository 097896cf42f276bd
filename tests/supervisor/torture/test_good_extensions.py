"""Our examples stand all faults. So do new extensions in all languages: `tests/cli/ext/culprit/test_torture.py`."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from supervisor.harness.harness import Harness
from supervisor.harness.script_runner import find_extension
from supervisor.torture.runner import Torture, torture
from supervisor.torture.score import Outcome
from tests.support.extension_folder import EXAMPLES, folder
from tests.support.mcp_servers import published
from tests.vectors.record import lacks

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.discovery.found_extension import FoundExtension

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


def test_the_server_of_the_guide_stands_all_faults(tmp_path):
    check(play(find_extension(folder(tmp_path, "outline", [sys.executable, str(OUTLINE)], dialect="mcp"))))


def test_a_published_server_stands_nearly_all_faults(tmp_path: Path):
    (argv,) = published("memory")
    result = play(find_extension(folder(tmp_path, "memory", argv, dialect="mcp", timeouts=PATIENT)))
    assert result.failure == ""
    assert result.score.percent > 90.0, {row.fault.name: row.reason for row in result.rows}
