"""The examples in docs/extensions.md work as they stand."""

from __future__ import annotations

import re
import subprocess

import pytest

from supervisor.harness.script import parse_script
from tests.examples.sdk_copies import ROOT
from tests.support.extension_folder import EXAMPLES
from tests.support.script_runs import run_script

GUIDE = (ROOT / "docs" / "extensions.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


def test_the_extension_by_hand(tmp_path):
    (shell,) = blocks("sh")
    *makes, drives = shell.splitlines(keepends=True)
    assert drives.startswith("echo 'tool shout ")
    subprocess.run(["/bin/sh", "-e"], input="".join(makes), cwd=tmp_path, text=True, check=True)
    script = parse_script(
        b'{"host":{"type":"tool_call","id":"1","name":"shout","args":{"text":"hello"}}}\n'
        b'{"extension":{"type":"tool_result","id":"1","content":[{"type":"text","text":"HELLO"}]}}\n',
        "by hand",
    )
    outcome = run_script(tmp_path / "shout", script)
    assert outcome.failure is None, outcome.failure.lines()


def test_the_extension_with_the_sdk_passes_its_script(tmp_path):
    (tmp_path / "main.py").write_text("\n\n".join(blocks("python")))
    (tmp_path / "extension.json").write_text('{"name": "release", "exec": "python3", "args": ["main.py"]}')
    (tmp_path / "zotext").symlink_to(ROOT / "zotext")
    (script,) = (block for block in blocks("json") if '"about"' in block)
    outcome = run_script(tmp_path, parse_script(script.encode(), "the guide"))
    assert outcome.failure is None, "\n".join([*outcome.failure.lines(), *outcome.stderr])
    assert outcome.done == 16


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)\s]*#[^)\s]+)\)", GUIDE))
def test_links_into_pages_lead_to_headings(target):
    page, _, anchor = target.partition("#")
    text = (ROOT / "docs" / page).read_text() if page else GUIDE
    assert anchor in anchors(text)


def test_the_table_of_examples_is_complete():
    table = (EXAMPLES.parent / "README.md").read_text()
    names = {folder.name for folder in EXAMPLES.iterdir() if (folder / "extension.json").exists()}
    assert set(re.findall(r"\(extensions/([\w-]+)/README\.md\)", table)) == names
    assert len(names) == 13, "docs/extensions.md names their number"
