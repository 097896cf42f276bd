"""The skills that come with zot: what the program knows of them is what is in their files, and their examples work."""

from __future__ import annotations

import re
import shutil

import pytest

from agent.skills.builtin_skills import DESCRIPTIONS, FILE, FOLDER, builtin_skills
from agent.skills.read import read_skill
from tests.support.zot_process import ROOT, Zot

TEXT = (FOLDER / "write-zot-extension" / FILE).read_text()
BLOCKS = re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def extensions():
    """The files of each example: a manifest begins one."""
    found = []
    for _, path, text in BLOCKS:
        if path == "extension.json":
            found.append({})
        found[-1][path] = text
    return found


def test_the_program_knows_what_is_in_the_files():
    assert sorted(folder.name for folder in FOLDER.iterdir()) == sorted(DESCRIPTIONS)
    for skill in builtin_skills():
        read, remarks = read_skill((FOLDER / skill.name / FILE).read_bytes(), "", "folder")
        assert (read, remarks) == (skill, [])


def test_every_block_of_code_belongs_to_an_example():
    assert all(path for _, path, _ in BLOCKS)
    assert [len(files) for files in extensions()] == [3, 3, 3]


def test_it_names_only_commands_and_schemas_that_there_are():
    commands = set(re.findall(r"`zot ((?:ext )?[a-z]+)", TEXT))
    assert {"ext new", "ext test", "ext doctor", "ext install", "schema"} <= commands
    known = (ROOT / "docs" / "reference" / "cli.md").read_text()
    assert [command for command in commands if f"zot {command}" not in known] == []


@pytest.mark.parametrize("files", extensions(), ids=["python", "typescript", "frames"])
def test_the_examples_are_loaded_and_do_what_their_scripts_say(files, tmp_path):
    if "main.js" in files and shutil.which("node") is None:
        pytest.skip("node is not installed")
    (tmp_path / "zot").mkdir()
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    if "main.py" in files:
        shutil.copytree(ROOT / "zotext", tmp_path / "zotext")
    if "main.js" in files:
        (tmp_path / "node_modules").mkdir()
        (tmp_path / "package.json").write_text('{"type": "module"}')
        shutil.copytree(ROOT / "sdk" / "typescript" / "dist", tmp_path / "node_modules" / "zotext" / "dist")
        shutil.copy(ROOT / "sdk" / "typescript" / "package.json", tmp_path / "node_modules" / "zotext")
    zot = Zot(tmp_path / "zot")
    for command in ("test", "doctor"):
        done = zot.run("ext", command, tmp_path)
        assert done.status == 0, done.text + done.stderr
        assert "warn" not in done.text
