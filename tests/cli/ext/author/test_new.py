"""A new extension imports the SDK as the first example of its documentation does."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from cli.ext.author.new import make, run_new
from cli.os_errors import UnableError
from supervisor.discovery.copilot.scaffold import skeleton
from tests.support.copilot_folders import fake_sdk
from wire.exit_codes import Status

DOCS = Path(__file__).parents[4] / "docs"


def first_example(page: str, language: str) -> str:
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.search(rf"^```{language}[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert found is not None, page
    return found[1]


def sdk_modules(code: str, language: str) -> set[str]:
    """The modules of the SDK that the code imports, as it writes them."""
    pattern = r"^from (\S+) import" if language == "python" else r"from '([^']+)'"
    return {name for name in re.findall(pattern, code, re.MULTILINE) if "zotext" in name}


@pytest.mark.parametrize(
    ("language", "page", "fence", "program", "test"),
    [
        ("python", "sdk-python.md", "python", "main.py", "tests/test_main.py"),
        ("typescript", "sdk-typescript.md", "js", "main.js", "tests/main.test.js"),
    ],
)
def test_imports_are_those_of_the_documentation(tmp_path, language, page, fence, program, test):
    folder, _files = make("my-first", language, tmp_path)
    documented = sdk_modules(first_example(page, fence), language) | sdk_modules((DOCS / page).read_text(), language)
    in_program = sdk_modules((folder / program).read_text(), language)
    assert in_program == {"zotext"}
    assert in_program <= sdk_modules(first_example(page, fence), language)
    assert sdk_modules((folder / test).read_text(), language) <= documented


def test_the_link_to_the_sdk_stays_within_the_folder_and_in_git(tmp_path):
    folder, files = make("my-first", "typescript", tmp_path)
    assert os.readlink(folder / "node_modules" / "zotext") == "../vendor/zotext"
    assert (folder / "node_modules" / "zotext" / "index.js").is_file()
    assert not [file for file in files if file.startswith("node_modules")]
    assert "!node_modules/zotext" in (folder / ".gitignore").read_text().splitlines()


def test_a_go_module_has_no_name_of_the_standard_library(tmp_path):
    folder, _files = make("go", "go", tmp_path)
    assert (folder / "go.mod").read_text().splitlines()[0] == "module example.org/go"


def test_one_for_copilot_is_the_skeleton_that_the_agent_gets(tmp_path):
    folder, files = make("my-first", "copilot", tmp_path)
    assert (folder, files) == (tmp_path / "my-first", ["extension.mjs"])
    assert (folder / "extension.mjs").read_text() == skeleton("my-first")
    for name, parent, why in [
        ("my-first", tmp_path, "is there already"),
        ("../x", tmp_path, "cannot be the name of an extension"),
        ("x", tmp_path / "nowhere", f"--dir {tmp_path}/nowhere: no such folder; mkdir -p {tmp_path}/nowhere"),
    ]:
        with pytest.raises(UnableError, match=why) as caught:
            make(name, "copilot", parent)
        assert caught.value.status is Status.USAGE


def test_the_next_steps_of_one_for_copilot(tmp_path, monkeypatch, capsys):
    """The SDK is installed once, not for each."""
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "home"))
    for name, first in (("one", "zot ext install-sdk copilot"), ("two", f"cd {tmp_path}/two")):
        assert run_new(name, "copilot", str(tmp_path), as_json=True) == 0
        assert json.loads(capsys.readouterr().out)["next"][0] == first
        if name == "one":
            fake_sdk(tmp_path / "home" / "copilot-sdk")
