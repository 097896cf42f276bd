"""The examples in Go: built as their READMEs say, formatted, and just like their twins in other languages."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from supervisor.harness.script import parse_script, read_script
from tests.support.script_runs import run_script
from tests.vectors.record import EXAMPLES, HERE

TWINS = {"hello-go": "hello", "weather-go": "weather"}


@pytest.mark.parametrize("name", TWINS)
def test_a_go_example_passes_its_scripts(name, folder_of):
    folder = folder_of(name)
    outcome = run_script(folder, read_script(folder / "tests" / "conversation.jsonl"))
    assert outcome.failure is None, "\n".join([*outcome.failure.lines(), *outcome.stderr])


@pytest.mark.parametrize(("name", "twin"), TWINS.items())
def test_a_go_example_says_what_its_twin_says(name, twin, folder_of):
    vector = (HERE / f"{twin}.jsonl").read_bytes()
    vector = vector.replace(f'"name":"{twin}","version"'.encode(), f'"name":"{name}","version"'.encode())
    vector = vector.replace(f'"error":"{twin} has'.encode(), f'"error":"{name} has'.encode())
    outcome = run_script(folder_of(name), parse_script(vector, name))
    assert outcome.failure is None, "\n".join([*outcome.failure.lines(), *outcome.stderr])


@pytest.mark.parametrize("name", TWINS)
def test_the_source_is_tidy(name, folder_of):
    folder = folder_of(name)
    subprocess.run(["go", "vet"], cwd=folder, check=True)
    if shutil.which("gofmt") is not None:
        assert subprocess.run(["gofmt", "-l", "."], cwd=folder, capture_output=True, check=True).stdout == b""


@pytest.mark.parametrize("name", TWINS)
def test_the_source_has_no_tabs_or_spaces_out_of_place(name):
    """Runs without Go."""
    for number, line in enumerate((EXAMPLES / name / "main.go").read_text().splitlines(), 1):
        assert line == line.rstrip(), number
        assert not line.startswith(" "), number
